// The endpoint of MCP beside a store that answers at once: waits, addresses and unknown tasks.
import { expect, test } from "bun:test";
import { openMcpEndpoint } from "../../../src/agents/mcp-server/routes.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { createManualClock } from "../../support/clock.ts";

const TASK = "01920000-0000-7000-8000-000000000001";
const UNKNOWN = "01920000-0000-7000-8000-000000000002";
const OPERATOR = "[operator]\n";
type Answer = Promise<[number, { result?: object; error?: object }] | Response>;
type Handler = (request: object) => Answer;

/** The endpoint of a server with one run, which waits for a person. */
function openEndpoint(text = "", url = "http://127.0.0.1/mcp") {
  const settings = readSettings(text, "wadi.toml", {}, {});
  const times: number[] = [];
  const asked: object[] = [];
  const run = {
    ...{ id: TASK, account_id: "a-1", thread_id: "t-1", status: "waiting_approval", created_at: 0 },
    ...{ output: null, error: null, cost: { total: null }, finished_at: null, started_at: null },
    ...{ input: { message: "x".repeat(201) } },
  };
  const stores = { list: async () => [{ id: "ap-1", tool: "pay" }] };
  const deps = {
    ...{ settings: () => settings, clock: createManualClock(), log: { error() {} } },
    database: { bind: () => stores },
    async findRun(_: object, id: string) {
      if (id !== TASK) throw apiError("run_not_found");
      return run;
    },
    runs: {
      async list(filter: object) {
        asked.push(filter);
        return [run];
      },
    },
    waits: {
      requirePlace() {},
      async follow({ timeoutMs }: { timeoutMs: number }) {
        times.push(timeoutMs);
        return true;
      },
    },
  };
  let handle: Handler;
  const router = {
    post(_: string, _route: object, handler: Handler) {
      handle = handler;
    },
  };
  openMcpEndpoint(router as never, deps as never);
  const send = async (method: string, params: object) => {
    const headers = { "mcp-protocol-version": "2025-11-25" };
    const answer = await handle({
      caller: { account_id: "a-1", key_id: "key", scopes: ["agents"] },
      request: new Request(url, { headers }),
      ...{ requestId: "req", body: { jsonrpc: "2.0", id: 1, method, params } },
    });
    if (answer instanceof Response) return answer.text();
    return answer[1].result ?? answer[1].error;
  };
  return { send, times, asked };
}

test("the result of a task is waited for ten minutes at most", async () => {
  const { send, times } = openEndpoint();
  expect(await send("tasks/result", { taskId: TASK })).toContain(TASK);
  expect(times).toEqual([600_000]);
});

test("a task of no run is unknown, whatever is asked of it", async () => {
  const { send } = openEndpoint();
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    expect(await send(method, { taskId: UNKNOWN })).toMatchObject({ code: -32_602 });
  }
});

test.each([
  [`${OPERATOR}enabled = false\n`, null],
  [OPERATOR, "http://127.0.0.1"],
  [`${OPERATOR}listen = "127.0.0.1:9000"\n`, null],
  [`${OPERATOR}public_url = "https://wadi.example.com"\n`, "https://wadi.example.com"],
])("with %j the console of a call that waits is at %p", async (text, origin) => {
  const { statusMessage } = (await openEndpoint(text).send("tasks/get", { taskId: TASK })) as {
    statusMessage: string;
  };
  const place = origin === null ? "approval ap-1" : `${origin}/console/approvals/ap-1`;
  expect(statusMessage.split("\n")[0]).toBe(
    `The call of pay waits for a person, who decides it at ${place}`,
  );
});

test("a client of another machine is not sent to a console without a public address", async () => {
  const text = `[server]\nhost = "10.0.0.5"\n${OPERATOR}`;
  const { send } = openEndpoint(text, "http://10.0.0.5/mcp");
  const { statusMessage } = (await send("tasks/get", { taskId: TASK })) as {
    statusMessage: string;
  };
  expect(statusMessage).toContain("who decides it at approval ap-1");
});

test("twenty runs are listed unless another number is asked, each with what it was asked", async () => {
  const { send, asked } = openEndpoint();
  const list = (args: object) => send("tools/call", { name: "list_runs", arguments: args });
  expect(await list({})).toMatchObject({
    structuredContent: { runs: [{ run_id: TASK, asked: `${"x".repeat(200)}…` }] },
  });
  await list({ limit: 3 });
  expect(asked).toMatchObject([{ limit: 20, account_id: "a-1" }, { limit: 3 }]);
});
