// A connection's secret on its way: to the endpoint, and nowhere else.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { startRun } from "./population.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, createConnection, type Json, readJson, startService } from "./service.ts";
import { register } from "./tools-bodies.ts";

const CANARY = "sk_canary_93c0";
const PATH = "/v1/tools/connections";
const APPROVER = `${KEY}-approver`;

let directory: string;
let app: TestApp;
let receiver: Receiver;
/** Reply of the endpoint: by default it echoes its request in several forms. */
let answer: (secret: string) => Response;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-canary-"));
  app = await startService({
    listens: true,
    place: { kind: "sqlite", file: join(directory, "wadi.db") },
    secretsKeyFile: join(directory, "secrets.key"),
  });
  answer = (secret) => Response.json({ secret, base64: btoa(`Bearer ${secret}`) });
  receiver = openReceiver(({ headers }) => answer(headers.authorization!.replace("Bearer ", "")));
});
afterEach(async () => {
  receiver[Symbol.dispose]();
  await app.stop();
  rmSync(directory, { recursive: true });
});

/** A tool with a connection that carries the canary. */
async function registerSender(fields: object = {}): Promise<Json> {
  const connection = await createConnection(app, { secret: CANARY });
  const toolFields = {
    name: "send",
    endpoint: `${receiver.origin}/send`,
    connection_id: connection.id,
  };
  await register(app, { ...toolFields, ...fields });
  return connection;
}

const tryOut = async () => {
  const body = { arguments: { to: "Ada" } };
  return readJson(await app.post("/v1/tools/send/test", body, { key: APPROVER }));
};

/** Calls the tool this often in a run of its own; returns every step as shown. */
async function run(times: number): Promise<{ id: string; thread_id: string; steps: Json[] }> {
  const policy = { unattended_writes: true, writes_after_external_content: "allow" };
  const agent = await createAgent(app, { tools: ["send"], policy });
  const calls = Array.from({ length: times }, (_, n) => `!tool send {"to":"${n}"}`);
  const message = [...calls, "!next", "!say Done."].join("\n");
  const { id, thread_id } = await startRun(app, agent.id, { input: { message } });
  // It ends with the run.
  expect(await (await app.get(`/v1/runs/${id}/events`)).text()).toEndWith("data: [DONE]\n\n");
  return { id, thread_id, steps: (await readJson(await app.get(`/v1/runs/${id}/steps`))).data };
}

/** Everything that lies in the data directory. */
const readFiles = () =>
  readdirSync(directory)
    .filter((name) => name.startsWith("wadi.db"))
    .map((name) => readFileSync(join(directory, name), "latin1"));

describe("agents.endpoints.tools.p5", () => {
  test("agents.endpoints.tools.p5 agents.does.connection a secret reaches its endpoint, and appears in no reply, step, event, log or file", async () => {
    const connection = await registerSender();
    const replies: ((secret: string) => Response)[] = [
      answer,
      (secret) => new Response(`${secret}\n${encodeURIComponent(secret)}`, { status: 500 }),
      (secret) => new Response(secret, { status: 302, headers: { location: `/?key=${secret}` } }),
      (secret) => new Response("{}", { headers: { "content-type": `text/${secret}` } }),
      (secret) => new Response("x".repeat(1_048_570) + secret.repeat(9)),
      (secret) => new Response(Buffer.from(secret), { headers: { "content-type": "image/png" } }),
    ];
    const { id, thread_id } = await registerRuns(replies);
    expect(receiver.received.length).toBeGreaterThanOrEqual(replies.length);
    for (const { headers } of receiver.received) {
      expect(headers.authorization).toBe(`Bearer ${CANARY}`);
    }
    await readJson(
      await app.ask("PUT", `${PATH}/${connection.id}/secret`, { body: { secret: `${CANARY}_2` } }),
    );
    const texts = [JSON.stringify(await tryOut())];
    const paths = [
      PATH,
      `${PATH}/${connection.id}`,
      "/v1/tools",
      "/v1/tools/send",
      `/v1/runs/${id}`,
    ];
    paths.push(
      `/v1/runs/${id}/steps`,
      `/v1/runs/${id}/events`,
      `/v1/threads/${thread_id}/messages`,
    );
    for (const path of paths) texts.push(await (await app.get(path)).text());
    texts.push(...app.lines.map((line) => JSON.stringify(line)), ...readFiles());
    for (const form of ["canary", btoa(CANARY), Buffer.from(CANARY).toString("hex")]) {
      // None of them is shown: each may be megabytes.
      expect([form, texts.findIndex((text) => text.includes(form))]).toEqual([form, -1]);
    }
    // The searched texts include the stored one.
    expect(texts.some((text) => text.includes("[secret]"))).toBe(true);
  });

  /** A run of two calls for each of these replies; what the last of them was. */
  async function registerRuns(replies: readonly ((secret: string) => Response)[]) {
    let last = { id: "", thread_id: "" };
    for (const reply of replies) {
      answer = reply;
      last = await run(2);
    }
    return last;
  }

  test("agents.resources.tool a call is signed with the connection's secret, and carries nothing of another call", async () => {
    await registerSender();
    const { steps } = await run(2);
    const calls = steps.filter(({ kind }) => kind === "tool_call").map(({ data }) => data);
    const ids = new Set(calls.map(({ tool_call_id }) => tool_call_id));
    expect(receiver.received.map(({ headers }) => headers["idempotency-key"]).toSorted()).toEqual(
      [...ids].toSorted(),
    );
    const peer = new Webhook(new TextEncoder().encode(CANARY), { format: "raw" });
    for (const { headers, body } of receiver.received) {
      expect(headers["webhook-id"]).toBe(headers["idempotency-key"]!);
      const signature = peer.sign(
        headers["webhook-id"]!,
        new Date(Number(headers["webhook-timestamp"]) * 1_000),
        body,
      );
      expect(headers["webhook-signature"]).toBe(signature);
    }
  });
});

test("agents.does.connection changed secrets and hosts apply from the next call", async () => {
  const { id } = await registerSender();
  expect((await tryOut()).outcome).toBe("ok");
  await readJson(await app.ask("PUT", `${PATH}/${id}/secret`, { body: { secret: "another" } }));
  expect((await tryOut()).outcome).toBe("ok");
  expect(receiver.received.map(({ headers }) => headers.authorization)).toEqual([
    `Bearer ${CANARY}`,
    "Bearer another",
  ]);
  const body = { secret: "another", allowed_hosts: ["api.example.com"] };
  await readJson(await app.ask("PUT", `${PATH}/${id}/secret`, { body }));
  expect(await tryOut()).toMatchObject({
    outcome: "error",
    content: "Nothing was sent: Its connection is not for the endpoint's host.",
    external: false,
  });
  expect(receiver.received).toHaveLength(2);
  const { last_used_at } = await readJson(await app.get(`${PATH}/${id}`));
  expect(last_used_at).toBe(new Date(app.clock.now()).toISOString());
});

test("agents.errors.connections_unavailable without its key no secret is stored or sent, and everything else works", async () => {
  const { id } = await registerSender();
  rmSync(join(directory, "secrets.key"));
  await app.clock.advance(1_000);
  const body = { name: "Another", kind: "bearer", secret: CANARY };
  await expectRefusal(await app.post(PATH, body), 503, "connections_unavailable");
  const { secret } = body;
  await expectRefusal(
    await app.ask("PUT", `${PATH}/${id}/secret`, { body: { secret } }),
    ...([503, "connections_unavailable"] as const),
  );
  // An invalid or missing object is still reported.
  await expectRefusal(
    await app.post(PATH, { ...body, secret: "a b" }),
    ...([400, "invalid_request", "secret"] as const),
  );
  expect(await tryOut()).toMatchObject({
    outcome: "error",
    content: "Nothing was sent: The secrets of connections cannot be read now.",
  });
  expect(receiver.received).toEqual([]);
  expect((await readJson(await app.get(PATH))).data).toHaveLength(1);
  await readJson(await app.ask("PATCH", `${PATH}/${id}`, { body: { name: "Renamed" } }));
  await register(app, { name: "free" });
  await readJson(await app.post("/v1/tools/send/disable", undefined));
  expect((await app.ask("DELETE", `${PATH}/${id}`)).status).toBe(204);
});
