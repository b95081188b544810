// Tests what is stored of an operator's link to sign in, and of the session.
import { expect, test } from "bun:test";
import { hashSecret } from "../../src/access/credentials.ts";
import { makeLink, makeSession } from "../../src/access/sessions/session.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

const sources = { clock: createManualClock(), ids: createSeededIds() };
const now = sources.clock.now();
const client = { user_agent: "x".repeat(1_000), address: "192.0.2.7" };

test("a link is stored by the hash of its token, unused, for half an hour", () => {
  const { stored, token } = makeLink(sources, "o-1");
  expect(stored).toEqual({
    ...{ token_hash: hashSecret(token), operator_id: "o-1", used_at: null },
    ...{ created_at: now, expires_at: now + 30 * 60_000 },
  });
});

test("a session is stored by the hash of its own token, with a short name of the browser", () => {
  const { stored, token } = makeSession(sources, { id: "o-1", expires_at: null }, client);
  expect(stored).toMatchObject({
    ...{ operator_id: "o-1", token_hash: hashSecret(token), address: "192.0.2.7" },
    ...{ user_agent: `${"x".repeat(160)}…`, created_at: now, last_seen_at: now },
  });
  const nameless = makeSession(
    sources,
    { id: "o-1", expires_at: null },
    { ...client, user_agent: null },
  );
  expect(nameless.stored.user_agent).toBeNull();
  expect(nameless.token).not.toBe(token);
  expect(nameless.stored.id).not.toBe(stored.id);
});

test("a session lasts thirty days, and ends with its operator at the latest", () => {
  const endOf = (expires_at: number | null) =>
    makeSession(sources, { id: "o-1", expires_at }, client).stored.expires_at;
  const last = now + 30 * 86_400_000;
  expect([null, last + 1, last - 1].map(endOf)).toEqual([last, last, last - 1]);
});
