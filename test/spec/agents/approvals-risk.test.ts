// Which calls ask by their tool's risk and the policy, and which requests are sent after approval.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import {
  decided,
  ended,
  FINAL,
  follow,
  readPending,
  readSteps,
  TTL_MS,
} from "./approvals-front.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";
import { register } from "./tools-bodies.ts";

const SETTINGS = { more: '[egress]\nallow = ["127.0.0.1:*"]\n' };
const SEARCH = '!tool web_search {"query":"wadi"}\n!next\n';
const DONE = "\n!next\n!say Done.";
const set = (content: string) => `!tool memory_set ${JSON.stringify({ key: "tone", content })}`;

let front: RunsFront;
let receiver: Receiver;
beforeAll(async () => {
  front = await startRuns(SETTINGS, { listens: true });
  receiver = openReceiver();
  const parameters = { type: "object" };
  await register(front, {
    ...{ name: "wire_money", risk: "irreversible", parameters },
    endpoint: `${receiver.origin}/wire`,
  });
});
afterAll(async () => {
  await front.app.stop(0);
  receiver[Symbol.dispose]();
});

const TOOLS = ["memory_set", "web_search", "wire_money"];
const agentOf = (policy: object) =>
  front.createAgent({
    tools: TOOLS,
    policy: { approval_ttl_seconds: TTL_MS / 1000, ...policy },
  });

/** A run of this message, as soon as it waits or has ended. */
async function run(agent: Json, message: string, fields: object = {}): Promise<Json> {
  const { id } = await front.begin({ input: { message }, ...fields }, agent);
  return follow(front, id, ({ status }) => status === "waiting_approval" || FINAL.includes(status));
}

const resultsOf = async (run_id: string) =>
  (await readSteps(front, run_id)).flatMap(({ kind, data }) =>
    kind === "tool_result" ? [data] : [],
  );

describe("agents.does.risk.write", () => {
  const allow = { writes_after_external_content: "allow" };
  const unattended = { unattended_writes: true };
  /** Policy, external content, and reason for asking; null: it does not ask. */
  const CASES: [policy: object, has_read: boolean, why: string[] | null][] = [
    [{}, false, ["write"]],
    [{}, true, ["write", "external_content"]],
    [allow, true, ["write"]],
    [unattended, false, null],
    [unattended, true, ["external_content"]],
    [{ ...unattended, ...allow }, true, null],
    [{ ...unattended, require_approval: ["memory_set"] }, false, ["listed"]],
    [{ ...unattended, ...allow, require_approval: ["memory_set"] }, true, ["listed"]],
  ];
  test("agents.does.risk.write a write asks unless the policy lets it run, and asks after external content unless the policy allows that", async () => {
    for (const [policy, has_read, why] of CASES) {
      const waiting = await run(
        await agentOf(policy),
        `${has_read ? SEARCH : ""}${set("x")}${DONE}`,
      );
      const [approval] = await readPending(front, waiting);
      expect([policy, has_read, approval?.why ?? null]).toEqual([policy, has_read, why]);
      if (!approval) {
        expect(waiting).toMatchObject({ status: "succeeded", pending_approvals: [] });
        continue;
      }
      expect(approval).toMatchObject({ tool: "memory_set", risk: "write" });
      const seqs = (await readSteps(front, waiting.id)).filter(({ data }) => data.external);
      expect(approval.external_sources.map(({ seq }: Json) => seq)).toEqual(
        seqs.map(({ seq }) => seq),
      );
      expect(approval.external_sources).toHaveLength(has_read ? 1 : 0);
      await decided(front, approval.id, "approve");
      expect((await ended(front, waiting.id)).status).toBe("succeeded");
      expect((await resultsOf(waiting.id)).at(-1)).toMatchObject({ outcome: "ok" });
    }
  });

  test("agents.does.risk.write external content that an earlier run on the thread read also taints the next run", async () => {
    const agent = await agentOf({ unattended_writes: true });
    const first = await run(agent, `${SEARCH}!say Read.`);
    expect(first.status).toBe("succeeded");
    const { thread_id } = first;
    const waiting = await run(agent, `${set("x")}${DONE}`, { thread_id });
    const [approval] = await readPending(front, waiting);
    expect(approval).toMatchObject({ why: ["external_content"], external_sources: [] });
  });
});

describe("agents.does.risk.irreversible", () => {
  const LIFTED = { unattended_writes: true, writes_after_external_content: "allow" };
  /** As models write it: any order, spelling and space. */
  const TEXT = '{ "to":"Zürich","sum":1.50e1,  "a":{"z":[1,null],"b":"\\u00e9"} }';
  const SENT = '{"a":{"b":"é","z":[1,null]},"sum":15,"to":"Zürich"}';

  test("agents.does.risk.irreversible no switch lets it run, and an approved call is sent once, exactly as shown", async () => {
    receiver.received.length = 0;
    const waiting = await run(await agentOf(LIFTED), `!tool wire_money ${TEXT}${DONE}`);
    const [approval] = (await readPending(front, waiting)) as [Json];
    expect(approval).toMatchObject({
      ...{ tool: "wire_money", revision: 1, risk: "irreversible", why: ["irreversible"] },
      arguments: { to: "Zürich", sum: 15, a: { z: [1, null], b: "é" } },
      arguments_sha256: new Bun.CryptoHasher("sha256").update(SENT).digest("hex"),
    });
    expect(receiver.received).toEqual([]);
    await decided(front, approval.id, "approve");
    expect((await ended(front, waiting.id)).status).toBe("succeeded");
    expect(receiver.received).toMatchObject([
      { body: SENT, headers: { "idempotency-key": approval.tool_call_id } },
    ]);
  });

  test("agents.does.risk.irreversible a call that is rejected, expired, cancelled or switched off is never sent", async () => {
    receiver.received.length = 0;
    const turn = (verb: string) => front.post(`/v1/tools/wire_money/${verb}`, undefined);
    const ends: Record<string, (approval: Json) => Promise<unknown>> = {
      rejected: ({ id }) => decided(front, id, "reject"),
      expired: () => front.clock.advance(TTL_MS),
      cancelled: ({ run_id }) => front.post(`/v1/runs/${run_id}/cancel`, undefined),
      disabled: async ({ id }) => {
        await turn("disable");
        await decided(front, id, "approve");
      },
    };
    for (const [outcome, end] of Object.entries(ends)) {
      const waiting = await run(await agentOf(LIFTED), `!tool wire_money ${TEXT}${DONE}`);
      const [approval] = (await readPending(front, waiting)) as [Json];
      await end(approval);
      await ended(front, waiting.id);
      expect((await resultsOf(waiting.id)).map((one) => one.outcome)).toEqual([outcome]);
    }
    await turn("enable");
    expect(receiver.received).toEqual([]);
  });
});
