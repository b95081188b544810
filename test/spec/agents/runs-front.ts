// The app with an agent, and runs that are driven by hand: no engine executes anything here.
import { expect } from "bun:test";
import type { NewStep } from "../../../src/agents/runs/step.ts";
import { runStore } from "../../../src/agents/runs/store/index.ts";
import type { RunRecord } from "../../../src/agents/runs/store/record.ts";
import { processStore } from "../../../src/cluster/store.ts";
import { type AskOptions, startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a test expects says what it is.
export type Json = { [field: string]: any };

export interface RunsFront extends TestApp, AsyncDisposable {
  agent: Json;
  store: ReturnType<typeof bindRuns>;
  /** Enters a process; its number. */
  register(): Promise<number>;
  account_id: string;
  createAgent(fields?: object, options?: AskOptions): Promise<Json>;
  /** POST …/runs of the first agent: the whole response. */
  askStart(fields?: object, options?: AskOptions): Promise<Response>;
  /** The run, which must be accepted. */
  begin(fields?: object, agent?: Json): Promise<Json>;
  /** Takes all that waits, as a process does; its number. */
  claim(): Promise<number>;
  /** Rows that a process writes for a run in progress; `more` replaces parts. */
  record(run: Json, epoch: number, more?: Partial<RunRecord>): RunRecord;
  /** Claims a run, writes these steps, and ends it; `code`: that of its error, where it failed. */
  finish(
    run: Json,
    status?: "succeeded" | "failed",
    more?: Partial<RunRecord>,
    code?: string,
  ): Promise<void>;
  read(path: string, options?: AskOptions): Promise<Json>;
}

const bindRuns = (app: TestApp) => app.app.database.bind(runStore);
const UNLIMITED =
  "[limits]\nrequests_per_minute = 1_000_000\naddress_requests_per_minute = 1_000_000\n";

/** `limits`: lines of the table of limits; `more`: whole further tables. */
export async function startRuns(
  { limits = "", more = "" } = {},
  options: TestAppOptions = {},
): Promise<RunsFront> {
  const app = await startApp({ settings: `${UNLIMITED}${limits}\n${more}`, ...options });
  const store = bindRuns(app);
  const processes = app.app.database.bind(processStore);
  const read = async (path: string, askOptions?: AskOptions) => {
    const response = await app.get(path, askOptions);
    expect(response.status).toBe(200);
    return (await response.json()) as Json;
  };
  const createAgent = async (fields: object = {}, askOptions?: AskOptions) => {
    const body = { name: "Clerk", system_prompt: "You are brief.", ...fields };
    const response = await app.post("/v1/agents", body, askOptions);
    expect(response.status).toBe(201);
    return (await response.json()) as Json;
  };
  const agent = await createAgent();
  const account_id = (await app.app.access.accounts.find("dev"))!.id;
  const askStart = (fields: object = {}, askOptions?: AskOptions) =>
    app.post(`/v1/agents/${agent.id}/runs`, { input: { message: "Hello" }, ...fields }, askOptions);
  const front: RunsFront = {
    ...app,
    agent,
    store,
    account_id,
    createAgent,
    askStart,
    read,
    async begin(fields = {}, of = agent) {
      const body = { input: { message: "Hello" }, ...fields };
      const response = await app.post(`/v1/agents/${of.id}/runs`, body);
      expect([response.status, response.headers.get("x-request-id")]).toEqual([
        202,
        expect.any(String),
      ]);
      return (await response.json()) as Json;
    },
    register: () => processes.register(app.clock.now()),
    async claim() {
      const epoch = await front.register();
      await store.claim(epoch, [{ account_id, runsMax: 1_000 }], app.clock.now());
      return epoch;
    },
    record: (run, epoch, more = {}) => ({
      run_id: run.id,
      epoch,
      at: app.clock.now(),
      progress: {
        cost: { model: 0, tools: 0, total: 0, prices: run.cost.prices },
        usage: NOTHING,
        ...{ priced: 0, worked_ms: 0, output: null, external_content: false },
      },
      ...{ steps: [], messages: [], outputs: [], effects: [], summary: null },
      ...(more as object),
    }),
    async finish(run, status = "succeeded", more = {}, code = "upstream_error") {
      const epoch = await front.claim();
      const error = status === "succeeded" ? null : { code, message: "It broke." };
      const ending = { status, error, event_id: crypto.randomUUID(), fresh: [] };
      expect(await store.finish(front.record(run, epoch, more), ending)).toBeTruthy();
    },
    [Symbol.asyncDispose]: () => app.stop(),
  };
  return front;
}

const NOTHING = {
  ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  ...{ rounds: 0, tool_calls: 0 },
};

/** Creates `count` steps with text. */
export function makeSteps(count: number): NewStep[] {
  return Array.from({ length: count }, (_, i) => ({
    id: crypto.randomUUID(),
    kind: "system",
    round: 1,
    data: { event: "model_retry", message: `Try ${i + 1}.` },
  }));
}
