// Cases of a fire, from any source.
import { expect } from "bun:test";
import type { PreparedRun } from "../../src/agents/runs/store/start.ts";
import type { FireRow } from "../../src/triggers/fire.ts";
import type { Fired, FireInput, PreparedFire } from "../../src/triggers/store/fire.ts";
import type { TriggerRow } from "../../src/triggers/trigger.ts";
import { BEGIN, FREE, makePreparedRun, makeRun } from "../support/runs.ts";
import { makeFiring, makeHook, makeTimedFiring, makeTrigger } from "../support/triggers.ts";
import type { Case, Stores } from "./cases.ts";
import { start } from "./run-acts.ts";
import { addAgents, create, fill, listFires } from "./trigger-acts.ts";

const MINUTE_MS = 60_000;
const fireAll = async ({ triggers }: Stores, firings: readonly FireInput[]): Promise<Fired[]> => {
  const fired: Fired[] = [];
  for (const firing of firings) fired.push(await triggers.fire(firing));
  return fired;
};
/** The outcome of a fire in one word, or the reason without a run. */
const nameOf = (fired: Fired): string => {
  if (fired.kind !== "fired") return fired.kind;
  const { outcome, error } = fired.fire;
  return error ? `${outcome} ${error.code}` : outcome;
};
const namesOf = (answer: unknown) => (answer as Fired[]).map(nameOf);
const eventsOf = async ({ outbox }: Stores, account_id = "a-1") =>
  (await outbox.list(account_id)).map(({ data, ...event }) => ({
    ...event,
    data: JSON.parse(data),
  }));
const prepareRun = (
  id: string,
  more: Partial<PreparedRun> = {},
  run: object = {},
): PreparedFire => ({
  ok: true,
  start: makePreparedRun(`run of ${id}`, { fire_id: id, trigger_id: "t-1", ...run }, more),
});
const refuseAs = (
  outcome: "held" | "refused" | "failed",
  code: string,
  type: "key" | "agent" | "model" | null = null,
): PreparedFire => {
  const error = { code, message: `It is ${code}.` };
  const at = new Date(BEGIN + 5).toISOString();
  return { ok: false, outcome, error, pause: type && { type, ...error, at } };
};
const held = refuseAs("held", "agent_held");
/** A trigger that allows overlapping runs. */
const allowed = (id = "t-1", fields: Partial<TriggerRow> = {}) =>
  makeTrigger(id, { overlap: "allow", ...fields });
const addAllowed = async (stores: Stores, fields: Partial<TriggerRow> = {}) => {
  await addAgents(stores);
  await create(stores, allowed("t-1", fields));
};
/** The nth request to the hook t-2. */
const request = (nth: number, fields: Partial<FireInput> = {}, webhook_id = "msg_1") =>
  makeFiring(`f-${nth}`, "t-2", {
    ...{ source: "webhook", webhook_id, fired_by_key_id: null, now: BEGIN + nth },
    ...fields,
  });

const startCases: Case[] = [
  {
    method: "triggers.fire",
    title: "by schedule stores the instant, starts a run, and sets the next instant",
    setup: fill,
    act: ({ triggers }) =>
      triggers.fire(makeTimedFiring("f-1", "t-1", { missedCount: 3 }, { now: BEGIN + 61_000 })),
    async check(answer, stores) {
      const fire: FireRow = {
        ...{ id: "f-1", trigger_id: "t-1", source: "cron", outcome: "started", webhook_id: null },
        ...{ run_id: "run of f-1", scheduled_at: BEGIN + MINUTE_MS, missed_count: 3, error: null },
        ...{ created_at: BEGIN + 61_000, ended_at: BEGIN + 61_000, fired_by_key_id: null },
      };
      expect(answer).toEqual({ kind: "fired", fire, retry_after: null });
      expect(await listFires(stores, "t-1")).toEqual([fire]);
      const run = { trigger_kind: "cron", trigger_id: "t-1", fire_id: "f-1" } as const;
      expect(await stores.runs.find("run of f-1", "a-1")).toEqual(
        makeRun("run of f-1", { ...run, number: 1, message_seq: 1 }),
      );
      const times = { next_fire_at: BEGIN + 2 * MINUTE_MS, last_fire_at: BEGIN + 61_000 };
      expect(await stores.triggers.find("t-1")).toEqual({
        ...{ ...makeTrigger("t-1"), ...times, agent_archived_at: null },
      });
      expect(await stores.runs.listWaiting()).toEqual(["a-1"]);
    },
  },
  {
    method: "triggers.fire",
    title:
      "agents.events.webhook.4: writes an event with the fire, of any outcome, and its trigger",
    setup: fill,
    act: (stores) =>
      fireAll(stores, [
        makeTimedFiring("f-1", "t-1"),
        makeFiring("f-2", "t-2", { prepared: held, now: BEGIN + 90_000 }),
      ]),
    async check(_, stores) {
      const at = new Date(BEGIN + MINUTE_MS).toISOString();
      const [first, second, ...others] = await eventsOf(stores);
      const { name } = makeTrigger("t-1");
      expect(first).toEqual({
        ...{ id: "event of f-1", account_id: "a-1", type: "trigger.fired", is_pending: false },
        created_at: BEGIN + MINUTE_MS,
        data: {
          trigger: { id: "t-1", name, kind: "cron", agent_id: "g-1" },
          fire: {
            ...{ id: "f-1", trigger_id: "t-1", source: "cron", outcome: "started" },
            ...{ run_id: "run of f-1", scheduled_at: at, webhook_id: null, missed_count: 0 },
            ...{ error: null, created_at: at },
          },
        },
      });
      const error = { code: "agent_held", message: "It is agent_held." };
      expect(second!.data).toMatchObject({
        trigger: { id: "t-2", kind: "webhook" },
        fire: { outcome: "held", run_id: null, scheduled_at: null, error },
      });
      expect(others).toEqual([]);
    },
  },
  {
    method: "triggers.fire",
    title: "by hand or by request keeps the next instant, and the run records both keys",
    setup: fill,
    act: (stores) => {
      const run = { trigger_kind: "manual", started_by_key_id: "k-1", fired_by_key_id: "k-2" };
      const prepared = prepareRun("f-1", {}, run);
      return fireAll(stores, [makeFiring("f-1", "t-1", { prepared }), request(2)]);
    },
    async check(answer, { triggers, runs }) {
      expect(namesOf(answer)).toEqual(["started", "started"]);
      expect(await triggers.find("t-1")).toMatchObject({ next_fire_at: BEGIN + MINUTE_MS });
      expect(await triggers.find("t-2")).toMatchObject({ next_fire_at: null });
      expect(await runs.find("run of f-1", null)).toMatchObject({
        ...{ trigger_kind: "manual", trigger_id: "t-1", fire_id: "f-1" },
        ...{ started_by_key_id: "k-1", fired_by_key_id: "k-2" },
      });
      expect(await listFires({ triggers }, "t-1")).toMatchObject([{ fired_by_key_id: "k-2" }]);
      expect(await listFires({ triggers }, "t-2")).toMatchObject([{ fired_by_key_id: null }]);
    },
  },
  {
    method: "triggers.fire",
    title: "changes nothing if the run cannot be written, and may be repeated",
    async setup(stores) {
      await fill(stores);
      await start(stores, "run of f-1");
    },
    act: ({ triggers }) => triggers.fire(makeTimedFiring("f-1", "t-1")).catch(() => "thrown"),
    async check(answer, stores) {
      expect(answer).toBe("thrown");
      expect(await stores.triggers.find("t-1")).toMatchObject(makeTrigger("t-1"));
      expect(await listFires(stores, "t-1")).toEqual([]);
      expect(await eventsOf(stores)).toEqual([]);
      const again = makeTimedFiring("f-2", "t-1");
      expect(nameOf(await stores.triggers.fire(again))).toBe("started");
    },
  },
];

const outcomeCases: Case[] = [
  {
    method: "triggers.fire",
    title: "is skipped while a run of the trigger is active, unless it allows overlap",
    async setup(stores) {
      await fill(stores);
      await create(stores, allowed("t-4"));
      await fireAll(stores, [makeFiring("f-1", "t-1"), makeFiring("f-2", "t-4")]);
    },
    act: (stores) =>
      fireAll(stores, [makeTimedFiring("f-3", "t-1"), makeTimedFiring("f-4", "t-4")]),
    async check(answer, stores) {
      expect(namesOf(answer)).toEqual(["skipped overlap", "started"]);
      // The schedule continues, and starts a run after the other ends.
      expect(await stores.triggers.find("t-1")).toMatchObject({
        next_fire_at: BEGIN + 2 * MINUTE_MS,
      });
      expect(await stores.runs.find("run of f-3", null)).toBeUndefined();
      await stores.runs.cancel("run of f-1", null, ["end of f-1"], BEGIN + 9);
      const next_ms = BEGIN + 2 * MINUTE_MS;
      const again = makeTimedFiring("f-5", "t-1", { dueAt: next_ms, scheduledAt: next_ms });
      expect(nameOf(await stores.triggers.fire(again))).toBe("started");
    },
  },
  {
    method: "triggers.fire",
    title: "into a busy thread is skipped, or limited if the trigger allows overlap",
    async setup(stores) {
      await addAgents(stores);
      await start(stores, "r-1");
      await create(stores, makeTrigger("t-1", { thread_id: "thread of r-1" }));
      await create(stores, allowed("t-4", { thread_id: "thread of r-1" }));
    },
    act: (stores) =>
      fireAll(
        stores,
        ["t-1", "t-4"].map((id) => {
          const prepared = prepareRun(`of ${id}`, { thread_id: "thread of r-1" });
          const preparedFor = { ...makeFiring("", id).preparedFor, thread_id: "thread of r-1" };
          return makeFiring(`of ${id}`, id, { prepared, preparedFor });
        }),
      ),
    async check(answer, { ran }) {
      expect(namesOf(answer)).toEqual(["skipped thread_busy", "limited thread_busy"]);
      expect(await ran.messages("thread of r-1")).toHaveLength(1);
    },
  },
  {
    method: "triggers.fire",
    title:
      "agents.errors.rate_limited: is limited by the account's runs, and returns the time to retry",
    async setup(stores) {
      await addAllowed(stores);
      await start(stores, "r-1");
    },
    act: (stores) => {
      const limit = (id: string, limits: Partial<typeof FREE>) =>
        makeFiring(id, "t-1", { prepared: prepareRun(id, { limits: { ...FREE, ...limits } }) });
      return fireAll(stores, [
        limit("f-1", { active_runs: 1 }),
        limit("f-2", { daily_runs: 1 }),
        limit("f-3", { active_runs: 2, daily_runs: 2 }),
      ]);
    },
    async check(answer, { ran }) {
      expect(namesOf(answer)).toEqual([
        ...["limited active_runs_limit", "limited daily_runs_limit", "started"],
      ]);
      const waits = (answer as Fired[]).map((one) => one.kind === "fired" && one.retry_after);
      expect(waits).toEqual(["5", "86400", null]);
      // Of what was limited nothing stays but its fire.
      expect(await ran.threads()).toHaveLength(2);
    },
  },
  {
    method: "triggers.fire",
    title: "agents.errors.agent_held: starts no run of a held agent, and the schedule continues",
    setup: fill,
    act: ({ triggers }) => triggers.fire(makeTimedFiring("f-1", "t-1", {}, { prepared: held })),
    async check(answer, stores) {
      expect(nameOf(answer as Fired)).toBe("held agent_held");
      const found = await stores.triggers.find("t-1");
      expect(found).toMatchObject({ status: "active", next_fire_at: BEGIN + 2 * MINUTE_MS });
      expect(await stores.ran.counts()).toEqual([]);
    },
  },
  ...(["key", "agent", "model"] as const).map(
    (type): Case => ({
      method: "triggers.fire",
      title: `agents.states.p12: refused because of its ${type} pauses the trigger, and says why`,
      setup: fill,
      act: ({ triggers }) => {
        const prepared = refuseAs("refused", "not_this_one", type);
        return triggers.fire(makeTimedFiring("f-1", "t-1", {}, { prepared }));
      },
      async check(answer, stores) {
        expect(nameOf(answer as Fired)).toBe("refused not_this_one");
        expect(await stores.triggers.find("t-1")).toMatchObject({
          ...{ status: "paused", next_fire_at: null, last_fire_at: BEGIN + MINUTE_MS },
          updated_at: BEGIN + MINUTE_MS,
          paused_reason: {
            ...{ type, code: "not_this_one", message: "It is not_this_one." },
            at: new Date(BEGIN + 5).toISOString(),
          },
        });
        expect(await eventsOf(stores)).toHaveLength(1);
        // agents.errors.trigger_paused: no source of a fire writes anything.
        const again = [makeTimedFiring("f-2", "t-1"), makeFiring("f-3", "t-1")];
        expect(namesOf(await fireAll(stores, again))).toEqual(["paused", "paused"]);
        expect(await listFires(stores, "t-1")).toHaveLength(1);
      },
    }),
  ),
  {
    method: "triggers.fire",
    title: "that fails for another reason does not pause the trigger",
    setup: fill,
    act: ({ triggers }) => {
      const prepared = refuseAs("failed", "no_model_available");
      return triggers.fire(makeTimedFiring("f-1", "t-1", {}, { prepared }));
    },
    async check(answer, { triggers }) {
      expect(nameOf(answer as Fired)).toBe("failed no_model_available");
      expect(await triggers.find("t-1")).toMatchObject({ status: "active" });
    },
  },
  {
    method: "triggers.fire",
    title: "that comes too late counts as missed, with all instants before it, and pauses nothing",
    setup: fill,
    act: ({ triggers }) => {
      const late = { scheduledAt: BEGIN + 9 * MINUTE_MS, missedCount: 9, isMissed: true };
      const prepared: PreparedFire = { ok: false, outcome: "missed", error: null, pause: null };
      const nextFireAt = BEGIN + 100 * MINUTE_MS;
      return triggers.fire(makeTimedFiring("f-1", "t-1", { ...late, nextFireAt }, { prepared }));
    },
    async check(answer, stores) {
      expect(answer).toMatchObject({
        fire: { outcome: "missed", missed_count: 9, run_id: null, error: null },
      });
      const found = await stores.triggers.find("t-1");
      expect(found).toMatchObject({ status: "active", next_fire_at: BEGIN + 100 * MINUTE_MS });
      expect(await stores.ran.counts()).toEqual([]);
      expect(await eventsOf(stores)).toHaveLength(1);
    },
  },
];

const requestCases: Case[] = [
  {
    method: "triggers.fire",
    title:
      "agents.endpoints.triggers.p6: returns the first fire for a known id, and writes nothing",
    async setup(stores) {
      await fill(stores);
      await fireAll(stores, [request(1), request(2, {}, "msg_2")]);
    },
    act: (stores) =>
      fireAll(stores, [
        request(3, { prepared: refuseAs("refused", "agent_archived", "agent") }),
        request(4, {}, "msg_2"),
      ]),
    async check(answer, stores) {
      expect(answer).toMatchObject([
        { kind: "known", fire: { id: "f-1", outcome: "started", run_id: "run of f-1" } },
        { kind: "known", fire: { id: "f-2", outcome: "skipped" } },
      ]);
      expect(await listFires(stores, "t-2")).toHaveLength(2);
      expect(await eventsOf(stores)).toHaveLength(2);
      // A trigger paused since still knows the fire.
      const prepared = refuseAs("refused", "agent_archived", "agent");
      await stores.triggers.fire(request(5, { prepared }, "msg_5"));
      const late = [request(6), request(7, {}, "msg_5")];
      expect(namesOf(await fireAll(stores, late))).toEqual(["known", "paused"]);
    },
  },
  {
    method: "triggers.fire",
    title: "starts one run for concurrent requests with one id",
    setup: fill,
    act: ({ triggers }) =>
      Promise.all(Array.from({ length: 16 }, (_, nth) => triggers.fire(request(nth)))),
    async check(answer, stores) {
      const names = namesOf(answer).toSorted();
      expect(names).toEqual([...Array.from({ length: 15 }, () => "known"), "started"]);
      expect(await stores.ran.counts()).toMatchObject([{ started: 1 }]);
      expect(await eventsOf(stores)).toHaveLength(1);
    },
  },
  {
    method: "triggers.fire",
    title: "updates the one row of an id without a run, with an event each time",
    setup: fill,
    act: (stores) =>
      fireAll(stores, [
        ...[request(1, { prepared: held }), request(2, { prepared: held })],
        request(3, { prepared: refuseAs("failed", "thread_not_found") }),
        request(4, { prepared: refuseAs("failed", "no_model_available") }),
        ...[request(5), request(6)],
      ]),
    async check(answer, stores) {
      expect(namesOf(answer)).toEqual([
        ...["held agent_held", "held agent_held", "failed thread_not_found"],
        ...["failed no_model_available", "started", "known"],
      ]);
      expect(await listFires(stores, "t-2")).toMatchObject([
        { id: "f-1", outcome: "started", error: null, created_at: BEGIN + 1 },
      ]);
      const outcomes = (await eventsOf(stores)).map(({ id, data }) => [id, data.fire.outcome]);
      expect(outcomes).toEqual([
        ["event of f-1", "held"],
        ["event of f-3", "failed"],
        ["event of f-4", "failed"],
        ["event of f-5", "started"],
      ]);
      // The run refers to the stored fire.
      expect(await stores.runs.find("run of f-5", null)).toMatchObject({ fire_id: "f-1" });
    },
  },
  {
    method: "triggers.fire",
    title: "starts a run for a limited id once the limit allows it",
    async setup(stores) {
      await addAgents(stores);
      await create(stores, makeHook("t-2", { overlap: "allow" }));
      await start(stores, "r-1");
    },
    async act(stores) {
      const limits = { ...FREE, active_runs: 1 };
      const limited = (nth: number) =>
        request(nth, { prepared: prepareRun(`f-${nth}`, { limits }) });
      const first = await fireAll(stores, [limited(1), limited(2)]);
      await stores.runs.cancel("r-1", null, ["end of r-1"], BEGIN + 3);
      return [...first, ...(await fireAll(stores, [limited(4)]))];
    },
    async check(answer, stores) {
      const limited = "limited active_runs_limit";
      expect(namesOf(answer)).toEqual([limited, limited, "started"]);
      expect(await listFires(stores, "t-2")).toMatchObject([{ id: "f-1", run_id: "run of f-4" }]);
      const events = (await eventsOf(stores)).filter(({ type }) => type === "trigger.fired");
      expect(events.map(({ data }) => data.fire.outcome)).toEqual(["limited", "started"]);
    },
  },
];

export const fireCases: readonly Case[] = [...startCases, ...outcomeCases, ...requestCases];
