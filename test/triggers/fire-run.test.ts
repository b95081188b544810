// Tests the preparation of a fire, and the outcome of a run that may not start.
import { expect, test } from "bun:test";
import type { Caller } from "../../src/access/index.ts";
import type { RunRequest } from "../../src/agents/index.ts";
import { apiError, type ErrorCode } from "../../src/platform/errors.ts";
import type { FireRow } from "../../src/triggers/fire.ts";
import {
  createFireRun,
  type FireCounts,
  type FireRunOptions,
} from "../../src/triggers/fire-run.ts";
import type { DueInstant, Fired, FireInput } from "../../src/triggers/store/fire.ts";
import type { FoundTrigger } from "../../src/triggers/trigger.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { BEGIN, makePreparedRun } from "../support/runs.ts";
import { makeTrigger } from "../support/triggers.ts";

const CALLER = { account_id: "a-1", key_id: "k-1" } as Caller;
const trigger = makeTrigger("t-1", { secret_key_id: "k-3" });
const found: FoundTrigger = { ...trigger, agent_archived_at: null };
const instant: DueInstant = {
  ...{ dueAt: BEGIN, scheduledAt: BEGIN, nextFireAt: null, missedCount: 0, isMissed: false },
  seen: { cron: "* * * * *", time_zone: "UTC" },
};

interface TrialOptions
  extends Partial<Pick<FireRunOptions, "findCaller" | "prepareRun" | "fires">> {
  /** The store's results in turn; after the last, the trigger has changed. */
  answers?: readonly Fired[];
  /** The trigger at the next read. */
  find?(): FoundTrigger | undefined;
}

function openTrial({ answers = [], find = () => found, ...more }: TrialOptions = {}) {
  const firings: FireInput[] = [];
  const requests: RunRequest[] = [];
  const clock = createManualClock(BEGIN + 7);
  const fire = createFireRun({
    triggers: {
      async fire(firing) {
        firings.push(firing);
        return answers[firings.length - 1] ?? { kind: "changed" };
      },
      find: async () => find(),
      isHeld: async () => false,
    },
    findCaller: async () => CALLER,
    async prepareRun(_caller, _agent_id, request) {
      requests.push(request);
      return makePreparedRun("r-1");
    },
    ...{ clock, ids: createSeededIds(1) },
    ...more,
  });
  return { fire, firings, requests };
}
const answers: Fired[] = Array.from({ length: 4 }, () => ({ kind: "gone" }));

test.each([
  ["agent_not_found", "agent"],
  ["agent_version_not_found", "agent"],
  ["agent_archived", "agent"],
  ["model_not_permitted", "model"],
  ["model_not_found", "model"],
  ["permission_denied", "key"],
] as const)(
  "agents.states.p12: %s is refused, and pauses because of the %s",
  async (code, type) => {
    const prepareRun = async () => {
      throw apiError(code, { message: "No." });
    };
    const { fire, firings } = openTrial({ prepareRun, answers });
    await fire({ trigger, source: "cron", instant });
    const error = { code, message: "No." };
    const pause = { type, ...error, at: new Date(BEGIN + 7).toISOString() };
    expect(firings[0]!.prepared).toEqual({ ok: false, outcome: "refused", error, pause });
  },
);

test.each([
  ["agent_held", "held"],
  ["no_model_available", "failed"],
] as const)("%s is %s, and pauses nothing", async (code: ErrorCode, outcome) => {
  const prepareRun = async () => {
    throw apiError(code);
  };
  const { fire, firings } = openTrial({ prepareRun, answers });
  await fire({ trigger, source: "cron", instant });
  const { message } = apiError(code);
  const prepared = { ok: false, outcome, error: { code, message }, pause: null };
  expect(firings[0]!.prepared).toMatchObject(prepared);
});

test("a fire is counted by its outcome where it is written, and not where it is known", async () => {
  const fires = { started: 0 } as FireCounts;
  const fire = { outcome: "started" } as FireRow;
  const answers: Fired[] = [
    { kind: "fired", fire, retry_after: null },
    { kind: "known", fire },
  ];
  const trial = openTrial({ answers, fires });
  for (const _ of answers) await trial.fire({ trigger, source: "webhook", webhook_id: "one" });
  expect(fires).toEqual({ started: 1 } as FireCounts);
});

test("a missed instant is recorded without the checks of a fire", async () => {
  const { fire, firings, requests } = openTrial({ findCaller: async () => undefined, answers });
  await fire({ trigger, source: "cron", instant: { ...instant, isMissed: true } });
  const prepared = { ok: false, outcome: "missed", error: null, pause: null } as const;
  expect([firings[0]!.prepared, requests]).toEqual([prepared, []]);
});

test("a run without a message of its trigger gets one with the trigger's name and time", async () => {
  const { fire, requests } = openTrial({ answers });
  const own = { ...trigger, input: { message: "Go." } };
  await fire({ trigger, source: "cron", instant });
  await fire({ trigger, source: "manual", fired_by_key_id: "k-2" });
  await fire({ trigger, source: "webhook", webhook_id: "m-1", hook: null });
  await fire({ trigger: own, source: "cron", instant });
  const says = (ms: number) =>
    `The trigger "${trigger.name}" fired at ${new Date(BEGIN + ms).toISOString()}`;
  expect(requests.map(({ message }) => message)).toEqual([
    `${says(0)}.`,
    `${says(7)}.`,
    `${says(7)} by the request that stands before this.`,
    "Go.",
  ]);
  // Only a request may have come from a key that knows the secret.
  const keys = requests.map((request) => request.trigger!.fired_by_key_id);
  expect(keys).toEqual([null, "k-2", "k-3", null]);
  // A body may be the JSON value null; without a body there is no field.
  expect(requests.map((request) => "hook" in request)).toEqual([false, false, true, false]);
});

test("a trigger that changes at each attempt is tried a few times, and a deleted one no more", async () => {
  const changing = openTrial();
  expect(await failureOf(changing.fire({ trigger, source: "manual" }))).toMatchObject({
    message: "a trigger was changed during each attempt to fire it",
  });
  expect(changing.firings).toHaveLength(5);
  expect(new Set(changing.firings.map(({ fire_id }) => fire_id)).size).toBe(5);

  const key_id = "k-9";
  const finds = [{ ...found, key_id }, undefined];
  const leaving = openTrial({ find: () => finds.shift() });
  expect(await leaving.fire({ trigger, source: "manual" })).toEqual({ kind: "gone" });
  expect(leaving.firings.map(({ preparedFor }) => preparedFor.key_id)).toEqual(["k-1", key_id]);
});
