// Spec 000, "Authentication": which keys are admitted, to which routes, and the refusals of others.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sendRaw } from "../../http/raw-client.ts";
import { storeKey } from "../../support/access.ts";
import { type AskOptions, KEY, startApp, type TestApp } from "../../support/app.ts";
import { allow, createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

const model = (id: string, lines: string) => `
[[models]]
id = "${id}"
${lines}
upstream = { kind = "stub" }
`;
const SETTINGS = `
[limits]
requests_per_minute = 100000
[service]
default_model = "main"
${model("main", 'self_hosted = true\ncapabilities = ["reasoning", "streaming"]')}
${model("second", "self_hosted = true")}
${model("elsewhere", "self_hosted = false")}
${model("hidden", 'self_hosted = true\nvisibility = "private"')}
${model("hidden-elsewhere", 'self_hosted = false\nvisibility = "private"')}
${model("inner", 'self_hosted = true\nvisibility = "internal"')}
${model("deep", 'self_hosted = true\nthink = "required"')}
`;
/** The sunset of unknown ids is over. */
const AFTER_SUNSET_MS = Date.UTC(2027, 0, 5);

let app: TestApp;
let late: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: SETTINGS, listens: true });
  late = await startApp({ settings: SETTINGS, start_ms: AFTER_SUNSET_MS });
});
afterAll(async () => {
  await app.stop();
  await late.stop();
});

const refusalOf = async (options: AskOptions) => readRefusal(await app.get("/v1/models", options));
/** The refusal of a chat, or its status. */
const chat = async (key: string, fields: object = {}, at = app) => {
  const reply = await at.chat("Hello", fields, { key });
  return reply.ok ? [reply.status] : readRefusal(reply);
};

describe("gateway.authentication.1", () => {
  test("gateway.authentication.1 a key is sent as a bearer token with every request", async () => {
    for (const authorization of [`Bearer ${KEY}`, `bearer ${KEY}`, `BEARER   ${KEY}`]) {
      expect((await app.get("/v1/models", { headers: { authorization } })).status).toBe(200);
    }
  });

  test("gateway.authentication.1 a key in any other place is ignored", async () => {
    const headers = { "x-api-key": KEY, "api-key": KEY, cookie: `key=${KEY}` };
    const reply = await app.get(`/v1/models?api_key=${KEY}&key=${KEY}`, { key: null, headers });
    expect(await readRefusal(reply)).toEqual([401, "missing_api_key", null]);
  });
});

describe("gateway.authentication.2", () => {
  test("gateway.authentication.2 gateway.errors.missing_api_key no header, or one without a token", async () => {
    const says = [401, "missing_api_key", null];
    expect(await refusalOf({ key: null })).toEqual(says);
    const others = ["Bearer", "Bearer   ", KEY, `Basic ${KEY}`, `Token ${KEY}`, `Bearer${KEY}`];
    for (const authorization of others) {
      expect(await refusalOf({ headers: { authorization } })).toEqual(says);
    }
  });

  test("gateway.authentication.2 gateway.errors.invalid_api_key unknown, revoked and expired keys get identical bytes", async () => {
    const junk = ["x", `${KEY}x`, KEY.toUpperCase(), `"${KEY}"`, "x".repeat(5_000), "svc_sk_"];
    const keys = [...junk, `${KEY}-revoked`, `${KEY}-expired`, `svc_sk_${"0".repeat(49)}`];
    const bodies = new Set<string>();
    for (const key of keys) {
      const reply = await app.get("/v1/models", { key, headers: { "x-request-id": "same" } });
      bodies.add(await reply.clone().text());
      expect(await readRefusal(reply)).toEqual([401, "invalid_api_key", null]);
    }
    expect(bodies.size).toBe(1);
  });

  test("gateway.authentication.2 two Authorization headers are both ignored", async () => {
    const send = async (...lines: string[]) => {
      const head = ["GET /v1/models HTTP/1.1", "Host: localhost", ...lines];
      const reply = (await sendRaw(app.url, `${head.join("\r\n")}\r\n\r\n`))!;
      return [reply.status, JSON.parse(reply.body).code];
    };
    const mine = `Authorization: Bearer ${KEY}`;
    expect(await send(mine)).toEqual([200, undefined]);
    expect(await send(mine, mine)).toEqual([401, "invalid_api_key"]);
    expect(await send(mine, "authorization: Bearer x")).toEqual([401, "invalid_api_key"]);
    expect(await send("Authorization: Bearer x", mine)).toEqual([401, "invalid_api_key"]);
    expect(await send(mine, "Authorization: Basic x")).toEqual([401, "invalid_api_key"]);
  });

  test("gateway.authentication.2 a revoked key is refused on its next request", async () => {
    const { key, secret } = await storeKey(app.app.access, { account_id: null });
    expect((await app.get("/v1/models", { key: secret })).status).toBe(200);
    await app.app.admin.keys.revoke(key.id);
    expect(await refusalOf({ key: secret })).toEqual([401, "invalid_api_key", null]);
  });

  test("gateway.authentication.2 a key expires at its exact instant", async () => {
    const key = await createKey(app, { expires_at: app.clock.now() + 5_000 });
    await app.clock.advance(4_999);
    expect((await app.get("/v1/models", { key })).status).toBe(200);
    await app.clock.advance(1);
    expect(await refusalOf({ key })).toEqual([401, "invalid_api_key", null]);
  });
});

describe("gateway.authentication.3", () => {
  const says = [403, "permission_denied", null];

  test("gateway.authentication.3 gateway.errors.permission_denied a platform-internal key opens no route", async () => {
    const key = `${KEY}-internal`;
    expect(await refusalOf({ key })).toEqual(says);
    expect(await chat(key)).toEqual(says);
  });

  test("gateway.authentication.3 gateway.errors.permission_denied a platform-internal header closes every route, for every key", async () => {
    for (const name of ["x-svc-internal", "X-Svc-Internal-Hop", "x-svc-internal-anything"]) {
      const headers = { [name]: "" };
      expect(await refusalOf({ headers })).toEqual(says);
      expect(await readRefusal(await app.chat("Hello", {}, { headers }))).toEqual(says);
    }
    const other = { "x-svc-intern": "1", "x-internal": "1", "svc-internal": "1" };
    expect((await app.get("/v1/models", { headers: other })).status).toBe(200);
  });

  test("gateway.authentication.3 an invalid key is reported first", async () => {
    const headers = { "x-svc-internal-hop": "1" };
    expect(await refusalOf({ headers, key: "x" })).toEqual([401, "invalid_api_key", null]);
    expect(await refusalOf({ headers, key: null })).toEqual([401, "missing_api_key", null]);
  });
});

describe("gateway.authentication.4", () => {
  test("gateway.authentication.4 gateway.errors.scope_required names the field that needs the scope", async () => {
    const key = `${KEY}-none`;
    expect(await chat(key, { reasoning: true })).toEqual([403, "scope_required", "reasoning"]);
    expect(await chat(key, { think: true })).toEqual([403, "scope_required", "think"]);
    expect(await chat(key, { model: "deep" })).toEqual([403, "scope_required", "model"]);
  });

  test("gateway.authentication.4 a scope enables only its own field", async () => {
    const reasoning = await createKey(app, { scopes: ["reasoning"] });
    expect(await chat(reasoning, { reasoning: true })).toEqual([201]);
    expect(await chat(reasoning, { think: true })).toEqual([403, "scope_required", "think"]);
    const others = await createKey(app, { scopes: ["think", "search", "embeddings", "agents"] });
    expect(await chat(others, { reasoning: true })).toEqual([403, "scope_required", "reasoning"]);
  });

  test("gateway.authentication.4 a missing scope is reported before a missing capability of the model", async () => {
    const fields = { model: "second", reasoning: true };
    expect(await chat(`${KEY}-none`, fields)).toEqual([403, "scope_required", "reasoning"]);
    expect(await chat(KEY, fields)).toEqual([400, "invalid_request", "reasoning"]);
  });

  test("gateway.authentication.4 a disabled field needs no scope", async () => {
    for (const off of [false, null]) {
      expect(await chat(`${KEY}-none`, { reasoning: off, think: off })).toEqual([201]);
    }
  });
});

describe("gateway.authentication.5", () => {
  const refused = [403, "model_not_permitted", "model"];

  test("gateway.authentication.5 gateway.authentication.7 gateway.errors.model_not_permitted a key's model list narrows the models it may call", async () => {
    const key = await createKey(app, { models: ["main"] });
    expect(await chat(key, { model: "main" })).toEqual([201]);
    expect(await chat(key)).toEqual([201]);
    expect(await chat(key, { model: "second" })).toEqual(refused);
  });

  test("gateway.authentication.5 a list without the default model refuses the alias and requests without a model", async () => {
    const key = await createKey(app, { models: ["second"] });
    expect(await chat(key, { model: "second" })).toEqual([201]);
    for (const fields of [{}, { model: "svc" }, { model: "svc-v0" }, { model: "main" }]) {
      expect(await chat(key, fields)).toEqual(refused);
    }
    // An unknown id means the default model.
    expect(await chat(key, { model: "unheard-of" })).toEqual(refused);
  });

  test("gateway.authentication.5 an empty list permits nothing", async () => {
    const key = await createKey(app, { models: [] });
    expect(await chat(key)).toEqual(refused);
  });

  test("gateway.authentication.5 a list never extends the account's permissions", async () => {
    const key = await createKey(app, { models: ["elsewhere", "hidden", "inner"] });
    expect(await chat(key, { model: "elsewhere" })).toEqual(refused);
    for (const id of ["hidden", "inner"]) {
      expect(await chat(key, { model: id })).toEqual([404, "model_not_found", "model"]);
    }
  });
});

describe("gateway.authentication.6", () => {
  const refused = [403, "model_not_permitted", "model"];

  test("gateway.authentication.6 gateway.authentication.7 gateway.errors.model_not_permitted an external model needs a grant of its own", async () => {
    const { key, grant, ungrant } = await allow(app, "six");
    expect(await chat(key, { model: "elsewhere" })).toEqual(refused);
    // One for another model is none.
    await grant("second");
    await grant("hidden");
    expect(await chat(key, { model: "elsewhere" })).toEqual(refused);
    await grant("elsewhere");
    expect(await chat(key, { model: "elsewhere" })).toEqual([201]);
    await ungrant("elsewhere");
    expect(await chat(key, { model: "elsewhere" })).toEqual(refused);
  });

  test("gateway.authentication.6 the grant belongs to the account: all its keys have it, and no other account", async () => {
    const { account_id, grant } = await allow(app, "six of many");
    await grant("elsewhere");
    const key = await createKey(app, { account_id });
    expect(await chat(key, { model: "elsewhere" })).toEqual([201]);
    for (const otherKey of [KEY, `${KEY}-other`, `${KEY}-ownerless`]) {
      expect(await chat(otherKey, { model: "elsewhere" })).toEqual(refused);
    }
  });

  test("gateway.authentication.6 a grant does not extend the key's own list", async () => {
    const { key, grant } = await allow(app, "six and five", { models: ["main"] });
    await grant("elsewhere");
    expect(await chat(key, { model: "elsewhere" })).toEqual(refused);
  });
});

describe("gateway.authentication.8", () => {
  const missing = [404, "model_not_found", "model"];

  test("gateway.authentication.8 gateway.errors.model_not_found a private model is visible only with a grant", async () => {
    const { key, grant } = await allow(app, "eight");
    expect(await chat(key, { model: "hidden" })).toEqual(missing);
    expect(await chat(key, { model: "hidden-elsewhere" })).toEqual(missing);
    await grant("hidden");
    expect(await chat(key, { model: "hidden" })).toEqual([201]);
    await grant("hidden-elsewhere");
    expect(await chat(key, { model: "hidden-elsewhere" })).toEqual([201]);
  });

  test("gateway.authentication.8 an internal model is visible to no key", async () => {
    const { key, grant } = await allow(app, "eight and more");
    await grant("inner");
    expect(await chat(key, { model: "inner" })).toEqual(missing);
  });

  test("gateway.authentication.8 gateway.versioning.3 from the sunset on a hidden model replies byte for byte like an unknown one", async () => {
    const { key } = await allow(late, "eight and late");
    const answer = async (id: string, key: string) => {
      const options = { key, headers: { "x-request-id": "same" } };
      const reply = await late.chat("Hello", { model: id }, options);
      const headers = Object.fromEntries(reply.headers);
      return { status: reply.status, headers, body: await reply.text() };
    };
    for (const caller of [key, KEY, `${KEY}-ownerless`]) {
      const unknown = await answer("unheard-of", caller);
      expect(unknown).toMatchObject({ status: 404, headers: { "x-request-id": "same" } });
      expect(unknown.body).not.toContain("unheard-of");
      for (const id of ["hidden", "hidden-elsewhere", "inner"]) {
        expect(await answer(id, caller)).toEqual(unknown);
      }
    }
  });
});

test("gateway.authentication.9 a new key has no scopes, no model list and no output cap", async () => {
  const { key } = await allow(app, "nine");
  const { data } = (await (await app.get("/v1/models", { key })).json()) as {
    data: { id: string; max_output_tokens: number }[];
  };
  expect(data.map(({ id }) => id)).toEqual(["svc", "main", "second"]);
  expect(data[0]?.max_output_tokens).toBe(8_192);
  expect(await chat(key)).toEqual([201]);
  expect(await chat(key, { reasoning: true })).toEqual([403, "scope_required", "reasoning"]);
  expect(await chat(key, { think: true })).toEqual([403, "scope_required", "think"]);
});
