// Refusals of a start that no test request can cause; its store is a double.
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import { createVersionCache } from "../../../src/agents/definitions/version-cache.ts";
import type { AgentsDeps } from "../../../src/agents/deps.ts";
import { RunStarter, type RunStarterOptions } from "../../../src/agents/runs/start.ts";
import { type ApiError, apiError } from "../../../src/platform/errors.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

const caller: Caller = {
  ...{ key_id: "k", account_id: "a", kind: "ordinary", scopes: ["agents"] },
  ...{ models: null, max_output_tokens: null },
};
const other: Caller = { ...caller, account_id: "b" };
const STARTABLE = { status: "active", current_version: 1, is_held: false };
const TERMS = { version: 1, model: null, tools: [], tool_revisions: [], budgets: {} };
const MODEL = { id: "stub-1", price: null };

interface Doubles {
  terms?: object | null;
  authorize?: () => Promise<object>;
  start?: (prepared: unknown) => Promise<unknown>;
  requireDisk?: () => void;
}

function open({ terms = TERMS, authorize, start, requireDisk = () => {} }: Doubles = {}) {
  const chat = {
    find: () => MODEL,
    authorize: authorize ?? (async () => ({ model: { settings: MODEL } })),
  };
  const limits = { active_runs: 1, daily_runs: 1 };
  const deps = {
    ...{ clock: createManualClock(), ids: createSeededIds(), alias: "svc", internal: { chat } },
    settings: () => ({ limits }),
    disk: { require: requireDisk },
  };
  let reads = 0;
  const runs = {
    findStartable: async (id: string) => ({ ...STARTABLE, account_id: id === "g" ? "a" : "b" }),
    start: start ?? (async ({ run }: { run: object }) => ({ run, isNew: true })),
  };
  const findVersion = createVersionCache({
    async findVersion() {
      reads++;
      return (terms ?? undefined) as never;
    },
  });
  const options = { runs, findVersion, priceOf: () => null } as unknown as RunStarterOptions;
  const starter = new RunStarter(deps as unknown as AgentsDeps, options);
  return {
    begin: () => starter.start(caller, "g", { message: "x" }),
    beginOther: () => starter.start(other, "h", { message: "x" }),
    rerun: (external: boolean) => {
      const history = { messages: [], summary: null, external };
      const rerun = { rerun_of: "r-1", rerun_tools: "live" as const, rerun_from_round: 1, history };
      return starter.prepare(caller, "g", { message: "x", rerun });
    },
    prepare: () => starter.prepare(caller, "g", { message: "x", hook: { a: 1 } }),
    countReads: () => reads,
  };
}

const codeOf = (begun: Promise<unknown>) =>
  begun.then(
    () => null,
    (refusal: ApiError) => [refusal.status, refusal.code, refusal.details.headers ?? null],
  );

test("agents.errors.agent_version_not_found: an agent without its version starts nothing", async () => {
  const { begin } = open({ terms: null });
  expect(await codeOf(begin())).toEqual([404, "agent_version_not_found", null]);
});

test("agents.errors.no_model_available: no run starts if the key's rights cannot be read, but one does if the model is stopped", async () => {
  const authorizeAs = (code: Parameters<typeof apiError>[0]) => async () => ({
    refusal: apiError(code),
  });
  const unread = open({ authorize: authorizeAs("no_model_available") });
  expect(await codeOf(unread.begin())).toEqual([503, "no_model_available", null]);
  for (const code of ["model_offline", "model_unavailable"] as const) {
    expect(await codeOf(open({ authorize: authorizeAs(code) }).begin())).toBeNull();
  }
});

test("agents.errors.admission_busy: 64 starts of an account may wait at once, and one more is refused with a retry, though not of another account", async () => {
  const waiting: (() => void)[] = [];
  const start = () => new Promise<unknown>((resolve) => waiting.push(() => resolve({})));
  const { begin, beginOther } = open({ start });
  const begun = Array.from({ length: 64 }, begin);
  await new Promise(setImmediate);
  const busy = [429, "admission_busy", { "retry-after": "1" }];
  expect(await codeOf(begin())).toEqual(busy as never);
  const foreign = beginOther();
  await new Promise(setImmediate);
  waiting.pop()!();
  expect(await codeOf(foreign)).toBeNull();
  waiting.shift()!();
  await begun[0];
  const next = begin();
  await new Promise(setImmediate);
  for (const end of waiting) end();
  await Promise.all([...begun, next]);
  expect(waiting).toHaveLength(64);
});

test("a refused start makes room for the next one", async () => {
  const { begin } = open({ start: () => Promise.reject(apiError("thread_busy")) });
  for (let n = 0; n <= 64; n++) expect(await codeOf(begin())).toEqual([409, "thread_busy", null]);
});

test("a model that the key may not use is refused before a full disk", async () => {
  const requireDisk = () => {
    throw apiError("service_unavailable");
  };
  const authorize = async () => ({ refusal: apiError("model_not_permitted") });
  const forbidden = open({ authorize, requireDisk });
  expect(await codeOf(forbidden.begin())).toEqual([403, "model_not_permitted", null]);
  expect(await codeOf(open({ requireDisk }).begin())).toEqual([503, "service_unavailable", null]);
});

test("a version is read once, and a hook's body taints its run", async () => {
  const { begin, prepare, countReads } = open();
  await begin();
  const { run } = await prepare();
  expect(countReads()).toBe(1);
  expect([run.external_content, run.input]).toEqual([true, { message: "x", hook: { a: 1 } }]);
});

test("agents.does.risk.write a rerun behind messages from outside has read content from outside", async () => {
  const { rerun } = open();
  const taints = [await rerun(true), await rerun(false)].map(({ run }) => run.external_content);
  expect(taints).toEqual([true, false]);
});
