// Tests what is stored of a link to approvals, and of its session.
import { expect, test } from "bun:test";
import { makeApprovalLink, makeLinkUse } from "../../src/access/approval-links/link.ts";
import { hashSecret } from "../../src/access/credentials.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

const sources = { clock: createManualClock(), ids: createSeededIds() };
const chosen = {
  ...{ operator_id: "o-1", person: "Finance desk", account_id: "a-1", approval_id: null },
  expires_at: sources.clock.now() + 1,
};

test("a link is stored by the hash of its token, unopened", () => {
  const { stored, token } = makeApprovalLink(sources, chosen);
  expect(stored).toMatchObject({
    ...{ ...chosen, token_hash: hashSecret(token), session_hash: null, used_at: null },
    ...{ created_at: sources.clock.now(), last_seen_at: sources.clock.now() },
  });
  expect(JSON.stringify(stored)).not.toContain(token);
});

test("its session has a token of its own, and a short name of the browser", () => {
  const open = (user_agent: string | null) =>
    makeLinkUse(sources, "the link", { user_agent, address: "192.0.2.7" });
  const { use, token } = open("x".repeat(1_000));
  expect(use).toEqual({
    ...{ token_hash: hashSecret("the link"), session_hash: hashSecret(token) },
    ...{ user_agent: `${"x".repeat(160)}…`, address: "192.0.2.7", now: sources.clock.now() },
  });
  expect(open(null).token).not.toBe(token);
  expect(open(null).use.user_agent).toBeNull();
});
