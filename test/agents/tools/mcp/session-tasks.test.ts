// Tools of revision 2025-11-25 that run as tasks only, of a server of the official SDK.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startRun } from "../../../spec/agents/population.ts";
import { type Json, readJson } from "../../../spec/agents/service.ts";
import type { TestApp } from "../../../support/app.ts";
import {
  openSessionTaskPeer,
  type SessionTaskPeer,
  says,
} from "../../../support/mcp-session-task-peer.ts";
import {
  addServer,
  endOf,
  listTools,
  makeAgent,
  refresh,
  setRisk,
  startMcp,
  until,
} from "./front.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

let servers = 0;
async function begin(peer: SessionTaskPeer, fields: Json = {}): Promise<string> {
  const server = `s${++servers}`;
  await addServer(app, peer.url, { name: server, ...fields });
  await setRisk(app, `${server}_pay`, "read");
  const agent = await makeAgent(app, [`${server}_pay`]);
  const message = `!tool ${server}_pay {}\n!next\n!say Done.`;
  const { id } = await startRun(app, agent.id, { input: { message } });
  await peer.came("tools/call");
  return id;
}

/** The result of the run's call, while time goes on. */
async function settle(id: string): Promise<Json> {
  let isOver = false;
  const ended = endOf(app, id).finally(() => {
    isOver = true;
  });
  while (!isOver) await app.clock.advance(250);
  const { run, result } = await ended;
  expect(run).toMatchObject({ status: "succeeded", output: { message: "Done." } });
  return result;
}

/** Lets time go on until the server has been asked so. */
async function askedFor(peer: SessionTaskPeer, method: string): Promise<void> {
  let isAsked = false;
  void peer.came(method).then(() => {
    isAsked = true;
  });
  while (!isAsked) await app.clock.advance(250);
}

describe("a tool that runs as a task only", () => {
  test("is called as a task, which is asked for until its result", async () => {
    using peer = openSessionTaskPeer();
    const id = await begin(peer);
    expect(peer.calls).toMatchObject([{ name: "pay", task: { ttl: expect.any(Number) } }]);
    await askedFor(peer, "tasks/get");
    await peer.end("completed", says("Paid."));
    const result = await settle(id);
    expect(result).toMatchObject({ outcome: "ok", content: "Paid.", external: true });
    expect(peer.calls).toHaveLength(1);
    expect(peer.asked.at(-1)).toBe(`tasks/result ${peer.tasks[0]}`);
  });

  test("and fails is an error, with what it says", async () => {
    using peer = openSessionTaskPeer();
    const id = await begin(peer);
    await peer.end("failed", { ...says("No."), isError: true });
    expect(await settle(id)).toMatchObject({
      ...{ outcome: "error", content: "The tool failed.\n\nNo.", external: true },
    });
  });

  test("and waits for a person elsewhere is waited for, and given no answer", async () => {
    using peer = openSessionTaskPeer();
    const id = await begin(peer);
    await peer.needInput();
    await askedFor(peer, "tasks/get");
    await peer.end("completed", says("Decided."));
    expect(await settle(id)).toMatchObject({ outcome: "ok", content: "Decided." });
  });

  test("has the call's time and no more, and is cancelled then", async () => {
    using peer = openSessionTaskPeer();
    const id = await begin(peer, { timeout_ms: 5_000 });
    expect(await settle(id)).toMatchObject({
      ...{ outcome: "timeout", content: "The task had not ended in time." },
    });
    await peer.came("tasks/cancel");
    expect(peer.asked.at(-1)).toBe(`tasks/cancel ${peer.tasks[0]}`);
  });

  test("is cancelled with its run, in the session that it belongs to", async () => {
    using peer = openSessionTaskPeer();
    const id = await begin(peer);
    await askedFor(peer, "tasks/get");
    await readJson(await app.post(`/v1/runs/${id}/cancel`, undefined));
    await peer.came("tasks/cancel");
    const { run } = await endOf(app, id);
    expect(run.status).toBe("cancelled");
    await until(async () => (await peer.statusOf(peer.tasks[0]!)) === "cancelled");
  });
});

test("a tool that may run as a task is called without one", async () => {
  using peer = openSessionTaskPeer("optional");
  peer.instead = ({ method }) => (method === "tools/call" ? { result: says("Paid.") } : undefined);
  await addServer(app, peer.url, { name: "may" });
  await setRisk(app, "may_pay", "read");
  const agent = await makeAgent(app, ["may_pay"]);
  const { id } = await startRun(app, agent.id, {
    input: { message: "!tool may_pay {}\n!next\n!say Done." },
  });
  expect(await settle(id)).toMatchObject({ outcome: "ok", content: "Paid." });
  expect(peer.calls[0]).not.toHaveProperty("task");
});

test("a tool that becomes one of tasks only has changed, and waits to be accepted", async () => {
  using peer = openSessionTaskPeer();
  let taskSupport = "optional";
  peer.instead = ({ method }) => {
    const tool = { name: "pay", inputSchema: { type: "object" }, execution: { taskSupport } };
    return method === "tools/list" ? { result: { tools: [tool] } } : undefined;
  };
  const { id } = await addServer(app, peer.url, { name: "turns" });
  taskSupport = "required";
  await refresh(app, id);
  expect(await listTools(app, id)).toMatchObject([
    {
      ...{ revision: 2, accepted_revision: 1 },
      changes: [{ field: "is_task", before: "false", after: "true" }],
    },
  ]);
});

describe("a server that means harm", () => {
  const task = { taskId: "task-1", ttl: null, createdAt: "x", lastUpdatedAt: "x" };
  const HARMS: [string, Record<string, Json>, string][] = [
    ["answers without a task's id", { "tools/call": { task: {} } }, "no id that can be kept"],
    [
      "shows another task",
      { "tools/call": { task }, "tasks/get": { ...task, taskId: "other" } },
      "another task",
    ],
    [
      "names no known status",
      { "tools/call": { task }, "tasks/get": { ...task, status: "x" } },
      "unreadably",
    ],
    [
      "gives a task as the result of a task",
      {
        ...{ "tools/call": { task }, "tasks/get": { ...task, status: "completed" } },
        "tasks/result": { task },
      },
      "ended in another task",
    ],
    [
      "gives a result of 3 MB",
      {
        ...{ "tools/call": { task }, "tasks/get": { ...task, status: "completed" } },
        "tasks/result": says("x".repeat(3_000_000)),
      },
      "longer than",
    ],
  ];
  test.each(HARMS)("and %s ends the call, and the run goes on", async (_, answers, told) => {
    using peer = openSessionTaskPeer();
    peer.instead = ({ method }) => {
      const result = answers[method];
      if (method === "tools/call") peer.tasks.push("task-1");
      return result && { result };
    };
    const result = await settle(await begin(peer));
    expect(result.content).toContain(told);
    expect(result.outcome).toBe("error");
  });
});
