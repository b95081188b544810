// Runs that are asked about images, through the API: what is accepted, shown and refused.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readQuestion } from "../../../src/agents/runs/question.ts";
import { runStore } from "../../../src/agents/runs/store/index.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { startRun } from "./population.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, type Json, readJson } from "./service.ts";

const SETTINGS = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
[egress]
allow = ["127.0.0.1:*"]
[[models]]
id = "seeing"
self_hosted = true
capabilities = ["vision"]
upstream = { kind = "stub" }
[[models]]
id = "blind"
self_hosted = true
upstream = { kind = "stub" }
`;
const BYTES = Buffer.from("89504e470d0a1a0a0000000d494844520badcafe", "hex");
const BASE64 = BYTES.toString("base64");
const DATA = `data:image/png;base64,${BASE64}`;
const SHORT = "data:image/png;base64,…";
const text = (words: string) => ({ type: "text", text: words });
const image = (url: string, more: object = {}) => ({
  type: "image_url",
  image_url: { url, ...more },
});

let app: TestApp;
let agent: Json;
let server: Bun.Server<undefined>;
let served = 0;
beforeAll(async () => {
  app = await startApp({ settings: SETTINGS, listens: true });
  agent = await createAgent(app, { model: "seeing" });
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }) {
      served++;
      return url.endsWith("/sign.png") ? new Response(BYTES) : new Response("no", { status: 404 });
    },
  });
});
afterAll(async () => {
  await server.stop(true);
  await app.stop();
});

const ask = (content: unknown, more: object = {}, of = agent) =>
  app.post(`/v1/agents/${of.id}/runs`, { input: { content }, ...more });

/** The run at its end. */
async function runOnce(content: unknown): Promise<Json> {
  const { id } = await startRun(app, agent.id, { input: { content } });
  await (await app.get(`/v1/runs/${id}/events`)).text();
  return readJson(await app.get(`/v1/runs/${id}`));
}

test("a rerun is asked about the stored images, which are not fetched again; another message has none", async () => {
  const url = `http://127.0.0.1:${server.port}/sign.png`;
  const run = await runOnce([text("Compare"), image(DATA), image(url)]);
  served = 0;
  const rerun = async (body: object) => {
    const { id } = await readJson(await app.post(`/v1/runs/${run.id}/rerun`, body), 202);
    await (await app.get(`/v1/runs/${id}/events`)).text();
    return readJson(await app.get(`/v1/runs/${id}`));
  };
  const repeated = await rerun({});
  expect(repeated).toMatchObject({ status: "succeeded", input: run.input, external_content: true });
  const runs = app.app.database.bind(runStore);
  expect(await runs.listImages(repeated.id)).toEqual(await runs.listImages(run.id));
  expect(await runs.listImages(run.id)).toHaveLength(2);
  expect((await rerun({ input: { message: "Hello" } })).input).toEqual({ message: "Hello" });
  expect(served).toBe(0);
});

test("a run is asked about texts and images; run and thread show them without the bytes", async () => {
  const url = `http://127.0.0.1:${server.port}/sign.png`;
  served = 0;
  const run = await runOnce([
    text("Compare"),
    image(DATA, { detail: "low" }),
    text("with"),
    image(url),
  ]);
  expect(run).toMatchObject({ status: "succeeded", external_content: true });
  expect(run.output.message).toBe("You said: Compare\nwith (images: 2)");
  expect(served).toBe(1);
  const content = [text("Compare"), image(SHORT, { detail: "low" }), text("with"), image(url)];
  expect(run.input).toEqual({ message: "Compare\nwith", content });
  const page = await app.get(`/v1/threads/${run.thread_id}/messages`);
  expect(await page.clone().text()).not.toContain(BASE64.slice(0, 16));
  const { data } = await readJson(page);
  expect(data.map(({ role, content, parts }: Json) => ({ role, content, parts }))).toEqual([
    { role: "user", content: "Compare\nwith", parts: content },
    { role: "assistant", content: run.output.message, parts: null },
  ]);
  const steps = await app.get(`/v1/runs/${run.id}/steps`);
  expect(await steps.text()).not.toContain(BASE64.slice(0, 16));
});

test("a round shows words in place of an image, as the document says", async () => {
  const { id } = await runOnce([text("Look:"), image(DATA)]);
  const reply = await app.get(`/v1/runs/${id}/rounds/1`);
  expect(await reply.clone().text()).not.toContain(BASE64.slice(0, 16));
  const { messages, is_exact } = await readJson(reply);
  const { content } = messages.find(({ role }: Json) => role === "user");
  expect([content, is_exact]).toEqual(["Look:\n[An image.]", true]);
  const { schemas } = (await readJson(await app.get("/openapi.json"))).components;
  expect(schemas.RoundMessage.properties.content.description).toContain("`[An image.]` stands for");
  expect(schemas.RoundDetail.properties.is_exact.description).toContain("images are not compared");
});

test("an image that the caller sends itself is no content from outside, and needs no text", async () => {
  const run = await runOnce([image(DATA)]);
  expect(run).toMatchObject({ status: "succeeded", external_content: false });
  expect(run.input).toEqual({ message: "", content: [image(SHORT)] });
  expect(run.output.message).toContain("(images: 1)");
});

test("texts alone are a message, for any model", async () => {
  const blind = await createAgent(app, { model: "blind" });
  const run = await readJson(await ask([text("One"), text("two")], {}, blind), 202);
  expect(run.input).toEqual({ message: "One\ntwo" });
});

test("an address that has no image ends the run with `image_unavailable`", async () => {
  const run = await runOnce([text("Look"), image(`http://127.0.0.1:${server.port}/none`)]);
  expect(run).toMatchObject({ status: "failed", error: { code: "image_unavailable" } });
  expect(run.error.message).toContain("`input.content.1`");
});

test("a start with images is safe to send again", async () => {
  const headers = { "idempotency-key": "once" };
  const body = { input: { content: [image(DATA)] } };
  const send = async () =>
    readJson(await app.post(`/v1/agents/${agent.id}/runs`, body, { headers }), 202);
  expect((await send()).id).toBe((await send()).id);
});

test("8 images and 100,000 characters in 32 parts are accepted", () => {
  const read = (content: unknown[]) =>
    readQuestion({ content } as never, () => ({ ok: true, url: new URL("https://a.com") }));
  expect(read(Array(8).fill(image(DATA))).images).toHaveLength(8);
  for (const sign of ["ä", "😀"]) {
    const halves = [text(sign.repeat(50_000)), text(sign.repeat(49_999))];
    for (const parts of [halves, [text(sign.repeat(100_000))]]) {
      expect([...read(parts).message]).toHaveLength(100_000);
    }
  }
});

describe("agents.errors.invalid_request a start is refused by its field", () => {
  test("where the model cannot see images", async () => {
    const blind = await createAgent(app, { model: "blind" });
    const refused = await ask([text("Look"), image(DATA)], {}, blind);
    await expectRefusal(refused, 400, "invalid_request", "input.content.1");
  });

  const at = (place: number) => `input.content.${place}.image_url.url`;
  test.each<[string, unknown, string | undefined, string]>([
    ["no parts", [], undefined, "input.content"],
    ["33 parts", Array(33).fill(text("a")), undefined, "input.content"],
    ["an empty text alone", [text("")], "invalid_request", "input.content"],
    ["9 images", Array(9).fill(image(DATA)), "invalid_request", "input.content"],
    ["an unknown part", [{ type: "audio" }], undefined, "input.content.0.type"],
    ["an unknown field", [{ ...text("a"), more: 1 }], undefined, "input.content.0.more"],
    ["a text with a NUL", [text("a\0")], "invalid_request", "input.content.0.text"],
    [
      "too long a text",
      Array(2).fill(text("ä".repeat(50_000))),
      "invalid_request",
      "input.content",
    ],
    ["no base64", [image("data:image/png;base64,%%%")], "invalid_request", at(0)],
    ["half of a byte", [image(`${DATA}AA`)], "invalid_request", at(0)],
    [
      "another type",
      [image(`data:image/png;base64,${btoa("<svg></svg>")}`)],
      "invalid_request",
      at(0),
    ],
    ["another scheme", [text("a"), image("ftp://images.example.org/a")], "url_refused", at(1)],
    ["a private address", [image("https://10.0.0.1/a.png")], "url_refused", at(0)],
    ["a local name", [image("https://images.local/a.png")], "url_refused", at(0)],
  ])("%s", async (_, content, code, param) => {
    await expectRefusal(await ask(content), 400, code, param);
  });

  test.each<[string, unknown, string]>([
    ["nothing", {}, "input.message"],
    ["both", { message: "Hi", content: [text("a")] }, "input.content"],
    ["another field", { text: "Hi" }, "input.message"],
    ["a message that is no text", { message: 1 }, "input.message"],
    ["a list", [], "input"],
  ])("an input with %s", async (_, input, param) => {
    const refused = await app.post(`/v1/agents/${agent.id}/runs`, { input });
    await expectRefusal(refused, 400, undefined, param);
  });

  test("an input with both is told that only one of them may be sent", async () => {
    const input = { content: [text("a")], message: "Hi" };
    const reply = await app.post(`/v1/agents/${agent.id}/runs`, { input });
    const { error } = await readJson(reply, 400);
    expect(error.message).toBe(
      "`input.content` cannot be sent beside `input.message`: send only one of them.",
    );
  });
});
