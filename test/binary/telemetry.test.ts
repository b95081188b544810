// A run of the compiled program that `kill -9` interrupts is still one trace.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";
import { startCollector } from "../support/collector.ts";
import { answerText, startUpstream, USAGE, writeSettings } from "../support/upstream.ts";

let room: Room;
let collector: ReturnType<typeof startCollector>;
beforeAll(() => {
  room = openRoom();
  collector = startCollector();
});
afterAll(async () => {
  await room.close();
  await collector.stop();
});

test("spans from before and after the crash have one root", async () => {
  const env = { WADI_TELEMETRY__OTLP: collector.url };
  let isKilled = false;
  // A call, and after its result nothing until the server was killed.
  const model = startUpstream(({ body }) => {
    if (!JSON.stringify(body.messages).includes('"tool"')) return answerCall();
    return isKilled ? answerText("Two.") : new Promise<never>(() => {});
  });
  writeFileSync(join(room.directory, "wadi.toml"), writeSettings(model.url));
  const serve = () => room.serve(["dev", "--port", "0", "--data", "./data"], { env });
  const first = await serve();
  const body = { name: "A", system_prompt: "Help.", tools: ["calculator"] };
  const agent = (await (await first.ask("POST", "/v1/agents", { body })).json()) as { id: string };
  const asked = { body: { input: { message: "What is one and one?" } } };
  const started = await first.ask("POST", `/v1/agents/${agent.id}/runs`, asked);
  const { id } = (await started.json()) as { id: string };
  const has = (name: string) => collector.spans().some((span) => span.name.startsWith(name));
  while (!has("execute_tool")) await collector.next();
  first.signal("SIGKILL");
  await first.exited;
  isKilled = true;
  expect(has("invoke_agent")).toBeFalse();
  const second = await serve();
  while (!has("invoke_agent")) await collector.next();
  const spans = collector.spans();
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([id.replaceAll("-", "")]));
  const root = spans.find(({ name }) => name === "invoke_agent")!;
  expect(root.attributes).toMatchObject({
    "wadi.run.status": "succeeded",
    "wadi.run.recoveries": 1,
  });
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    let top = span;
    while (byId.has(top.parentSpanId!)) top = byId.get(top.parentSpanId!)!;
    expect([span.name, top]).toEqual([span.name, root]);
  }
  second.signal("SIGTERM");
  expect(await second.exited).toBe(0);
  await model.stop();
});

function answerCall(): Response {
  const called = { name: "calculator", arguments: '{"expression":"1+1"}' };
  const tool_calls = [{ id: "call-1", type: "function", function: called }];
  const message = { role: "assistant", content: null, tool_calls };
  const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
  return Response.json({ id: "u", object: "chat.completion", created: 1, choices, usage: USAGE });
}
