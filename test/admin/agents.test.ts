// Agents as the operator lists, holds and releases them.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { agentStore } from "../../src/agents/definitions/store.ts";
import { DEFAULT_BEHAVIOUR } from "../../src/agents/definitions/version.ts";
import { AMPLE } from "../store/agent-cases.ts";
import { type House, openHouse } from "./fixture.ts";

let house: House;
beforeEach(async () => {
  house = await openHouse();
});
afterEach(() => house.close());

const ONE = "01920000-0000-7000-8000-00000000000a";
const TWO = "01920000-0000-7000-8000-00000000000b";

async function createAgent(id: string, account: string): Promise<void> {
  const { id: account_id } = await house.admin.accounts.create(account);
  const now = house.clock.now();
  await house.database.bind(agentStore).create(
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

test("agents are listed with their owners, newest first, or those of one account", async () => {
  const { agents } = house.admin;
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

test("a hold is the agent's own before its account's, and a release tells what was held", async () => {
  const { accounts, agents } = house.admin;
  await createAgent(ONE, "acme");
  await createAgent(TWO, "beta");
  const since = house.clock.now();
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

test("what is no agent's id is not said again, and one of no agent is", async () => {
  const { agents } = house.admin;
  for (const verb of [agents.release, (id: string) => agents.hold(id, null)]) {
    const secret = verb("svc_sk_secret");
    await expect(secret).rejects.toThrow("that is no agent's id: `wadi agents list` shows them");
    await expect(secret).rejects.toBeInstanceOf(AdminError);
    await expect(verb(TWO)).rejects.toThrow(`there is no agent "${TWO}": see \`wadi agents list\``);
  }
});
