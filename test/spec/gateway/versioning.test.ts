// Spec 000, "Versioning": unknown model ids on both sides of every date, and what never changes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AskOptions, KEY, startApp, type TestApp } from "../../support/app.ts";
import { createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

const CHANGELOG = "https://acme.example/changelog";
const SETTINGS = `
[service]
changelog_url = "${CHANGELOG}"
`;
const ANNOUNCED_MS = Date.UTC(2026, 10, 26);
const SUNSET_MS = Date.UTC(2027, 0, 4);

const HEADERS = {
  deprecation: "@1790467200",
  link: `<${CHANGELOG}>; rel="deprecation"; type="text/html"`,
};
const SUNSET = { ...HEADERS, sunset: "Mon, 04 Jan 2027 00:00:00 GMT" };

/** The deprecation headers of a reply. */
const pick = ({ headers }: Response) =>
  Object.fromEntries(
    [...headers].filter(([name]) => ["deprecation", "link", "sunset"].includes(name)),
  );
const askUnknown = (app: TestApp, fields: object = {}, options?: AskOptions, content = "Hello") =>
  app.chat(content, { model: "unheard-of", ...fields }, options);

test("gateway.versioning.1 the version is in the path, and no other is served", async () => {
  const app = await startApp();
  expect((await app.get("/v1/models")).status).toBe(200);
  for (const version of ["v0", "v2", "V1", "v1.0", ""]) {
    expect([version, (await app.get(`/${version}/models`)).status]).toEqual([version, 404]);
  }
  await app.stop();
});

test("gateway.errors.headers.deprecation is 27 September 2026, in seconds", () => {
  expect(Number(HEADERS.deprecation.slice(1)) * 1_000).toBe(Date.UTC(2026, 8, 27));
});

describe("gateway.versioning.3 before the sunset is announced", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ settings: SETTINGS, start_ms: ANNOUNCED_MS - 1 });
  });
  afterAll(() => app.stop());

  test("gateway.versioning.3 gateway.errors.headers.deprecation gateway.errors.headers.link an unknown id is answered by the default model and marked as deprecated", async () => {
    const reply = await askUnknown(app);
    expect([reply.status, pick(reply)]).toEqual([201, HEADERS]);
    expect(await reply.json()).toMatchObject({ model: "svc" });
    const stream = await askUnknown(app, { stream: true });
    expect([stream.status, pick(stream)]).toEqual([201, HEADERS]);
    await stream.text();
  });

  test("gateway.versioning.3 the alias, a listed id and no model are not marked", async () => {
    for (const model of ["svc", "svc-v0", "stub-1", undefined]) {
      const reply = await app.chat("Hello", { model });
      expect([model, reply.status, pick(reply)]).toEqual([model, 201, {}]);
    }
  });

  test("gateway.errors.headers.sunset is the exact time of 26 November 2026", async () => {
    expect(pick(await askUnknown(app))).toEqual(HEADERS);
    await app.clock.advance(1);
    expect(pick(await askUnknown(app))).toEqual(SUNSET);
  });
});

describe("gateway.versioning.3 once the sunset is announced", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ settings: SETTINGS, start_ms: SUNSET_MS - 86_400_000 });
  });
  afterAll(() => app.stop());

  test("gateway.errors.headers.deprecation gateway.errors.headers.sunset errors after the checks of key and fields are marked", async () => {
    const none = { key: `${KEY}-none` };
    const narrow = { key: await createKey(app, { models: [] }) };
    const replies: [status: number, reply: Response][] = [
      [403, await askUnknown(app, { think: true }, none)],
      [403, await askUnknown(app, { reasoning: true }, none)],
      [403, await askUnknown(app, {}, narrow)],
      [429, await askUnknown(app, {}, {}, "!error capacity_exceeded")],
      [500, await askUnknown(app, {}, {}, "!error internal_error")],
      [400, await askUnknown(app, {}, {}, "!error context_length_exceeded")],
      [429, await askUnknown(app, {}, {}, "!error upstream_rate_limited")],
      [502, await askUnknown(app, {}, {}, "!error upstream_error")],
      [503, await askUnknown(app, {}, {}, "!error model_offline")],
      [504, await askUnknown(app, { stream: true }, {}, "!error upstream_timeout")],
    ];
    for (const [status, reply] of replies)
      expect([reply.status, pick(reply)]).toEqual([status, SUNSET]);
  });

  test("gateway.errors.headers.deprecation 401, a 403 of the key's kind, 413, an invalid field and the rate limit are not marked", async () => {
    const large = { model: "unheard-of", messages: [], x: "x".repeat(300_000) };
    const replies: [status: number, reply: Response][] = [
      [401, await askUnknown(app, {}, { key: null })],
      [401, await askUnknown(app, {}, { key: `${KEY}-expired` })],
      [403, await askUnknown(app, {}, { key: `${KEY}-internal` })],
      [403, await askUnknown(app, {}, { headers: { "x-svc-internal": "1" } })],
      [413, await app.post("/v1/chat/completions", large)],
      [400, await app.post("/v1/chat/completions", '{"model": "unheard-of"')],
      [400, await askUnknown(app, { temperature: 9 })],
      [400, await askUnknown(app, { messages: [] })],
      [400, await askUnknown(app, { stream_options: {} })],
    ];
    const key = `${KEY}-other`;
    for (let i = 0; i < 120; i++) await askUnknown(app, { messages: [] }, { key });
    replies.push([429, await askUnknown(app, {}, { key })]);
    for (const [status, reply] of replies)
      expect([reply.status, pick(reply)]).toEqual([status, {}]);
  });

  test("gateway.versioning.3 at 00:00 UTC of 4 January 2027 an unknown id is not found, and no longer marked", async () => {
    await app.clock.advance(86_400_000 - 1);
    const before = await askUnknown(app);
    expect([before.status, pick(before)]).toEqual([201, SUNSET]);
    await app.clock.advance(1);
    const after = await askUnknown(app);
    expect(pick(after)).toEqual({});
    expect(await readRefusal(after)).toEqual([404, "model_not_found", "model"]);
    // As a stream, too.
    expect((await askUnknown(app, { stream: true })).status).toBe(404);
    for (const model of ["svc", "svc-v0", "stub-1", undefined]) {
      expect([model, (await app.chat("Hello", { model })).status]).toEqual([model, 201]);
    }
  });
});

/** A model that no key sees, and one that these keys may not see. */
const HIDDEN = ["internal", "private"].map(
  (visibility) => `
[[models]]
id = "${visibility}-1"
self_hosted = true
visibility = "${visibility}"
[models.upstream]
kind = "stub"
`,
);
const STUB = `
[[models]]
id = "stub-1"
self_hosted = true
[models.upstream]
kind = "stub"
`;

test("gateway.versioning.3 from the sunset on the 404 equals that of a hidden model byte for byte", async () => {
  const settings = [SETTINGS, STUB, ...HIDDEN].join("");
  const app = await startApp({ settings, start_ms: SUNSET_MS - 1, listens: true });
  const read = async (model: string, fields: object) => {
    const sent = { headers: { "x-request-id": "same" } };
    const reply = await app.chat("Hello", { model, ...fields }, sent);
    const headers = [...reply.headers].filter(([name]) => name !== "date");
    return { status: reply.status, headers, body: await reply.text() };
  };
  for (const fields of [{}, { stream: true }]) {
    // Until then only a hidden model is not found.
    expect((await read("unheard-of", fields)).status).toBe(201);
    expect((await read("internal-1", fields)).status).toBe(404);
  }
  await app.clock.advance(1);
  for (const fields of [{}, { stream: true }, { tools: [] }, { think: true }]) {
    const unknown = await read("unheard-of", fields);
    expect(unknown.status).toBe(404);
    for (const hidden of ["internal-1", "private-1"]) {
      expect(await read(hidden, fields)).toEqual(unknown);
    }
  }
  await app.stop();
});

test("gateway.versioning.3 after the sunset no reply is marked", async () => {
  const app = await startApp({ settings: SETTINGS, start_ms: SUNSET_MS });
  const replies: [status: number, reply: Response][] = [
    [404, await askUnknown(app)],
    [404, await askUnknown(app, { think: true }, { key: `${KEY}-none` })],
    [404, await askUnknown(app, {}, {}, "!error upstream_error")],
    [400, await askUnknown(app, { temperature: 9 })],
    [401, await askUnknown(app, {}, { key: null })],
    [502, await app.chat("!error upstream_error")],
  ];
  for (const [status, reply] of replies) expect([reply.status, pick(reply)]).toEqual([status, {}]);
  await app.stop();
});

test("gateway.errors.headers.link points to our own page if the operator sets none", async () => {
  const app = await startApp({ settings: '[server]\npublic_url = "https://acme.example/"' });
  const { link } = pick(await askUnknown(app));
  expect(link).toBe('<https://acme.example/docs/changes>; rel="deprecation"; type="text/html"');
  const page = await app.get("/docs/changes", { key: null });
  expect([page.status, page.headers.get("content-type")]).toEqual([
    200,
    "text/html; charset=utf-8",
  ]);
  expect(await page.text()).toContain("4 January 2027");
  await app.stop();
});

test("gateway.versioning.4 listed fields are validated, unlisted ones are ignored", async () => {
  const app = await startApp();
  const unlisted = {
    reasoning_effort: "high",
    n: 5,
    store: true,
    metadata: { a: 1 },
    logprobs: "x",
  };
  expect((await app.chat("Hello", unlisted)).status).toBe(201);
  const listed = { temperature: "x", top_p: "x", max_tokens: "x", seed: "x", stop: 5, user: 5 };
  for (const [name, value] of Object.entries(listed)) {
    const refusal = await readRefusal(await app.chat("Hello", { [name]: value }));
    expect(refusal).toEqual([400, "invalid_request", name]);
  }
  await app.stop();
});
