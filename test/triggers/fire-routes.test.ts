// Tests the replies to a manual fire, for each outcome.
import { expect, test } from "bun:test";
import type { TriggersDeps } from "../../src/triggers/deps.ts";
import type { FireOutcome, FireRow } from "../../src/triggers/fire.ts";
import type { FireRequest, FireTrigger } from "../../src/triggers/fire-run.ts";
import { openTriggerRoutes } from "../../src/triggers/routes.ts";
import type { FoundTrigger } from "../../src/triggers/trigger.ts";
import type { Triggers } from "../../src/triggers/triggers.ts";
import { caller, createTestServer } from "../http/test-server.ts";
import { readRefusal } from "../spec/agents/refusal.ts";
import { BEGIN } from "../support/runs.ts";
import { makeTrigger } from "../support/triggers.ts";

const ID = "01920000-0000-7000-8000-000000000002";

const makeFire = (outcome: FireOutcome, code: string | null, message: string): FireRow => ({
  ...{ id: ID, trigger_id: ID, source: "manual", outcome, run_id: null, scheduled_at: null },
  ...{ webhook_id: null, missed_count: 0, created_at: BEGIN, ended_at: BEGIN },
  fired_by_key_id: caller.key_id,
  error: code === null ? null : { code, message },
});

/** Fires once, and collects the requests. */
async function fireOnce(
  fired: Awaited<ReturnType<FireTrigger>>,
  fields: Partial<FoundTrigger> = {},
) {
  const trigger: FoundTrigger = { ...makeTrigger(ID), agent_archived_at: null, ...fields };
  const requests: FireRequest[] = [];
  const triggers = { require: async () => trigger } as unknown as Triggers;
  const fire: FireTrigger = async (request) => {
    requests.push(request);
    return fired;
  };
  const deps = { disk: { require() {} } } as unknown as TriggersDeps;
  const surface = { surface: "agents", isOpen: () => true, isEnabled: () => true } as const;
  const gate = { enforcesScope: () => false, limitAddress: () => {} };
  const agents = { ...surface, ...gate, identify: async () => ({ ...caller, scopes: ["agents"] }) };
  const http = createTestServer(
    (router) => openTriggerRoutes(router, triggers, fire, deps),
    agents as never,
  );
  const headers = { authorization: "Bearer key" };
  const reply = await http.ask("POST", `/v1/triggers/${ID}/fires`, { headers });
  return { reply, requests, trigger };
}

const SENTENCE = "There was no way.";
const REFUSED: [FireOutcome, string | null, unknown[]][] = [
  // agents.errors.agent_held, agents.errors.trigger_paused
  ["held", "agent_held", [403, "agent_held", null]],
  ["refused", "permission_denied", [409, "trigger_paused", null]],
  ["refused", "model_not_permitted", [409, "trigger_paused", null]],
  ["limited", "active_runs_limit", [429, "active_runs_limit", null]],
  ["limited", "thread_busy", [409, "thread_busy", null]],
  // agents.errors.no_model_available
  ["failed", "no_model_available", [503, "no_model_available", null]],
  ["failed", "thread_not_found", [404, "thread_not_found", null]],
  ["failed", "of_another_release", [500, undefined, null]],
  ["failed", null, [500, undefined, null]],
];
test.each(REFUSED)("agents.endpoints.triggers.p1 %s because of %p", async (outcome, code, says) => {
  const fire = makeFire(outcome, code, SENTENCE);
  const { reply } = await fireOnce({ kind: "fired", fire, retry_after: null });
  const text = await reply.clone().text();
  expect(await readRefusal(reply)).toEqual(says);
  expect(text.includes(SENTENCE)).toBe(code !== null);
});

test("agents.limits.retry_after a limit with a known end answers with Retry-After", async () => {
  const fire = makeFire("limited", "daily_runs_limit", SENTENCE);
  const { reply } = await fireOnce({ kind: "fired", fire, retry_after: "77" });
  expect(reply.headers.get("retry-after")).toBe("77");
  expect(await readRefusal(reply)).toEqual([429, "daily_runs_limit", null]);
});

test("agents.errors.trigger_paused agents.errors.trigger_not_found a trigger paused or deleted meanwhile", async () => {
  const { reply: paused } = await fireOnce({ kind: "paused" });
  expect(await readRefusal(paused)).toEqual([409, "trigger_paused", null]);
  const { reply: gone } = await fireOnce({ kind: "gone" });
  expect(await readRefusal(gone)).toEqual([404, "trigger_not_found", null]);
});

test("agents.states.p12 a trigger paused by its archived agent is not fired", async () => {
  for (const fields of [{ status: "paused" }, { agent_archived_at: BEGIN }] as const) {
    const { reply, requests } = await fireOnce({ kind: "gone" }, fields);
    expect(await readRefusal(reply)).toEqual([409, "trigger_paused", null]);
    expect(requests).toEqual([]);
  }
});

test("agents.endpoints.triggers.p1 a trigger is fired as it was read, by the calling key", async () => {
  const fire = makeFire("skipped", "overlap", SENTENCE);
  const { reply, requests, trigger } = await fireOnce({ kind: "fired", fire, retry_after: null });
  expect(reply.status).toBe(202);
  expect(requests).toEqual([{ trigger, source: "manual", fired_by_key_id: caller.key_id }]);
});
