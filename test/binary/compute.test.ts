// The compiled program's compute Workers: hostile inputs beside twenty normal runs.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../spec/agents/service.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";

const NEIGHBOURS = 20;
const KEY = "svc_sk_dev";

let room: Room;
let outside: Bun.Server<undefined>;
let server: Server;
beforeAll(async () => {
  room = openRoom();
  outside = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      // A model server that can count nothing, and a tool.
      if (pathname.startsWith("/v1")) return new Response(null, { status: 404 });
      if (request.method === "POST") return Response.json({ ok: true });
      const headers = { "content-type": "text/html" };
      // A quarter of what a page may hold: a busy machine too reads it within its time.
      return new Response(`x${"<b>".repeat(250)}${"</i>".repeat(100_000)}`, { headers });
    },
  });
  writeFileSync(
    join(room.directory, "wadi.toml"),
    `
[service]
default_model = "stub"
[limits]
active_runs = 100
[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools"]
upstream = { kind = "stub" }
[[models]]
id = "small"
self_hosted = true
context_window = 1_000
default_max_tokens = 100
upstream = { kind = "openai", urls = ["http://127.0.0.1:${outside.port}/v1"] }
`,
  );
  const egress = ["--allow-egress", `127.0.0.1:${outside.port}`];
  server = await room.serve(["dev", "--port", "0", "--key", KEY, ...egress]);
});
afterAll(async () => {
  await outside.stop(true);
  await room.close();
});

const ask = async (method: string, path: string, body?: object): Promise<[number, Json]> => {
  const reply = await server.ask(method, path, { key: KEY, body });
  return [reply.status, (await reply.json()) as Json];
};
const need = async (method: string, path: string, body?: object): Promise<Json> => {
  const [status, json] = await ask(method, path, body);
  if (status >= 300) throw new Error(`${path}: ${JSON.stringify(json)}`);
  return json;
};
const start = async (agent_id: string, message: string): Promise<string> =>
  (await need("POST", `/v1/agents/${agent_id}/runs`, { input: { message } })).id;
/** The status of a run at its end, and the outcomes and contents of its calls. */
const finish = async (id: string) => {
  await (await server.ask("GET", `/v1/runs/${id}/events`, { key: KEY })).text();
  const { status } = await need("GET", `/v1/runs/${id}`);
  const { data } = (await need("GET", `/v1/runs/${id}/steps`)) as unknown as {
    data: { kind: string; data: { outcome: string; content: string } }[];
  };
  const results = data.filter(({ kind }) => kind === "tool_result").map((step) => step.data);
  return { status: status as string, results };
};
const tool = (name: string, args: object) =>
  `!tool ${name} ${JSON.stringify(args)}\n!next\n!say ok`;
const calculate = (expression: string) => tool("calculator", { expression });

test("twenty runs succeed beside hostile calculations, pages and schemas in the same process", async () => {
  const { pid } = server;
  const parameters = { type: "object", properties: { a: { pattern: "(a|b)*a[ab]{900}c" } } };
  const origin = `http://127.0.0.1:${outside.port}`;
  await need("POST", "/v1/tools", {
    ...{ name: "match", description: "Matches.", risk: "read", parameters },
    endpoint: `${origin}/match`,
  });
  const { id } = await need("POST", "/v1/agents", {
    ...{ name: "Any", system_prompt: "Be brief." },
    tools: ["calculator", "read_page", "match"],
  });
  const poison = [
    ...["atan(1e5000)", "cos(1e-9999)", "tan(1e-9999)", `${"1^".repeat(61)}1`].map(calculate),
    calculate(Array(16).fill("asin(.9)").join("+")),
    tool("read_page", { url: `${origin}/page` }),
    tool("match", { a: "ab".repeat(20_000) }),
    tool("match", { a: "ab".repeat(20_000) }),
  ];
  const sums = Array.from({ length: NEIGHBOURS }, (_, n) => calculate(`${n} * 1.5`));
  const runs = await Promise.all([...poison, ...sums].map((message) => start(id, message)));
  for (const [n, run] of runs.slice(poison.length).entries()) {
    const { status, results } = await finish(run);
    expect([status, results]).toMatchObject([
      "succeeded",
      [{ outcome: "ok", content: `${n * 1.5}` }],
    ]);
  }
  const ended = await Promise.all(runs.slice(0, poison.length).map(finish));
  expect(ended.map(({ status }) => status)).toEqual(poison.map(() => "succeeded"));
  expect(ended.map(({ results: [result] }) => result!.outcome)).toEqual([
    ...["ok", "ok", "ok", "ok", "ok", "ok", "invalid_arguments", "invalid_arguments"],
  ]);
  expect(server.pid).toBe(pid);
  expect((await server.ask("GET", "/healthz")).status).toBe(200);
});

test("an integer that loses precision as a number is an invalid argument of a run's call", async () => {
  const { id } = await need("POST", "/v1/agents", {
    ...{ name: "Exact", system_prompt: "Be brief.", tools: ["calculator"] },
  });
  const message = '!tool calculator {"expression":9007199254740993}\n!next\n!say ok';
  const { results } = await finish(await start(id, message));
  expect(results).toMatchObject([
    { outcome: "invalid_arguments", content: expect.stringContaining("9007199254740993") },
  ]);
});

test("the bundled tokenizer rejects a text that is far too long for its model", async () => {
  const body = (length: number) => ({
    ...{ model: "small", max_tokens: 100 },
    messages: [{ role: "user", content: "camel ".repeat(length) }],
  });
  const [status, { error }] = await ask("POST", "/v1/chat/completions", body(20_000));
  expect([status, error.code]).toEqual([400, "context_length_exceeded"]);
  // A shorter text goes to its server, which does not exist.
  const [refused] = await ask("POST", "/v1/chat/completions", body(1_000));
  expect(refused).toBe(503);
});

test("a circular schema is refused with a sentence", async () => {
  const [status, { error }] = await ask("POST", "/v1/tools", {
    ...{ name: "loop", description: "Loops.", parameters: { type: "object", $ref: "#" } },
    endpoint: "https://api.example.com/loop",
  });
  expect([status, error.message]).toEqual([
    ...[
      400,
      "`parameters` take too much work for any arguments: they lead back to themselves, or double at each reference.",
    ],
  ]);
});
