// Agents as tools: listed, called with and without tasks, and read by the other tools.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { APPROVER, add, decide, ended, follow } from "../../spec/agents/approvals-front.ts";
import type { Json } from "../../spec/agents/runs-front.ts";
import { KEY } from "../../support/app.ts";
import {
  beginWait,
  type McpFront,
  pollTask,
  readReply,
  startMcp,
  startTask,
  TASKS,
  textOf,
} from "./front.ts";

let front: McpFront;
beforeEach(async () => {
  front = await startMcp();
});
afterEach(() => front.stop());

const call = (name: string, args: object) => ({ name, arguments: args });
const namesOf = (tools: { name: string }[]) => tools.map(({ name }) => name);
const READS = ["get_run", "list_runs", "cancel_run", "list_approvals", "get_costs"];

describe("the list of tools", () => {
  test("has the exposed agents of the account by slug, behind the tools that read", async () => {
    await front.createAgent({ name: "Hidden" });
    const other = await front.createAgent({ name: "Gone", expose: true, slug: "gone" });
    await front.ask("PATCH", `/v1/agents/${other.id}`, { body: { status: "archived" } });
    const { result } = await front.send("tools/list");
    expect(namesOf(result.tools)).toEqual([...READS, "asking", "free"]);
    expect(result).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" });
    expect(result.tools.at(-1)).toMatchObject({
      ...{ name: "free", title: "Clerk", description: expect.stringContaining("Clerk") },
      inputSchema: { type: "object", required: ["message"], additionalProperties: false },
    });
  });

  test("has pages of 100 agents", async () => {
    for (let i = 0; i < 100; i++) {
      await front.createAgent({ slug: `x-${100 + i}`, expose: true });
    }
    const first = (await front.send("tools/list")).result;
    const rest = (await front.send("tools/list", { cursor: first.nextCursor })).result;
    expect([first.tools.length, first.nextCursor]).toEqual([105, "after:x-197"]);
    expect(namesOf(rest.tools)).toEqual(["x-198", "x-199"]);
    expect(rest.nextCursor).toBeUndefined();
    const last = (await front.send("tools/list", { cursor: "after:x-0" })).result;
    expect([last.tools.length, last.nextCursor]).toEqual([100, undefined]);
    // Its agent may have been hidden or archived since.
    const behind = (length: number) =>
      front.send("tools/list", { cursor: `after:${"x".repeat(length)}` });
    expect((await behind(64)).result.tools).toEqual([]);
    expect((await behind(65)).error.code).toBe(-32_602);
  });

  test.each(["", "x-197", "not-a-cursor", "after:", "after:X", "after:a b", "after:a\n", 7, {}])(
    "has no page at the cursor %j, which is none of its own",
    async (cursor) => {
      const error = { code: -32_602, message: "`cursor` must be that of an earlier page." };
      expect((await front.send("tools/list", { cursor })).error).toEqual(error);
      expect((await front.sendOld("tools/list", { cursor })).error).toEqual(error);
    },
  );

  test("of the revision 2025-11-25 says that agents take tasks", async () => {
    const { result } = await front.sendOld("tools/list");
    expect(result.tools.at(-1).execution).toEqual({ taskSupport: "optional" });
    expect(result.resultType).toBeUndefined();
  });
});

describe("a call without tasks", () => {
  test("waits with progress, and ends with the answer of the run", async () => {
    const params = { ...call("free", { message: "Hello" }), _meta: { progressToken: "p" } };
    const { messages, result } = await front.send("tools/call", params);
    expect(result).toMatchObject({
      ...{ resultType: "complete", isError: false },
      structuredContent: { status: "succeeded", message: "You said: Hello" },
    });
    expect(textOf(result)).toBe("You said: Hello");
    const progress = messages.slice(0, -1).map(({ method, params: told }) => [method, told]);
    expect(progress.map(([, { progress }]) => progress)).toEqual(progress.map((_, i) => i + 1));
    expect(progress[0]).toMatchObject(["notifications/progress", { progressToken: "p" }]);
  });

  test("is answered with the id of its request", async () => {
    const params = call("free", { message: "Hello" });
    const headers = { "x-request-id": "mine" };
    const body = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const reply = await front.post("/mcp", body, { headers });
    expect(reply.headers.get("x-request-id")).toBe("mine");
    expect(await reply.text()).toContain("You said: Hello");
  });

  test("continues the thread of an earlier one", async () => {
    const first = (await front.sendOld("tools/call", call("free", { message: "One" }))).result;
    const { thread_id } = first.structuredContent;
    const again = call("free", { message: "Two", thread_id: thread_id.toUpperCase() });
    const { result } = await front.sendOld("tools/call", again);
    expect(result.structuredContent).toMatchObject({ thread_id, message: "You said: Two" });
  });

  test("ends with where a person decides, and get_run waits for the end", async () => {
    const message = `${add("2 + 3")}\n!next\n!say Done.`;
    const { result } = await front.sendOld("tools/call", call("asking", { message }));
    const { run_id, status, approvals } = result.structuredContent;
    const [{ approval_id, url }] = approvals;
    expect([status, result.isError]).toEqual(["waiting_approval", false]);
    expect(url).toBe(`${front.url}/console/approvals/${approval_id}`);
    expect(textOf(result)).toContain(url);
    const listed = (await front.sendOld("tools/call", call("list_approvals", {}))).result;
    expect(listed.structuredContent.approvals).toMatchObject([{ approval_id, run_id, url }]);
    const other = { key: `${KEY}-other` };
    const theirs = (await front.sendOld("tools/call", call("list_approvals", {}), other)).result;
    expect(theirs.structuredContent.approvals).toEqual([]);
    const next = (await front.sendOld("tools/call", call("asking", { message }))).result;
    expect(next.structuredContent.approvals).toHaveLength(1);
    expect(next.structuredContent.approvals[0].approval_id).not.toBe(approval_id);
    const waiting = front.sendOld("tools/call", call("get_run", { run_id, wait_seconds: 50 }));
    expect((await decide(front, approval_id, "approve")).status).toBe(200);
    expect((await waiting).result.structuredContent).toMatchObject({
      ...{ status: "succeeded", message: "Done." },
    });
  });

  test("waits for a run no longer than asked, and the run goes on", async () => {
    const run_id = await startTask(front, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(front, run_id, "input_required");
    const waiting = await beginWait(front, run_id);
    await front.clock.advance(50_000);
    const { result } = await readReply(waiting);
    expect(result.structuredContent).toMatchObject({ run_id, status: "waiting_approval" });
  });

  test("ends with where the run stands when the server stops", async () => {
    const stopped = await startMcp();
    const run_id = await startTask(stopped, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(stopped, run_id, "input_required");
    const reading = readReply(await beginWait(stopped, run_id));
    await stopped.app.stop(1_000);
    const { result } = await reading;
    expect(result.structuredContent).toMatchObject({ run_id, status: "waiting_approval" });
  });

  test("that ends otherwise is an error that the model reads", async () => {
    const failing = call("free", { message: "!error context_length_exceeded" });
    const { result } = await front.sendOld("tools/call", failing);
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining("failed")]);
  });

  test("sent again with the same key starts no second run", async () => {
    const params = { ...call("free", { message: "Once" }), _meta: { "idempotency-key": "k" } };
    const ids = [];
    for (let i = 0; i < 2; i++) {
      ids.push((await front.sendOld("tools/call", params)).result.structuredContent.run_id);
    }
    const headers = { "idempotency-key": "k" };
    const other = await front.sendOld("tools/call", call("free", { message: "Two" }), { headers });
    expect(ids[0]).toBe(ids[1]);
    expect(textOf(other.result)).toStartWith("idempotency_conflict");
  });
});

describe("a task", () => {
  test("is the run: the same id, and the result once it has ended", async () => {
    const taskId = await startTask(front, "free", "Hello");
    const task = await pollTask(front, taskId, "completed");
    expect(task).toMatchObject({
      ...{ resultType: "complete", taskId, ttlMs: null, pollIntervalMs: 2_000 },
      result: { resultType: "complete", content: [{ type: "text", text: "You said: Hello" }] },
    });
    expect(await front.read(`/v1/runs/${taskId}`)).toMatchObject({ status: "succeeded" });
  });

  test("requires input while an approval waits: an address for people, and none for others", async () => {
    const taskId = await startTask(front, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    const task = await pollTask(front, taskId, "input_required");
    expect(task.inputRequests).toEqual({});
    const [id] = (await front.read(`/v1/runs/${taskId}`)).pending_approvals;
    const url = `${front.url}/console/approvals/${id}`;
    expect(task.statusMessage).toContain(url);
    const able = { ...TASKS, elicitation: { url: {} } };
    const { result } = await front.send("tasks/get", { taskId }, able);
    expect(result.inputRequests).toEqual({
      [id]: {
        method: "elicitation/create",
        params: { mode: "url", message: expect.stringContaining("calculator"), url },
      },
    });
  });

  test("is decided by a person only: no answer of its client approves or rejects", async () => {
    const taskId = await startTask(front, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(front, taskId, "input_required");
    const [id] = (await front.read(`/v1/runs/${taskId}`)).pending_approvals;
    for (const action of ["accept", "decline", "cancel"]) {
      const inputResponses = { [id]: { action, content: { approved: true } } };
      const { result } = await front.send("tasks/update", { taskId, inputResponses }, TASKS);
      expect(result.resultType).toBe("complete");
    }
    expect(await front.read(`/v1/approvals/${id}`)).toMatchObject({ status: "pending" });
    await front.clock.advance(5_000);
    expect((await decide(front, id, "approve", {}, APPROVER)).status).toBe(200);
    const task = await pollTask(front, taskId, "completed");
    expect(textOf(task.result)).toBe("Done.");
    expect(Date.parse(task.lastUpdatedAt) - Date.parse(task.createdAt)).toBe(5_000);
  });

  test("that fails is completed with an error, and one that is cancelled is cancelled", async () => {
    const failing = await startTask(front, "free", "!error context_length_exceeded");
    expect((await pollTask(front, failing, "completed")).result.isError).toBe(true);
    const taskId = await startTask(front, "free", "!delay 60s\n!say Late.");
    await follow(front, taskId, ({ status }) => status === "running");
    expect((await front.send("tasks/cancel", { taskId }, TASKS)).result).toMatchObject({
      resultType: "complete",
    });
    await pollTask(front, taskId, "cancelled");
  });

  test("of the revision 2025-11-25 has its result by a method of its own", async () => {
    const params = { ...call("free", { message: "Hello" }), task: { ttl: 60_000 } };
    const { task } = (await front.sendOld("tools/call", params)).result;
    expect(task).toMatchObject({ status: "working", pollInterval: 2_000 });
    const { result } = await front.sendOld("tasks/result", { taskId: task.taskId });
    expect([textOf(result), Object.values(result._meta)]).toEqual([
      ...["You said: Hello", [{ taskId: task.taskId }]],
    ]);
    const got = (await front.sendOld("tasks/get", { taskId: task.taskId })).result;
    expect(got).toMatchObject({ taskId: task.taskId, status: "completed" });
    expect(got.result).toBeUndefined();
  });

  test("is listed in pages, to the key that began it alone, where the revision has a list", async () => {
    const begin = async (more = {}) => {
      const params = { ...call("free", { message: "Hello" }), task: {} };
      return (await front.sendOld("tools/call", params, more)).result.task.taskId as string;
    };
    await begin({ key: APPROVER });
    const own: string[] = [];
    for (let i = 0; i < 52; i++) own.unshift(await begin());
    const idsOf = ({ result }: Json) => result.tasks.map(({ taskId }: Json) => taskId);
    const first = await front.sendOld("tasks/list");
    expect(idsOf(first)).toEqual(own.slice(0, 50));
    expect(first.result.tasks[0]).toMatchObject({ ttl: null, pollInterval: 2_000 });
    const { nextCursor: cursor } = first.result;
    const rest = await front.sendOld("tasks/list", { cursor });
    expect(idsOf(rest)).toEqual(own.slice(50));
    expect(rest.result.nextCursor).toBeUndefined();
    for (const wrong of ["x", "1".repeat(16)]) {
      expect((await front.sendOld("tasks/list", { cursor: wrong })).error.code).toBe(-32_602);
    }
    expect((await front.send("tasks/list", {}, TASKS)).error.code).toBe(-32_601);
  });
});

describe("the tools that read", () => {
  test("list runs and sum their costs", async () => {
    const taskId = await startTask(front, "free", "Hello");
    await pollTask(front, taskId, "completed");
    const listed = (await front.send("tools/call", call("list_runs", { limit: 1 }))).result;
    expect(listed.structuredContent.runs).toMatchObject([
      { run_id: taskId, status: "succeeded", asked: "Hello", agent_id: front.agent.id },
    ]);
    const costs = (await front.send("tools/call", call("get_costs", { group_by: "agent" }))).result;
    expect(costs.structuredContent).toMatchObject({ group_by: "agent", totals: { runs: 1 } });
  });

  test("cancel a run", async () => {
    const run_id = await startTask(front, "free", "!delay 60s\n!say Late.");
    const { result } = await front.send("tools/call", call("cancel_run", { run_id }));
    expect(result.structuredContent).toMatchObject({ run_id });
    expect(await ended(front, run_id)).toMatchObject({ status: "cancelled" });
  });
});
