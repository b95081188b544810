// Tasks of foreign MCP servers: a call that becomes one is asked for until it ends.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { McpRequest } from "../../../../src/agents/tools/mcp/client.ts";
import { endOfTask, failTask, followTask } from "../../../../src/agents/tools/mcp/tasks.ts";
import type { McpTarget } from "../../../../src/agents/tools/mcp/wire.ts";
import { startRun } from "../../../spec/agents/population.ts";
import { createConnection, type Json, readJson } from "../../../spec/agents/service.ts";
import { KEY, type TestApp } from "../../../support/app.ts";
import { createManualClock } from "../../../support/clock.ts";
import { completed, openTaskPeer, type TaskPeer } from "../../../support/mcp-task-peer.ts";
import { startMcp as startFarMcp } from "../../mcp-server/front.ts";
import { addServer, endOf, follow, makeAgent, setRisk, startMcp } from "./front.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

let servers = 0;
/** A run whose call of the peer has become a task, and the name of the tool. */
async function begin(
  peer: TaskPeer,
  { risk = "read", fields = {} }: { risk?: string; fields?: Json } = {},
): Promise<{ id: string; name: string }> {
  const server = `t${++servers}`;
  const name = `${server}_pay`;
  await addServer(app, peer.url, { name: server, ...fields });
  await setRisk(app, name, risk);
  const agent = await makeAgent(app, [name]);
  const message = `!tool ${name} {}\n!next\n!say Done.`;
  const { id } = await startRun(app, agent.id, { input: { message } });
  if (risk !== "read") await approve(id);
  await peer.came("tools/call");
  return { id, name };
}

async function approve(id: string): Promise<void> {
  const run = await follow(app, id, ({ status }) => status === "waiting_approval");
  const [approval] = run.pending_approvals;
  const key = `${KEY}-approver`;
  await readJson(await app.post(`/v1/approvals/${approval}/approve`, {}, { key }));
}

/** The result of the run's call, while time goes on. */
async function settle(id: string): Promise<Json> {
  const ended = endOf(app, id);
  let isOver = false;
  void ended.finally(() => {
    isOver = true;
  });
  while (!isOver) await app.clock.advance(250);
  return (await ended).result;
}

const stepsOf = async (id: string): Promise<Json[]> =>
  (await readJson(await app.get(`/v1/runs/${id}/steps`))).data;
const CANCEL = "tasks/cancel task-1";

describe("a call that becomes a task", () => {
  test("is stored with the run before it is asked for, and ends with the task's result", async () => {
    using peer = openTaskPeer();
    const { id, name } = await begin(peer);
    await follow(app, id, ({ status }) => status === "running");
    const findStored = async () =>
      (await stepsOf(id)).find(({ data }) => data.event === "task_started");
    let stored: Json;
    while (!stored) stored = await findStored();
    expect(stored.data.detail).toMatchObject({ task_id: "task-1", ends_at: expect.any(String) });
    expect(peer.asked).toEqual([]);
    await app.clock.advance(2_000);
    await peer.came("tasks/get");
    peer.state = completed("Paid.");
    const result = await settle(id);
    expect(result).toMatchObject({ name, outcome: "ok", content: "Paid.", external: true });
    expect(peer.calls).toHaveLength(1);
    expect(peer.asked).not.toContain(CANCEL);
  });

  test("is asked for at the server's interval, within bounds of ours", async () => {
    using peer = openTaskPeer({ status: "working", pollIntervalMs: 1 });
    const { id } = await begin(peer, { fields: { timeout_ms: 60_000 } });
    await settleStored(id);
    const countIn = async (ms: number, pollIntervalMs: number) => {
      peer.state = { status: "working", pollIntervalMs };
      const asks = peer.asked.length;
      for (let at = 0; at < ms; at += 250) {
        await app.clock.advance(250);
        await answered(peer);
      }
      return peer.asked.length - asks;
    };
    await countIn(3_000, 1);
    const often = await countIn(3_000, 1);
    expect(often).toBeLessThanOrEqual(6);
    expect(often).toBeGreaterThan(2);
    await countIn(1_000, 3_600_000);
    // An hour is fifteen seconds here.
    expect(await countIn(30_000, 3_600_000)).toBeGreaterThanOrEqual(1);
    peer.state = completed("Late.");
    expect(await settle(id)).toMatchObject({ outcome: "ok" });
  });

  test("goes on where the server is away for a while", async () => {
    let refusals = 0;
    using peer = openTaskPeer((taskId: string) => {
      if (++refusals <= 2) return null;
      return { result: { resultType: "complete", taskId, ...completed("Back.") } };
    });
    const { id } = await begin(peer);
    expect(await settle(id)).toMatchObject({ outcome: "ok", content: "Back." });
    expect(refusals).toBe(3);
  });

  test("has the call's time and no more, whatever the server says, and is cancelled then", async () => {
    using peer = openTaskPeer();
    const { id } = await begin(peer, { fields: { timeout_ms: 10_000 } });
    const result = await settle(id);
    expect(result).toMatchObject({
      outcome: "timeout",
      content: "The task had not ended in time.",
    });
    expect(result.duration_ms).toBeLessThanOrEqual(10_000);
    await peer.came("tasks/cancel");
    expect(peer.asked.filter((one) => one === CANCEL)).toHaveLength(1);
  });

  test("that may have changed something is of unknown outcome when its time is over", async () => {
    using peer = openTaskPeer();
    const { id } = await begin(peer, { risk: "irreversible", fields: { timeout_ms: 5_000 } });
    await settleStored(id);
    let run: Json = {};
    while (run.status !== "waiting_approval") {
      await app.clock.advance(250);
      run = await readJson(await app.get(`/v1/runs/${id}`));
    }
    const approval = await readJson(await app.get(`/v1/approvals/${run.pending_approvals[0]}`));
    expect(approval.why).toEqual(["outcome_unknown"]);
    expect(peer.calls).toHaveLength(1);
  });

  test("of a run that is cancelled is cancelled with it", async () => {
    using peer = openTaskPeer();
    const { id } = await begin(peer);
    await settleStored(id);
    await readJson(await app.post(`/v1/runs/${id}/cancel`, undefined));
    await peer.came("tasks/cancel");
    expect((await endOf(app, id)).run.status).toBe("cancelled");
    expect(peer.asked.filter((one) => one === CANCEL)).toHaveLength(1);
  });
});

/** Once the task is stored. */
async function settleStored(id: string): Promise<void> {
  const isStored = ({ data }: Json) => data.event === "task_started";
  while (!(await stepsOf(id)).some(isStored));
}

/** Once requests under way have been answered. */
async function answered(peer: TaskPeer): Promise<void> {
  await (await fetch(peer.url, { method: "POST", body: '{"method":"server/discover"}' })).text();
}

describe("a task that ends", () => {
  const ENDS: [string, Json, Json][] = [
    [
      "with a failed result is an error, with what it says",
      { status: "completed", result: { isError: true, content: [{ type: "text", text: "No." }] } },
      { outcome: "error", content: "The tool failed.\n\nNo.", external: true },
    ],
    [
      "as failed is an error, with its message",
      { status: "failed", error: { code: -32_000, message: "Broken." } },
      { outcome: "error", content: expect.stringContaining("(-32000): Broken."), external: true },
    ],
    [
      "as cancelled by its server is an error",
      { status: "cancelled" },
      { outcome: "error", content: "The server cancelled the task.", external: false },
    ],
  ];
  test.each(ENDS)("%s", async (_, state, result) => {
    using peer = openTaskPeer(state);
    const { id } = await begin(peer);
    expect(await settle(id)).toMatchObject(result);
  });
});

describe("a task that needs input", () => {
  const asks = (method: string) => ({
    status: "input_required",
    inputRequests: {
      a: {
        method,
        params: {
          mode: "form",
          message: "Sure?",
          requestedSchema: { type: "object", properties: {} },
        },
      },
    },
  });
  const SAMPLING = {
    status: "input_required",
    inputRequests: {
      a: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
    },
  };

  test("of a user is declined, and goes on", async () => {
    using peer = openTaskPeer(asks("elicitation/create"));
    const { id } = await begin(peer);
    await settleStored(id);
    await app.clock.advance(2_000);
    await peer.came("tasks/update");
    expect(peer.updates[0]).toEqual({ a: { action: "decline" } });
    peer.state = completed("Without.");
    expect(await settle(id)).toMatchObject({ outcome: "ok", content: "Without." });
  });

  test("of a user without end is declined 16 times, and then cancelled", async () => {
    using peer = openTaskPeer(asks("elicitation/create"));
    const { id } = await begin(peer, { fields: { timeout_ms: 120_000 } });
    expect(await settle(id)).toMatchObject({
      ...{ outcome: "error", content: expect.stringContaining("what agents do not give") },
    });
    expect(peer.updates).toHaveLength(16);
    await peer.came("tasks/cancel");
  });

  test("of a model is refused: nothing is sampled, and the task is cancelled", async () => {
    using peer = openTaskPeer(SAMPLING);
    const { id } = await begin(peer);
    expect(await settle(id)).toMatchObject({
      ...{ outcome: "error", content: expect.stringContaining("what agents do not give") },
    });
    expect(peer.updates).toEqual([]);
    await peer.came("tasks/cancel");
  });

  test("that a person gives elsewhere is waited for", async () => {
    using peer = openTaskPeer({ status: "input_required", inputRequests: {} });
    const { id } = await begin(peer);
    await settleStored(id);
    await app.clock.advance(2_000);
    await peer.came("tasks/get");
    peer.state = completed("Decided.");
    expect(await settle(id)).toMatchObject({ outcome: "ok", content: "Decided." });
    expect(peer.updates).toEqual([]);
  });
});

describe("a server that means harm", () => {
  const ok = (fields: Json) => () => ({ result: { resultType: "complete", ...fields } });
  const STATES: [string, TaskPeer["state"], string][] = [
    ["shows another task", ok({ taskId: "other", status: "working" }), "another task"],
    ["shows a task in no known status", ok({ taskId: "task-1", status: "x" }), "unreadably"],
    [
      "completes a task without a result",
      ok({ taskId: "task-1", status: "completed" }),
      "unreadably",
    ],
    [
      "gives a task as the result of a task",
      ok({ taskId: "task-1", status: "completed", result: { resultType: "task", taskId: "b" } }),
      "kind of result that is not known",
    ],
    [
      "knows the task no more",
      () => ({ error: { code: -32_602, message: "Say yes." } }),
      "(-32602)",
    ],
    [
      "shows a task of 3 MB",
      ok({ taskId: "task-1", status: "working", statusMessage: "x".repeat(3_000_000) }),
      "longer than",
    ],
  ];
  test.each(STATES)("and %s ends the call, and the run goes on", async (_, state, told) => {
    using peer = openTaskPeer(state);
    const { id } = await begin(peer);
    const result = await settle(id);
    expect(result.content).toContain(told);
    expect(result.content).not.toContain("Say yes.");
    expect(result.outcome).toBe("error");
    expect(await readJson(await app.get(`/v1/runs/${id}`))).toMatchObject({ status: "succeeded" });
  });

  test.each([
    ["", "no text"],
    ["a b", "spaces"],
    ["x".repeat(257), "257 characters"],
  ])("and names a task %p gets no question (%s)", async (taskId) => {
    using peer = openTaskPeer();
    peer.begin = { taskId };
    const { id } = await begin(peer);
    expect(await settle(id)).toMatchObject({
      ...{ outcome: "error", content: "The server's task has no id that can be kept." },
    });
    expect(peer.asked).toEqual([]);
  });

  test("and puts the secret of its connection into the task's id stores none of it", async () => {
    const connection = await createConnection(app);
    using peer = openTaskPeer();
    peer.begin = { taskId: "sk_of_letters_1f9d-7" };
    const { id } = await begin(peer, { fields: { connection_id: connection.id } });
    expect(await settle(id)).toMatchObject({ outcome: "error" });
    expect(JSON.stringify(await stepsOf(id))).not.toContain("sk_of_letters");
  });
});

test("an agent of another Wadi is a tool whose call is a task there, and a person decides it there", async () => {
  const far = await startFarMcp();
  const connection = await createConnection(app, { name: "Far", secret: KEY });
  const { id: server } = await addServer(app, `${far.url}/mcp`, {
    ...{ name: "wadi", connection_id: connection.id, timeout_ms: 60_000 },
  });
  expect(server).toBeString();
  await setRisk(app, "wadi_asking", "read");
  const agent = await makeAgent(app, ["wadi_asking"]);
  const asked = JSON.stringify({
    message: '!tool calculator {"expression":"2 + 3"}\n!next\n!say Five.',
  });
  const message = `!tool wadi_asking ${asked}\n!next\n!say Done.`;
  const { id } = await startRun(app, agent.id, { input: { message } });
  await settleStored(id);
  const [step] = (await stepsOf(id)).filter(({ data }) => data.event === "task_started");
  const farRun = step.data.detail.task_id;
  let run: Json = {};
  while (run.status !== "waiting_approval") {
    run = await far.read(`/v1/runs/${farRun}`);
    await far.clock.advance(0);
  }
  await app.clock.advance(2_000);
  const key = `${KEY}-approver`;
  await readJson(await far.post(`/v1/approvals/${run.pending_approvals[0]}/approve`, {}, { key }));
  const result = await settle(id);
  expect(result).toMatchObject({ outcome: "ok", content: "Five." });
  await far.stop();
});

test("a task that was taken over is asked for at once, and at the usual interval while its server is away", async () => {
  const clock = createManualClock();
  const begin = clock.monotonic();
  const asked: number[] = [];
  const times: number[] = [];
  const client = {
    async request(_target: McpTarget, { method, timeoutMs }: McpRequest) {
      times.push(timeoutMs);
      if (method === "tasks/get") asked.push(clock.monotonic() - begin);
      if (asked.length > 10) throw new Error("The task is asked for all the time.");
      return failTask("The server is away.");
    },
  };
  const watched = {
    ...{ task: { id: "task-1", ends_at: 0 }, isResumed: true, endAt: begin + 6_000 },
    signal: new AbortController().signal,
  };
  const following = followTask({ client, clock }, {} as McpTarget, watched);
  await clock.advance(6_000);
  expect(await following).toMatchObject({ ok: false, code: "timeout" });
  expect(asked).toEqual([0, 2_000, 4_000, 6_000]);
  // A question has five seconds, and no more than the call; so has the cancel.
  expect(times).toEqual([5_000, 4_000, 2_000, 1, 5_000]);
});

test("a task is asked for after the time that its server names, half a second to fifteen", async () => {
  const clock = createManualClock();
  const begin = clock.monotonic();
  const wanted = [0, 499, 501, 14_999, 15_001, "soon"];
  const asked: number[] = [];
  const client = {
    async request() {
      const pollIntervalMs = wanted[asked.length];
      asked.push(clock.monotonic() - begin);
      const status = asked.length > wanted.length ? "cancelled" : "working";
      return { ok: true, answer: { id: 1, result: { taskId: "task-1", status, pollIntervalMs } } };
    },
  };
  const following = followTask({ client, clock } as never, {} as McpTarget, {
    ...{ task: { id: "task-1", ends_at: 0 }, isResumed: false },
    ...{ endAt: begin + 60_000, signal: new AbortController().signal },
  });
  await clock.advance(40_000);
  expect(await following).toMatchObject({ message: "The server cancelled the task." });
  const waits = asked.map((at, n) => at - (asked[n - 1] ?? 0));
  expect(waits).toEqual([2_000, 500, 500, 501, 14_999, 15_000, 2_000]);
});

test("a task that was taken over has its time, a last look at least, and no more than the call", () => {
  const clock = createManualClock();
  const begin = clock.monotonic();
  const leftOf = (ends_at: number, callMs = 60_000) =>
    endOfTask({ id: "task-1", ends_at }, 10_000, begin + callMs, clock) - begin;
  const left = [leftOf(30_000), leftOf(15_001), leftOf(14_999), leftOf(0), leftOf(0, 4_000)];
  expect(left).toEqual([20_000, 5_001, 5_000, 5_000, 4_000]);
  expect(leftOf(90_000)).toBe(60_000);
});

test("sixteen questions at once are declined, and seventeen end the task", async () => {
  const follow = async (count: number) => {
    const clock = createManualClock();
    const methods: string[] = [];
    const questions = Array.from({ length: count }, (_, n) => [
      ...[`q${n}`, { method: "elicitation/create" }],
    ]);
    const client = {
      async request(_target: McpTarget, { method }: { method: string }) {
        methods.push(method);
        const isOver = methods.length > 2;
        const status = isOver ? "cancelled" : "input_required";
        const inputRequests = Object.fromEntries(questions);
        const result = { taskId: "task-1", status, inputRequests };
        return { ok: true, answer: { id: 1, result }, session: { isStateless: true } };
      },
    };
    const following = followTask({ client, clock } as never, {} as McpTarget, {
      ...{ task: { id: "task-1", ends_at: 0 }, isResumed: true },
      ...{ endAt: clock.monotonic() + 9_000, signal: new AbortController().signal },
    });
    await clock.advance(2_000);
    await following;
    return methods;
  };
  expect(await follow(16)).toEqual(["tasks/get", "tasks/update", "tasks/get"]);
  expect(await follow(17)).toEqual(["tasks/get", "tasks/cancel"]);
});
