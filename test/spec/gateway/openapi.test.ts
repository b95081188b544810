// The OpenAPI document: valid, complete, described to the last field, and consistent with the
// replies.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import {
  type Document,
  findBreach,
  followRef,
  isGateway,
  type Operation,
  readDocument,
  type Schema,
} from "./document.ts";

let app: TestApp;
let document: Document;
beforeAll(async () => {
  app = await startApp();
  document = await readDocument(app);
});
afterAll(() => app.stop());

const listOperations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

const listOfGateway = () => listOperations().filter(({ path }) => isGateway(path));

/** Every schema within one, itself included, with its path. */
function listSchemas(schema: Schema, place: string): [place: string, schema: Schema][] {
  const inner = [
    ...Object.entries(schema.properties ?? {}).map(([name, one]) => [`.${name}`, one] as const),
    ...(schema.anyOf ?? []).map((one, i) => [`|${i}`, one] as const),
    ...(schema.items ? [["[]", schema.items] as const] : []),
    ...(typeof schema.additionalProperties === "object"
      ? [["{}", schema.additionalProperties] as const]
      : []),
  ];
  return [[place, schema], ...inner.flatMap(([name, one]) => listSchemas(one, place + name))];
}
const listAll = () =>
  Object.entries(document.components.schemas).flatMap(([name, one]) => listSchemas(one, name));

const follow = (ref: string) => followRef(document, ref);

/** A field is described by itself, by its reference, or by each non-null variant. */
function isDescribed({ description, $ref, anyOf }: Schema): boolean {
  if (description) return true;
  if ($ref) return Boolean((follow($ref) as Schema | undefined)?.description);
  return anyOf?.filter(({ type }) => type !== "null").every(isDescribed) ?? false;
}

test("it is a valid document of OpenAPI 3.1.0", async () => {
  expect(document.openapi).toBe("3.1.0");
  const { valid, errors } = await new Validator().validate({ ...document });
  expect([valid, errors]).toEqual([true, undefined]);
});

test("it is served as plain JSON without a key", async () => {
  const reply = await app.get("/openapi.json", { key: null });
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json"]);
});

test("it lists each route of the gateway once, and no documentation pages", () => {
  const routes = listOfGateway().map(({ method, path }) => `${method} ${path}`);
  expect(routes.toSorted()).toEqual([
    "get /v1/models",
    "get /v1/models/{id}",
    "get /v1/usage",
    "post /v1/chat/completions",
    "post /v1/embeddings",
    "post /v1/messages",
    "post /v1/messages/count_tokens",
    "post /v1/responses",
    "post /v1/search",
  ]);
});

test("every route has a summary, a unique id and replies with a request id", () => {
  const ids = new Set<string>();
  for (const { operation } of listOperations()) {
    expect(operation.summary).toMatch(/^[A-Z].{5,}/);
    ids.add(operation.operationId ?? "");
    for (const reply of Object.values(operation.responses)) {
      expect(reply.description).not.toBe("");
      expect(reply.headers).toHaveProperty("x-request-id");
    }
  }
  expect(ids.size).toBe(listOperations().length);
  expect(ids.has("")).toBe(false);
});

test("an operation name has a verb and a noun, and one tag, which is described", async () => {
  const { tags } = (await (await app.get("/openapi.json", { key: null })).json()) as {
    tags: { name: string; description: string }[];
  };
  const groups = new Set<string>();
  for (const { path, operation } of listOperations()) {
    const [group, ...others] = operation.tags ?? [];
    groups.add(group!);
    const named = [path, operation.operationId, others];
    expect(named).toEqual([path, expect.stringMatching(/^[a-z]+([A-Z][a-z]+)+$/), []]);
  }
  expect([...groups].toSorted()).toEqual(tags.map(({ name }) => name).toSorted());
  for (const { description } of tags) expect(description).toMatch(/^[A-Z].+\.$/);
});

test("a choice of words is an `enum`, and variants have a discriminator", () => {
  const text = JSON.stringify(document);
  // Several constants are not written as alternatives.
  expect(text).not.toMatch(/"anyOf":\[\{"const"/);
  expect(document.components.schemas.Run!.properties!.status).toMatchObject({
    type: "string",
    enum: expect.arrayContaining(["queued", "succeeded"]),
  });
  for (const name of ["RunStep", "RunEvent"]) {
    const { oneOf, discriminator } = document.components.schemas[name]!;
    const { propertyName, mapping } = discriminator!;
    expect(Object.values(mapping)).toEqual(oneOf!.map(({ $ref }) => $ref!));
    for (const [word, $ref] of Object.entries(mapping)) {
      const variant = follow($ref) as Schema;
      expect([$ref, variant.properties![propertyName]!.const]).toEqual([$ref, word]);
      expect(variant.required).toContain(propertyName);
    }
  }
});

test("gateway.resources.message.role each kind of message and part is a named schema", () => {
  const { ChatMessage } = document.components.schemas;
  const names = ChatMessage!.anyOf!.map(({ $ref }) => $ref?.split("/").at(-1));
  expect(names).toEqual([
    ...["ChatSystemMessage", "ChatUserMessage", "ChatToolCallsMessage"],
    ...["ChatAssistantMessage", "ChatToolMessage"],
  ]);
  const user = JSON.stringify(document.components.schemas.ChatUserMessage);
  for (const part of ["ChatTextPart", "ChatImagePart"]) expect(user).toContain(`/${part}"`);
});

test("gateway.errors.headers.x_request_id a request id may be any text", () => {
  expect(document.components.parameters["x-request-id"]!.schema).toEqual({ type: "string" });
});

test("identical error responses appear in the document once", async () => {
  const raw = await readDocument(app, false);
  const names = Object.keys(raw.components.responses);
  expect(names).toContain("AgentError401");
  for (const name of names) {
    const count = JSON.stringify(raw.paths).split(`"#/components/responses/${name}"`).length - 1;
    expect([name, count > 1]).toEqual([name, true]);
  }
  expect(JSON.stringify(raw).length).toBeLessThan(JSON.stringify(document).length * 0.85);
});

const isSigned = ({ security }: Operation) => security?.length === 0;

test("every route documents the common errors, and only routes with a body those of bodies", () => {
  for (const { path, operation } of listOperations()) {
    const statuses = Object.keys(operation.responses);
    // A signed request cannot lack a scope.
    const refused = isSigned(operation) ? ["401", "429", "500"] : ["401", "403", "429", "500"];
    expect(statuses).toEqual(expect.arrayContaining(refused));
    // agents.errors.p9: there, a query is refused as well.
    const has_invalid = Boolean(operation.requestBody) || !isGateway(path);
    expect(statuses.includes("400")).toBe(has_invalid);
    expect(statuses.includes("413")).toBe(Boolean(operation.requestBody));
    expect(statuses).not.toContain("422");
  }
});

test("gateway.errors.p4 every error code of a chat is in the document", () => {
  const { responses } = document.paths["/v1/chat/completions"]!.post!;
  const text = Object.values(responses)
    .map(({ description }) => description)
    .join("\n");
  const codes = [
    "invalid_request",
    "context_length_exceeded",
    "missing_api_key",
    "invalid_api_key",
  ];
  const more = ["permission_denied", "scope_required", "model_not_permitted", "model_not_found"];
  const limits = ["request_too_large", "rate_limit_exceeded", "upstream_rate_limited"];
  const ours = ["internal_error", "upstream_error", "model_unavailable", "model_offline"];
  const last = ["no_model_available", "upstream_timeout"];
  for (const code of [...codes, ...more, ...limits, ...ours, ...last]) {
    expect(text).toContain(`\`${code}\``);
  }
});

test("gateway.errors.headers.x_should_retry gateway.errors.headers.retry_after the document says which replies have them", () => {
  const { responses } = document.paths["/v1/embeddings"]!.post!;
  const statusesWith = (name: string) =>
    Object.keys(responses).filter((status) => name in responses[status]!.headers);
  // Budgets refuse with 403 and 429.
  expect(statusesWith("x-should-retry")).toEqual(["403", "429", "502", "504"]);
  expect(statusesWith("retry-after")).toEqual(["429", "503"]);
  expect(responses["429"]!.description).toContain("`capacity_exceeded`");
});

test("gateway.authentication.4 a route that needs a scope documents it", () => {
  for (const { path, operation } of listOfGateway()) {
    const [, scope = null] = operation.description?.match(/Needs the scope `(\w+)`\./) ?? [];
    const needed = /^\/v1\/(embeddings|search)$/.exec(path)?.[1] ?? null;
    expect([path, scope]).toEqual([path, needed]);
  }
});

test("the errors of the servers of embeddings and search are in the document", async () => {
  const chat = document.paths["/v1/chat/completions"]!.post!;
  for (const [path, who] of [
    ["/v1/embeddings", "embedding server"],
    ["/v1/search", "search engine"],
  ]) {
    const { responses } = document.paths[path!]!.post!;
    for (const status of ["502", "503", "504"]) {
      expect(responses[status]!.description).toContain(`: The ${who} `);
      expect(chat.responses[status]!.description).not.toContain(who!);
    }
  }
});

test("every reference resolves, and every schema is referenced", () => {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!);
  expect(refs.length).toBeGreaterThan(10);
  for (const ref of refs) expect([ref, typeof follow(ref)]).toEqual([ref, "object"]);
  for (const name of Object.keys(document.components.schemas)) {
    expect(refs).toContain(`#/components/schemas/${name}`);
  }
});

test("every field of every schema is described", () => {
  const silent = listAll().flatMap(([place, { properties = {} }]) =>
    Object.entries(properties)
      .filter(([, field]) => !isDescribed(field))
      .map(([name]) => `${place}.${name}`),
  );
  expect(silent).toEqual([]);
});

test("schemas contain no internal markers, and only bodies of the agents API forbid extra fields", () => {
  expect(JSON.stringify(document.components.schemas)).not.toMatch(/"(\$id|form)":/);
  const strict = listAll().filter(([, schema]) => schema.additionalProperties === false);
  const names = new Set(strict.map(([place]) => place.split(/[.|[{]/)[0]!));
  // A hook accepts any body of its sender, and /mcp tells faults in the form of its protocol.
  const listed = listOperations().filter(
    ({ path, operation }) => !isSigned(operation) && path !== "/mcp",
  );
  const sent = listed.flatMap(({ path, operation: { requestBody } }) =>
    !isGateway(path) && requestBody
      ? [requestBody.content["application/json"]!.schema.$ref!.split("/").at(-1)!]
      : [],
  );
  expect([...names].toSorted()).toEqual([...new Set(sent)].toSorted());
});

test("`required` names existing fields, and in replies exactly the non-nullable ones", () => {
  for (const [place, { properties = {}, required = [] }] of listAll()) {
    for (const name of required) expect([place, name in properties]).toEqual([place, true]);
  }
  const { properties, required } = document.components.schemas.Model!;
  const never_null = Object.entries(properties!)
    .filter(([, { anyOf }]) => !anyOf?.some(({ type }) => type === "null"))
    .map(([name]) => name);
  expect(required).toEqual(never_null);
  expect(required).not.toContain("context_window");
  expect(required).not.toContain("upstream_revision");
});

describe("replies match the document", () => {
  const check = (path: string, method: string, status: number, value: unknown, type: string) => {
    const reply = document.paths[path]?.[method]?.responses[status];
    expect([path, status, reply === undefined]).toEqual([path, status, false]);
    return findBreach(document, reply!.content[type]!.schema, value);
  };
  const JSON_TYPE = "application/json";
  const HTTP_HEADERS = ["content-type", "content-length", "date"];

  test("the model list", async () => {
    const list = await (await app.get("/v1/models")).json();
    expect(check("/v1/models", "get", 200, list, JSON_TYPE)).toEqual([]);
    // The check detects faults.
    expect(check("/v1/models", "get", 200, { object: "x", data: [{}] }, JSON_TYPE)).toContain(
      ".object",
    );
  });

  test("chat replies, with text and with calls", async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: {} } }];
    for (const content of ["Hello", '!tool look {"at":1}']) {
      const reply = await (await app.chat(content, { tools })).json();
      expect(check("/v1/chat/completions", "post", 201, reply, JSON_TYPE)).toEqual([]);
    }
  });

  test("every chunk of a stream", async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: {} } }];
    const fields = { tools, stream: true, stream_options: { include_usage: true } };
    for (const content of ["Hello", '!tool look {"at":1}']) {
      const text = await (await app.chat(content, fields)).text();
      const chunks = text.match(/^data: \{.*$/gm)!.map((line) => JSON.parse(line.slice(6)));
      expect(chunks.length).toBeGreaterThan(2);
      for (const chunk of chunks) {
        const type = "text/event-stream";
        expect(check("/v1/chat/completions", "post", 201, chunk, type)).toEqual([]);
      }
    }
  });

  test("vectors, as numbers and as text", async () => {
    for (const encoding_format of ["float", "base64"]) {
      const fields = { input: ["Hello", "there"], encoding_format };
      const list = await (await app.post("/v1/embeddings", fields)).json();
      expect(check("/v1/embeddings", "post", 200, list, JSON_TYPE)).toEqual([]);
    }
  });

  test("limits and their use", async () => {
    const { access } = app.app;
    const { id } = (await access.accounts.find("dev"))!;
    await access.accounts.limit(id, { tokens_day: 1_000_000, cost_month: 1_000_000_000 });
    const usage = await (await app.get("/v1/usage")).json();
    expect(usage).toMatchObject({ account: { limits: [{}, {}] } });
    expect(check("/v1/usage", "get", 200, usage, JSON_TYPE)).toEqual([]);
    await access.accounts.limit(id, { tokens_day: null, cost_month: null });
  });

  test("search results", async () => {
    const reply = await (await app.post("/v1/search", { query: "What is Wadi?" })).json();
    expect((reply as { data: unknown[] }).data.length).toBeGreaterThan(0);
    expect(check("/v1/search", "post", 200, reply, JSON_TYPE)).toEqual([]);
  });

  test("gateway.errors.headers.deprecation every reply header that HTTP itself does not define", async () => {
    const replies: [path: string, Response][] = [
      ["/v1/chat/completions", await app.chat("Hello", { model: "unknown" })],
      ["/v1/chat/completions", await app.chat("!error upstream_error", { model: "unknown" })],
      ["/v1/embeddings", await app.post("/v1/embeddings", { input: "Hello" })],
      ["/v1/search", await app.post("/v1/search", { query: "Hello" })],
    ];
    for (const [path, { status, headers }] of replies) {
      const documented = Object.keys(document.paths[path]!.post!.responses[status]!.headers);
      const sent = [...headers.keys()].filter((name) => !HTTP_HEADERS.includes(name));
      const silent = sent.filter((name) => !documented.includes(name));
      expect([path, status, silent]).toEqual([path, status, []]);
      expect(sent).toContain("x-request-id");
    }
  });

  test("errors", async () => {
    const replies = [
      await app.post("/v1/chat/completions", {}),
      await app.post("/v1/chat/completions", {}, { key: null }),
      await app.chat("Hello", { think: true }, { key: `${KEY}-none` }),
      await app.post("/v1/chat/completions", "x".repeat(300_000)),
      await app.chat("!error upstream_error"),
      await app.chat("!error model_offline"),
    ];
    expect(replies.map(({ status }) => status)).toEqual([400, 401, 403, 413, 502, 503]);
    for (const reply of replies) {
      const path = "/v1/chat/completions";
      expect(check(path, "post", reply.status, await reply.json(), JSON_TYPE)).toEqual([]);
    }
  });
});
