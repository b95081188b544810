// Canaries in every secret field and in all content, and the places where they must not appear.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { type ScriptedUpstream, startUpstream, USAGE } from "../../support/upstream.ts";
import { startRun } from "./population.ts";
import { createAgent, createConnection, type Json, readJson } from "./service.ts";
import { register } from "./tools-bodies.ts";

const CONNECTIONS = "/v1/tools/connections";
const key = `${KEY}-approver`;
/** Secrets of connections and the model's server, invalid keys, and refused bodies. */
const SECRETS = {
  bearer: "zqbearer-1f9d",
  header: "zqheader-2a7c",
  basic: `Basic ${btoa("user:zqpassword-3b8e")}`,
  second: "zqsecond-4c6a",
  upstream: "zqupstream-5d5f",
  foreign: "zqforeign-6e4b",
  refused: "zqrefused-7f3c",
};
/** Content of users, models and tools; it belongs to its owner, and never to a log. */
const WORDS = {
  prompt: "zxprompt-11",
  message: "zxmessage-22",
  said: "zxsaid-33",
  argument: "zxargument-44",
  result: "zxresult-55",
  reason: "zxreason-66",
  note: "zxnote-77",
  key: "zxnotekey-88",
  query: "zxquery-99",
};

let directory: string;
let app: TestApp;
let model: ScriptedUpstream;
let receiver: Receiver;
/** Every reply of ours, as text. */
let replies: string[];
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-canaries-"));
  replies = [];
  model = startUpstream();
  receiver = openReceiver(({ headers, path, body }) => {
    const echo = { result: WORDS.result, headers, path, body };
    const encoded = Object.values(headers).map((text) => [encodeURIComponent(text), btoa(text)]);
    const status = path.startsWith("/broken") ? 500 : 200;
    return Response.json({ ...echo, encoded }, { status });
  });
  const settings = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
[egress]
allow = ["127.0.0.1:*"]
[[models]]
id = "own"
self_hosted = true
context_window = 32768
capabilities = ["tools", "streaming"]
[models.upstream]
kind = "openai"
urls = ["${model.url}"]
api_key_env = "MODEL_KEY"
`;
  app = await startApp({
    ...{ listens: true, settings, env: { MODEL_KEY: SECRETS.upstream } },
    secretsKeyFile: join(directory, "secrets.key"),
    place: { kind: "sqlite", file: join(directory, "wadi.db") },
  });
});
afterEach(async () => {
  receiver[Symbol.dispose]();
  await app.stop();
  await model.stop();
  rmSync(directory, { recursive: true });
});

const read = async (response: Promise<Response>): Promise<number> => {
  const { status, headers, ...rest } = await response.then(async (got) => {
    return { status: got.status, headers: got.headers, text: await got.text() };
  });
  replies.push(rest.text, JSON.stringify([...headers]));
  return status;
};

/** Bodies and headers with a secret in them that are no good. */
async function sendRefused(id: string): Promise<void> {
  const secret = SECRETS.refused;
  const bad = { name: "Bad", kind: "bearer", secret };
  const bodies: unknown[] = [
    { ...bad, secret: `${secret}\n` },
    { ...bad, secret: `${secret} x` },
    { ...bad, secret: `${secret}\0` },
    { ...bad, secret: `${secret}\ud800` },
    { ...bad, secret: `${secret}é` },
    { ...bad, secret: secret.repeat(1_000) },
    { ...bad, secret: [secret] },
    { ...bad, secret: { [secret]: secret } },
    { ...bad, kind: "header", header_name: "X Y" },
    { ...bad, allowed_hosts: ["a b"] },
    `{"name":"Bad","kind":"bearer","secret":"${secret}"`,
    `{"name":"Bad","kind":"bearer","secret":"${secret}",}`,
  ];
  for (const body of bodies) expect(await read(app.post(CONNECTIONS, body))).toBe(400);
  const put = (body: unknown) => read(app.ask("PUT", `${CONNECTIONS}/${id}/secret`, { body }));
  for (const body of [{ secret: `${secret}\r` }, { secret: [secret] }, `{"secret":"${secret}`]) {
    expect(await put(body)).toBe(400);
  }
  const body = { secret };
  expect(await read(app.ask("PATCH", `${CONNECTIONS}/${id}`, { body }))).toBe(400);
  const nobody = "/v1/tools/connections/00000000-0000-0000-0000-000000000000/secret";
  expect(await read(app.ask("PUT", nobody, { body }))).toBe(404);
  const foreign = SECRETS.foreign;
  expect(await read(app.get(CONNECTIONS, { key: foreign }))).toBe(401);
  expect(await read(app.get(CONNECTIONS, { key: `svc_sk_${foreign}` }))).toBe(401);
  expect(await read(app.get(`/v1/runs?before=${foreign}`))).toBe(400);
}

/** Calls these tools in one round, then replies; the server echoes its key. */
function play(calls: readonly (readonly [name: string, args: object])[]): void {
  const tool_calls = calls.map(([name, args], index) => ({
    ...{ id: `theirs_${index}`, type: "function" },
    function: { name, arguments: JSON.stringify(args) },
  }));
  model.script = ({ body, headers }) => {
    const isFirst = (body.messages as Json[]).at(-1).role === "user";
    const message = isFirst
      ? { role: "assistant", content: WORDS.said, tool_calls }
      : { role: "assistant", content: WORDS.said };
    const finish_reason = isFirst ? "tool_calls" : "stop";
    const echoed = { "x-echo": headers.get("authorization") ?? "" };
    return Response.json(
      { choices: [{ index: 0, message, finish_reason }], usage: USAGE },
      {
        headers: echoed,
      },
    );
  };
}

async function follow(id: string): Promise<Json> {
  for (;;) {
    const run = await readJson(await app.get(`/v1/runs/${id}`));
    if (run.finished_at !== null) return run;
    for (const approval of run.pending_approvals) {
      const verb = approval === run.pending_approvals[0] ? "reject" : "approve";
      await read(app.post(`/v1/approvals/${approval}/${verb}`, { reason: WORDS.reason }, { key }));
    }
    // A failed model call is retried after a delay.
    await app.clock.advance(run.usage.rounds === 0 ? 1_000 : 0);
  }
}

const readFiles = () =>
  readdirSync(directory)
    .filter((name) => name.startsWith("wadi.db"))
    .map((name) => readFileSync(join(directory, name), "latin1"));

/** A secret as it is, and as encodings have it. */
const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString("hex"),
  // Its middle part is in every base64 encoding that begins at the same byte.
  btoa(secret).slice(2, -4),
];

test("agents.endpoints.tools.p5 secrets appear nowhere but at their endpoint, and no user content appears in a log", async () => {
  const { bearer, header, basic, second } = SECRETS;
  const made = [
    await createConnection(app, { name: "bearer", secret: bearer }),
    await createConnection(app, {
      ...{ name: "header", kind: "header", header_name: "X-Api-Key", secret: header },
    }),
    await createConnection(app, {
      ...{ name: "basic", kind: "header", header_name: "Authorization", secret: basic },
    }),
  ];
  const parameters = { type: "object" };
  const names = ["by_bearer", "by_header", "by_basic", "broken", "gone"];
  for (const [n, name] of names.entries()) {
    const connection_id = made[n % 3].id;
    const host = name === "gone" ? "http://127.0.0.1:9" : receiver.origin;
    const endpoint = `${host}/${name}?q=${WORDS.query}`;
    const allowed_hosts = [receiver.host, "127.0.0.1:9"];
    await read(app.ask("PATCH", `${CONNECTIONS}/${connection_id}`, { body: { allowed_hosts } }));
    await register(app, { name, connection_id, endpoint, parameters });
  }
  const tools = [...names, "memory_set", "memory_get", "read_page", "calculator"];
  const agent = await createAgent(app, { tools, system_prompt: WORDS.prompt });
  const to = { to: WORDS.argument };
  const note = { key: WORDS.key, content: WORDS.note };
  const runs: Json[] = [];
  for (const secret of [null, second]) {
    if (secret !== null) {
      const body = { secret };
      expect(await read(app.ask("PUT", `${CONNECTIONS}/${made[0].id}/secret`, { body }))).toBe(200);
    }
    play([
      ["calculator", { expression: WORDS.argument }],
      ...names.map((name) => [name, to] as const),
      ["memory_set", note],
      ["read_page", { url: `${receiver.origin}/page?of=${WORDS.argument}` }],
      ["no_such_tool", to],
    ]);
    const { id } = await startRun(app, agent.id, { input: { message: WORDS.message } });
    runs.push(await follow(id));
  }
  // A model server that echoes its request in an error.
  model.script = ({ body, headers }) =>
    Response.json(
      { body, key: headers.get("authorization") },
      {
        status: 400,
      },
    );
  const failing = await startRun(app, agent.id, { input: { message: WORDS.message } });
  runs.push(await follow(failing.id));
  expect(runs.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "failed"]);
  await read(app.chat(WORDS.message, { user: WORDS.argument }));
  await sendRefused(made[0].id);
  for (const name of names) {
    await read(app.post(`/v1/tools/${name}/test`, { arguments: to }, { key }));
  }
  const paths = [CONNECTIONS, "/v1/tools", "/v1/approvals?limit=200", "/v1/runs", "/v1/agents"];
  paths.push(...made.map(({ id }) => `${CONNECTIONS}/${id}`));
  paths.push(...names.map((name) => `/v1/tools/${name}/revisions`));
  for (const { id, thread_id } of runs) {
    const of = [`/v1/runs/${id}`, `/v1/runs/${id}/steps`, `/v1/runs/${id}/events`];
    paths.push(...of, `/v1/threads/${thread_id}/messages`);
  }
  for (const path of paths) await read(app.get(path));

  const carried = receiver.received.map(({ headers }) => JSON.stringify(headers)).join();
  for (const secret of [bearer, header, basic, second]) expect(carried).toContain(secret);
  const lines = app.lines.map((line) => JSON.stringify(line));
  const seen = [...replies, ...lines, ...readFiles()];
  const hidden = [...Object.values(SECRETS), "zqpassword-3b8e"].flatMap(formsOf);
  for (const form of hidden) {
    const at = seen.findIndex((text) => text.includes(form));
    expect([form, at === -1 ? null : shorten(seen[at]!, form)]).toEqual([form, null]);
  }
  // Every place was searched: content is in replies, and secrets are masked.
  const { prompt: _, query: __, note: ___, key: ____, ...shown } = WORDS;
  for (const word of [...Object.values(shown), "[secret]"]) {
    expect([word, replies.some((text) => text.includes(word))]).toEqual([word, true]);
  }
  expect(lines.length).toBeGreaterThan(3);
  for (const word of Object.values(WORDS)) {
    const line = lines.find((text) => text.includes(word));
    expect([word, line ?? null]).toEqual([word, null]);
  }
});

function shorten(text: string, form: string): string {
  const at = text.indexOf(form);
  return text.slice(Math.max(0, at - 200), at + 100);
}
