// Traces of runs as a collector gets them: one trace each, also across a restart.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEY, startApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { type CollectedSpan, startCollector } from "../support/collector.ts";
import { hasJudge, judgeRequests } from "../support/otlp-judge.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function collect() {
  const collector = startCollector();
  cleanups.push(collector.stop);
  return collector;
}
type Collector = ReturnType<typeof startCollector>;

async function open(collector: Collector, telemetry = "", options: TestAppOptions = {}) {
  const settings = `[telemetry]\notlp = "${collector.url}"\n${telemetry}`;
  return startApp({ settings, listens: true, ...options });
}

async function makeAgent(app: TestApp, tools: string[]): Promise<string> {
  const made = await app.post("/v1/agents", { name: "A", system_prompt: "Help.", tools });
  return ((await made.json()) as { id: string }).id;
}

async function start(app: TestApp, agent: string, message: string): Promise<string> {
  const reply = await app.post(`/v1/agents/${agent}/runs`, { input: { message } });
  expect(reply.status).toBe(202);
  return ((await reply.json()) as { id: string }).id;
}

async function becomes(app: TestApp, id: string, status: string): Promise<void> {
  for (;;) {
    const run = (await (await app.get(`/v1/runs/${id}`)).json()) as { status: string };
    if (run.status === status) return;
    await app.clock.advance(0);
  }
}

/** Moves the clock until the collector has a root. */
async function untilEnded(app: TestApp, { spans }: Collector): Promise<CollectedSpan[]> {
  while (!spans().some(({ name }) => name === "invoke_agent")) await app.clock.advance(1_000);
  return spans();
}

async function decide(app: TestApp, decision: "approve" | "reject"): Promise<void> {
  const key = `${KEY}-approver`;
  const listed = await app.get("/v1/approvals?status=pending", { key });
  const [approval] = ((await listed.json()) as { data: { id: string }[] }).data;
  const decided = await app.post(`/v1/approvals/${approval!.id}/${decision}`, {}, { key });
  expect(decided.status).toBe(200);
}

const ADD = '!tool calculator {"expression":"1+1"}';
const NOTE = '!tool memory_set {"key":"tone","content":"Friendly"}';
/** Name, parent's name and error. */
const draw = (spans: readonly CollectedSpan[]) => {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  return spans.map(({ name, parentSpanId, attributes }) => {
    const parent = parentSpanId === undefined ? "none" : (byId.get(parentSpanId)?.name ?? "lost");
    return `${name} < ${parent}${attributes["error.type"] ? ` ! ${attributes["error.type"]}` : ""}`;
  });
};

test("a run is one trace of its rounds, its calls and its wait for a person", async () => {
  const collector = collect();
  const app = await open(collector);
  cleanups.push(app.stop);
  const agent = await makeAgent(app, ["calculator", "memory_set"]);
  const id = await start(app, agent, `${ADD}\n!next\n${NOTE}\n!next\n!say Noted.`);
  await becomes(app, id, "waiting_approval");
  await app.clock.advance(90_000);
  await decide(app, "approve");
  await becomes(app, id, "succeeded");
  const spans = await untilEnded(app, collector);
  expect(draw(spans).sort()).toEqual([
    "chat stub-1 < invoke_agent",
    "chat stub-1 < invoke_agent",
    "chat stub-1 < invoke_agent",
    "execute_tool calculator < invoke_agent",
    "execute_tool memory_set < invoke_agent",
    "invoke_agent < none",
    "wait_for_approval memory_set < invoke_agent",
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([id.replaceAll("-", "")]));
  const find = (name: string) => spans.find((span) => span.name.startsWith(name))!;
  const root = find("invoke_agent");
  expect(root.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.id": agent,
    "wadi.run.id": id,
    "wadi.run.status": "succeeded",
    "wadi.run.rounds": 3,
    "wadi.run.tool_calls": 2,
  });
  expect(find("chat").attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "stub-1",
  });
  expect(find("execute_tool").attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "calculator",
    "wadi.tool.outcome": "ok",
  });
  const wait = find("wait_for_approval");
  expect(wait.attributes).toMatchObject({ "wadi.approval.decision": "approved" });
  const took = BigInt(wait.endTimeUnixNano) - BigInt(wait.startTimeUnixNano);
  expect(took).toBeGreaterThanOrEqual(90_000_000_000n);
  // Every span lies within the root's.
  for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
    expect(startTimeUnixNano >= root.startTimeUnixNano).toBeTrue();
    expect(endTimeUnixNano <= root.endTimeUnixNano).toBeTrue();
  }
  expect(JSON.stringify(collector.requests)).not.toContain("Friendly");
});

test("a run that a restart interrupts is one trace with one root", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-trace-"));
  cleanups.push(() => rmSync(directory, { recursive: true }));
  const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
  const secretsKeyFile = join(directory, "secrets.key");
  const collector = collect();
  const first = await open(collector, "", { place, secretsKeyFile });
  const agent = await makeAgent(first, ["calculator"]);
  const id = await start(first, agent, `${ADD}\n!next\n!stall`);
  while (!draw(collector.spans()).some((name) => name.startsWith("execute_tool"))) {
    await first.clock.advance(1_000);
  }
  // The round under way ends with its process, and the next process repeats it.
  await first.stop();
  const before = collector.spans();
  expect(before.map(({ name }) => name)).not.toContain("invoke_agent");
  const second = await open(collector, "", { place, secretsKeyFile, seed: 2 });
  cleanups.push(second.stop);
  await becomes(second, id, "running");
  expect((await second.post(`/v1/runs/${id}/cancel`, {})).status).toBe(200);
  await becomes(second, id, "cancelled");
  const spans = await untilEnded(second, collector);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(draw(spans).filter((name) => name.endsWith("< lost"))).toEqual([]);
  expect(spans.filter(({ name }) => name === "invoke_agent")).toHaveLength(1);
});

test("a rejected call shows its wait, and a run that fails its code", async () => {
  const collector = collect();
  const app = await open(collector);
  cleanups.push(app.stop);
  const agent = await makeAgent(app, ["memory_set"]);
  const id = await start(app, agent, `${NOTE}\n!next\n!error context_length_exceeded`);
  await becomes(app, id, "waiting_approval");
  await decide(app, "reject");
  await becomes(app, id, "failed");
  const spans = await untilEnded(app, collector);
  expect(draw(spans)).toContain("invoke_agent < none ! context_length_exceeded");
  expect(draw(spans)).toContain("chat stub-1 < invoke_agent ! context_length_exceeded");
  const wait = spans.find(({ name }) => name.startsWith("wait_for_approval"));
  expect(wait!.attributes).toMatchObject({ "wadi.approval.decision": "rejected" });
  expect(spans.some(({ name }) => name.startsWith("execute_tool"))).toBeFalse();
});

test("a queued run that is cancelled has a root", async () => {
  const collector = collect();
  const app = await open(collector, "[limits]\nconcurrent_runs = 1\n");
  cleanups.push(app.stop);
  const agent = await makeAgent(app, []);
  await becomes(app, await start(app, agent, "!stall"), "running");
  const id = await start(app, agent, "Hello");
  expect((await app.post(`/v1/runs/${id}/cancel`, {})).status).toBe(200);
  const spans = await untilEnded(app, collector);
  const root = spans.find(({ name }) => name === "invoke_agent")!;
  expect(root.attributes).toMatchObject({ "wadi.run.id": id, "wadi.run.status": "cancelled" });
  expect(root.isError).toBeFalse();
});

test("texts are in the spans only where they are asked for", async () => {
  const collector = collect();
  const app = await open(collector, "content = true\n");
  cleanups.push(app.stop);
  const agent = await makeAgent(app, ["calculator"]);
  await becomes(app, await start(app, agent, `${ADD}\n!next\n!say Two.`), "succeeded");
  const spans = await untilEnded(app, collector);
  const find = (name: string) => spans.find((span) => span.name.startsWith(name))!.attributes;
  expect(find("execute_tool")).toMatchObject({
    "gen_ai.tool.call.arguments": '{"expression":"1+1"}',
    "gen_ai.tool.call.result": expect.stringContaining("2"),
  });
  expect(JSON.parse(find("invoke_agent")["gen_ai.output.messages"] as string)).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "Two." }] },
  ]);
  const chat = spans.filter(({ name }) => name.startsWith("chat")).at(-1)!.attributes;
  const input = JSON.parse(chat["gen_ai.input.messages"] as string) as { role: string }[];
  expect(input.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
});

test("without `content` no text is in the spans, of a call that fails neither", async () => {
  const collector = collect();
  const app = await open(collector);
  cleanups.push(app.stop);
  const agent = await makeAgent(app, ["calculator"]);
  const call = '!tool calculator {"expression":"canary + 1"}';
  const id = await start(app, agent, `${call}\n!next\n!say canary`);
  await becomes(app, id, "succeeded");
  const steps = await (await app.get(`/v1/runs/${id}/steps`)).text();
  expect(steps).toContain('"content":"There is no canary.');
  expect(draw(await untilEnded(app, collector))).toContain(
    "execute_tool calculator < invoke_agent ! error",
  );
  expect(JSON.stringify(collector.requests)).not.toContain("canary");
});

test.skipIf(!hasJudge)("opentelemetry-proto reads one trace for each run", async () => {
  const collector = collect();
  const app = await open(collector);
  cleanups.push(app.stop);
  const agent = await makeAgent(app, ["calculator"]);
  const ids = [];
  for (let n = 0; n < 3; n++) {
    const id = await start(app, agent, `${ADD}\n!next\n!say Two.`);
    await becomes(app, id, "succeeded");
    ids.push(id.replaceAll("-", ""));
  }
  const isWhole = () =>
    collector.spans().filter(({ name }) => name === "invoke_agent").length === ids.length;
  while (!isWhole()) await app.clock.advance(1_000);
  const { spans } = await judgeRequests(collector.requests);
  const byTrace = Map.groupBy(spans, ({ trace }) => trace);
  expect([...byTrace.keys()].sort()).toEqual(ids.sort());
  for (const own of byTrace.values()) {
    expect(own.map(({ name }) => name).sort()).toEqual([
      "chat stub-1",
      "chat stub-1",
      "execute_tool calculator",
      "invoke_agent",
    ]);
    const root = own.find(({ parent }) => parent === "")!;
    expect(root.name).toBe("invoke_agent");
    for (const one of own) if (one !== root) expect(one.parent).toBe(root.span);
    expect(new Set(own.map(({ service }) => service))).toEqual(new Set(["wadi"]));
  }
});
