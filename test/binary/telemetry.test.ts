// A run of the compiled program that `kill -9` interrupts is still one trace.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";
import { startCollector } from "../support/collector.ts";

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
  const serve = () => room.serve(["dev", "--port", "0", "--data", "./data"], { env });
  const first = await serve();
  const body = { name: "A", system_prompt: "Help.", tools: ["calculator"] };
  const agent = (await (await first.ask("POST", "/v1/agents", { body })).json()) as { id: string };
  const message = '!tool calculator {"expression":"1+1"}\n!next\n!delay 3s\n!say Two.';
  const asked = { body: { input: { message } } };
  const started = await first.ask("POST", `/v1/agents/${agent.id}/runs`, asked);
  const { id } = (await started.json()) as { id: string };
  const has = (name: string) => collector.spans().some((span) => span.name.startsWith(name));
  while (!has("execute_tool")) await collector.next();
  first.signal("SIGKILL");
  await first.exited;
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
  const children = spans.filter((span) => span !== root);
  expect(new Set(children.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root.spanId]));
  second.signal("SIGTERM");
  expect(await second.exited).toBe(0);
}, 60_000);
