// Tests how the operator lists, holds and releases agents.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { agentStore } from "../../src/agents/definitions/store.ts";
import { DEFAULT_BEHAVIOUR } from "../../src/agents/definitions/version.ts";
import { AMPLE } from "../store/agent-cases.ts";
import { type AdminFixture, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const ONE = "01920000-0000-7000-8000-00000000000a";
const TWO = "01920000-0000-7000-8000-00000000000b";

async function createAgent(id: string, account: string): Promise<void> {
  const { id: account_id } = await fixture.admin.accounts.create(account);
  const now = fixture.clock.now();
  await fixture.database.bind(agentStore).create(
    {
      ...{ id, account_id, name: `Of ${account}`, slug: "helper", description: null },
      ...{ status: "active", current_version: 1, metadata: {} },
      ...{ created_at: now, updated_at: now, archived_at: null },
    },
    {
      ...DEFAULT_BEHAVIOUR,
      ...{ agent_id: id, version: 1, tool_revisions: [], created_at: now },
      created_by_key_id: null,
    },
    false,
    AMPLE,
  );
}

test("agents are listed with their owners, newest first, of all accounts or of one", async () => {
  const { agents } = fixture.admin;
  expect(await agents.list(null)).toEqual([]);
  await createAgent(ONE, "acme");
  await createAgent(TWO, "beta");
  const all = await agents.list(null);
  const none = { held: null, held_since: null, hold_reason: null };
  expect(all).toMatchObject([
    { id: TWO, account: "beta", name: "Of beta", slug: "helper", status: "active", ...none },
    { id: ONE, account: "acme", current_version: 1, ...none },
  ]);
  expect((await agents.list("acme")).map(({ id }) => id)).toEqual([ONE]);
  await expect(agents.list("acne")).rejects.toThrow('did you mean "acme"?');
});

test("an agent's own hold takes precedence over its account's, and a release returns the hold", async () => {
  const { accounts, agents } = fixture.admin;
  await createAgent(ONE, "acme");
  await createAgent(TWO, "beta");
  const since = fixture.clock.now();
  await accounts.hold("acme", "unpaid");
  const look = async () => (await agents.list("acme"))[0];
  expect(await look()).toMatchObject({ held: "account", hold_reason: "unpaid", held_since: since });
  const hold = await agents.hold(ONE.toUpperCase(), "it loops");
  expect(hold).toMatchObject({ kind: "agent", id: ONE, reason: "it loops", since });
  expect(await look()).toMatchObject({ held: "agent", hold_reason: "it loops" });
  expect((await agents.list("beta"))[0]).toMatchObject({ held: null });
  expect(await agents.release(ONE)).toEqual({ id: ONE, wasHeld: true });
  expect(await agents.release(ONE)).toEqual({ id: ONE, wasHeld: false });
  expect(await look()).toMatchObject({ held: "account" });
});

test("a malformed agent id is not quoted, an unknown one is", async () => {
  const { agents } = fixture.admin;
  for (const verb of [agents.release, (id: string) => agents.hold(id, null)]) {
    const secret = verb("svc_sk_secret");
    await expect(secret).rejects.toThrow("that is no agent's id: `wadi agents list` shows them");
    await expect(secret).rejects.toBeInstanceOf(AdminError);
    await expect(verb(TWO)).rejects.toThrow(`there is no agent "${TWO}": see \`wadi agents list\``);
  }
});
