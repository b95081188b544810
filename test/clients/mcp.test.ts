// The official TypeScript clients of the Model Context Protocol, of both generations and eras.
import { beforeAll, describe, expect, test } from "bun:test";
import { registerDev } from "./dev.ts";
import { connectFirst, connectSecond, type Era, openTasks } from "./mcp-client.ts";

const dev = registerDev({ isOwn: true });
const NAMES = ["get_run", "list_runs", "cancel_run", "list_approvals", "get_costs"];
/** Not over before the first look at it, which is told as progress. */
const SLOW = "!delay 300ms\n!say Slowly.";
const ADD = '!tool calculator {"expression":"2 + 3"}\n!next\n!say Done.';

const post = async (path: string, body: object, key = dev().key) => {
  const { url } = dev();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const reply = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await reply.json()) as { id: string };
};
const approveAll = async (run_id: string) => {
  const { url, key } = dev();
  const headers = { authorization: `Bearer ${key}` };
  const read = async () => (await fetch(`${url}/v1/runs/${run_id}`, { headers })).json();
  const { pending_approvals } = (await read()) as { pending_approvals: string[] };
  for (const id of pending_approvals) await post(`/v1/approvals/${id}/approve`, {}, dev().approver);
};

beforeAll(async () => {
  const shared = { system_prompt: "Be brief.", expose: true };
  await post("/v1/agents", { ...shared, name: "Guide", description: "Knows the way." });
  const policy = { require_approval: ["calculator"] };
  await post("/v1/agents", { ...shared, name: "Clerk", tools: ["calculator"], policy });
});

const ERAS = [
  ["2025-11-25", "legacy"],
  ["2026-07-28", "auto"],
] as const;

describe.each(ERAS)("@modelcontextprotocol/client in revision %s", (revision, era: Era) => {
  test("lists agents, calls one with progress, and reads its run", async () => {
    const client = await connectSecond(dev(), era);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...NAMES, "clerk", "guide"]);
    expect(tools.at(-1)).toMatchObject({ title: "Guide", description: "Knows the way." });
    const progress: unknown[] = [];
    const call = { name: "guide", arguments: { message: SLOW } };
    const result = await client.callTool(call, { onprogress: (one) => progress.push(one) });
    expect(result.content).toEqual([{ type: "text", text: "Slowly." }]);
    expect(progress[0]).toMatchObject({ progress: 1, message: expect.any(String) });
    const { run_id } = result.structuredContent as { run_id: string };
    const read = await client.callTool({ name: "get_run", arguments: { run_id } });
    expect(read.structuredContent).toMatchObject({ run_id, status: "succeeded" });
    await client.close();
  });

  test("gets faults of calls as results, and of the protocol as errors", async () => {
    const client = await connectSecond(dev(), era);
    const wrong = await client.callTool({ name: "guide", arguments: { text: "Hello" } });
    expect(wrong.isError).toBe(true);
    const unknown = client.callTool({ name: "nothing", arguments: {} });
    await expect(unknown).rejects.toMatchObject({ code: -32_602 });
    await client.close();
  });

  test("runs an agent as a task, of which a person decides the call", async () => {
    const session = await openTasks(dev(), era);
    const task = { preference: "require" } as const;
    const declaration = (await connectTools(era)).find(({ name }) => name === "clerk") as never;
    const execution = await session.callTool("clerk", { message: ADD }, { task, declaration });
    if (execution.kind !== "task") throw new Error("no task was made");
    const statuses: string[] = [];
    for await (const update of execution.updates()) {
      if (update.type === "outcome") {
        expect(update.outcome).toMatchObject({
          ...{ status: "completed", result: { content: [{ type: "text", text: "Done." }] } },
        });
        break;
      }
      statuses.push(update.task.status);
      if (update.task.status === "input_required") await approveAll(execution.handle.taskId);
    }
    expect(statuses).toContain("input_required");
    await session.close();
  });

  test("takes a task up again that another client began, and cancels one", async () => {
    const declaration = (await connectTools(era)).find(({ name }) => name === "guide") as never;
    const task = { preference: "require" } as const;
    const first = await openTasks(dev(), era);
    const begun = await first.callTool("guide", { message: "Hello" }, { task, declaration });
    if (begun.kind !== "task") throw new Error("no task was made");
    const reference = begun.serializeReference();
    await begun.detach();
    const second = await openTasks(dev(), era);
    const resumed = await second.resumeTask(reference, { declaration });
    expect(await resumed.result()).toMatchObject({
      ...{ status: "completed", result: { content: [{ text: "You said: Hello" }] } },
    });
    // Its end cancels what it has begun and not seen end, detached or not.
    await first.close();
    const message = "!delay 60s\n!say Late.";
    const slow = await second.callTool("guide", { message }, { task, declaration });
    await slow.cancel();
    expect(await slow.result()).toMatchObject({ status: "cancelled" });
    await second.close();
  });
});

async function connectTools(era: Era) {
  const client = await connectSecond(dev(), era);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ execution, ...tool }) => ({ ...tool, ...execution }));
}

describe("@modelcontextprotocol/sdk", () => {
  test("lists agents and calls one with progress", async () => {
    const client = await connectFirst(dev());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...NAMES, "clerk", "guide"]);
    const progress: unknown[] = [];
    const call = { name: "guide", arguments: { message: SLOW } };
    const result = await client.callTool(call, undefined, {
      onprogress: (one) => progress.push(one),
    });
    expect(result.content).toEqual([{ type: "text", text: "Slowly." }]);
    expect(progress).not.toEqual([]);
    await client.close();
  });

  test("streams a task to its result", async () => {
    const client = await connectFirst(dev());
    const call = { name: "guide", arguments: { message: "Hello" } };
    const kinds: string[] = [];
    for await (const message of client.experimental.tasks.callToolStream(call, undefined, {
      task: {},
    })) {
      kinds.push(message.type);
      if (message.type === "result") {
        expect(message.result.content).toEqual([{ type: "text", text: "You said: Hello" }]);
      }
    }
    expect([kinds[0], kinds.at(-1)]).toEqual(["taskCreated", "result"]);
    const { tasks } = await client.experimental.tasks.listTasks();
    expect(tasks.length).toBeGreaterThan(0);
    await client.close();
  });

  test("without a key is not let in", async () => {
    const nobody = connectFirst({ url: dev().url, key: "wrong" });
    await expect(nobody).rejects.toThrow("unknown, revoked or expired");
  });
});
