// Tests runs whose rounds are refused by limits of their key or account.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { LimitChange } from "../../../src/access/index.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";

const SETTINGS = `
[agents]
open = true
[limits]
requests_per_minute = 1_000_000
[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["tools"]
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }
`;

const DAY_LEFT_MS = 600_000;

let app: TestApp;
let agentId: string;
beforeEach(async () => {
  // Every two seconds something beats: the day ends soon, so that a test of it is short.
  const start_ms = Date.UTC(2026, 10, 21) - DAY_LEFT_MS;
  app = await startApp({ settings: SETTINGS, listens: true, start_ms });
  const body = { name: "Clerk", system_prompt: "Be brief.", model_params: { max_tokens: 20 } };
  agentId = ((await (await app.post("/v1/agents", body)).json()) as { id: string }).id;
});
afterEach(() => app.stop());

interface ShownRun {
  id: string;
  status: string;
  error: { code: string; message: string } | null;
  usage: { rounds: number };
}
interface ShownStep {
  data: { event?: string; message?: string; detail?: { code: string; wait_ms: number } };
}

const limit = async (change: LimitChange) => {
  const { accounts } = app.app.access;
  await accounts.limit((await accounts.find("dev"))!.id, change);
};
const read = async <T>(path: string) => (await (await app.get(path)).json()) as T;
const begin = async () => {
  const path = `/v1/agents/${agentId}/runs`;
  const reply = await app.post(path, { input: { message: "!say Good" } }, { key: KEY });
  return ((await reply.json()) as { id: string }).id;
};
const find = (id: string) => read<ShownRun>(`/v1/runs/${id}`);
const waits = async (id: string) => {
  const { data } = await read<{ data: ShownStep[] }>(`/v1/runs/${id}/steps`);
  return data.flatMap((step) => (step.data.event === "model_retry" ? [step.data] : []));
};
/** Lets the engine work until this holds; time does not move. */
const until = async (holds: () => Promise<boolean>) => {
  while (!(await holds())) await app.clock.advance(0);
};
const untilEnded = async (id: string) => {
  const isOver = async () => ["succeeded", "failed"].includes((await find(id)).status);
  await until(isOver);
  return find(id);
};

test("a refused round waits until its period ends, and counts as a request", async () => {
  await limit({ requests_day: 1 });
  expect(await untilEnded(await begin())).toMatchObject({ status: "succeeded" });
  const waiting = await begin();
  await until(async () => (await waits(waiting)).length === 1);
  expect(await waits(waiting)).toMatchObject([
    {
      message: expect.stringContaining("The round waits for a limit. Too many requests"),
      detail: { code: "rate_limit_exceeded", wait_ms: DAY_LEFT_MS },
    },
  ]);
  await app.clock.advance(DAY_LEFT_MS - 1);
  expect(await find(waiting)).toMatchObject({ status: "running", usage: { rounds: 0 } });
  await app.clock.advance(1);
  expect(await untilEnded(waiting)).toMatchObject({ status: "succeeded", usage: { rounds: 1 } });
  expect(await waits(waiting)).toHaveLength(1);
});

test("a raised limit is noticed within a minute", async () => {
  await limit({ requests_month: 1 });
  expect(await untilEnded(await begin())).toMatchObject({ status: "succeeded" });
  const waiting = await begin();
  await until(async () => (await waits(waiting)).length === 1);
  await app.clock.advance(300_000);
  expect(await find(waiting)).toMatchObject({ status: "running" });
  await limit({ requests_month: 2 });
  await app.clock.advance(60_000);
  expect(await untilEnded(waiting)).toMatchObject({ status: "succeeded" });
});

test("a run fails where the money is used up, or a round alone is above a limit", async () => {
  await limit({ cost_day: 10 });
  expect(await untilEnded(await begin())).toMatchObject({
    status: "failed",
    error: { code: "permission_denied", message: expect.stringContaining("money") },
  });
  await limit({ cost_day: null, tokens_day: 10 });
  expect(await untilEnded(await begin())).toMatchObject({
    status: "failed",
    error: { code: "rate_limit_exceeded", message: expect.stringContaining("alone") },
  });
});

test("a waiting run can be cancelled", async () => {
  await limit({ requests_day: 1 });
  await untilEnded(await begin());
  const waiting = await begin();
  await until(async () => (await waits(waiting)).length === 1);
  await app.post(`/v1/runs/${waiting}/cancel`, {});
  await until(async () => (await find(waiting)).status === "cancelled");
});
