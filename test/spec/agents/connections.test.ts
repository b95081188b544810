// The agents API for a connection's owner: creation, reads, changes and deletion; the secret is
// never shown.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readSettings } from "../../../src/settings/index.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { expectRefusal, readRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { createConnection, type Json, readJson, startService } from "./service.ts";
import { makeTool, register, revise } from "./tools-bodies.ts";

const PATH = "/v1/tools/connections";
const SECRET = "sk_canary_6d1f4a";
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ENDPOINT = "https://api.example.com/letters";

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

let made = 0;
/** With a unique name. */
const create = (fields: object = {}, key = KEY) =>
  createConnection(app, { name: `Connection ${++made}`, secret: SECRET, ...fields }, { key });
const post = (fields: object, key = KEY) =>
  app.post(
    PATH,
    { name: `Connection ${++made}`, kind: "bearer", secret: SECRET, ...fields },
    { key },
  );
const patch = (id: string, body: object, key = KEY) =>
  app.ask("PATCH", `${PATH}/${id}`, { body, key });
const remove = (id: string, key = KEY) => app.ask("DELETE", `${PATH}/${id}`, { key });
const read = async (id: string): Promise<Json> => readJson(await app.get(`${PATH}/${id}`));

describe("POST /v1/tools/connections", () => {
  test("agents.endpoints.tools.p3 agents.resources.connection a bearer token needs a name and a secret, and is shown without the secret", async () => {
    const connection = await create({ name: "Letters ä" });
    const { id, created_at } = connection;
    expect(connection).toEqual({
      ...{ id: expect.stringMatching(UUID), name: "Letters ä", kind: "bearer", header_name: null },
      ...{ allowed_hosts: [], secret_set_at: created_at, last_used_at: null },
      ...{ created_at, updated_at: created_at },
    });
    // agents.resources.p3
    expect(created_at).toMatch(ISO);
    expect(await read(id)).toEqual(connection);
    expect((await readJson(await app.get(PATH))).data[0]).toEqual(connection);
  });

  test("agents.does.connection agents.resources.connection a header has a name, and hosts keep their order", async () => {
    const hosts = ["b.example.com", "127.0.0.1:9000", "[::1]:8080", "xn--bcher-kva.example"];
    const fields = { kind: "header", header_name: "X-Api-Key", allowed_hosts: hosts };
    expect(await create(fields)).toMatchObject(fields);
    expect(await create({ header_name: null, allowed_hosts: null })).toMatchObject({
      ...{ kind: "bearer", header_name: null, allowed_hosts: [] },
    });
    // Some endpoints want another scheme than Bearer.
    const basic = { kind: "header", header_name: "Authorization", secret: "Basic d2FkaTpwdw==" };
    expect(await create(basic)).toMatchObject({ header_name: "Authorization" });
  });

  test("half of a pair in a name is replaced, at creation and in a change", async () => {
    const { id, name } = await create({ name: "half \ud83d of it" });
    expect(name).toBe("half \ufffd of it");
    expect((await readJson(await patch(id, { name: "\udc0d" }))).name).toBe("\ufffd");
  });

  test("agents.errors.connection_name_taken a name is unique per owner", async () => {
    const { id, name } = await create();
    const other = await create();
    await expectRefusal(await post({ name }), 409, "connection_name_taken", "name");
    await expectRefusal(await patch(other.id, { name }), 409, "connection_name_taken", "name");
    // It may equal its own name and another account's.
    await readJson(await patch(id, { name }));
    await create({ name }, `${KEY}-other`);
    await create({ name: name.toUpperCase() });
  });

  test("agents.errors.connection_limit_reached agents.limits.run_admission_trigger_endpoint an account has at most the operator's number of connections", async () => {
    const small = await startService({ env: { WADI_LIMITS__CONNECTIONS: "2" } });
    const add = (name: string, key = KEY) =>
      small.post(PATH, { name, kind: "bearer", secret: SECRET }, { key });
    const first = await readJson(await add("One"), 201);
    await readJson(await add("Two"), 201);
    await expectRefusal(await add("Three"), 409, "connection_limit_reached");
    await readJson(await add("Three", `${KEY}-other`), 201);
    expect((await small.ask("DELETE", `${PATH}/${first.id}`)).status).toBe(204);
    await readJson(await add("Three"), 201);
    await small.stop();
  });

  test("agents.errors.permission_denied a key without an owner has no connections, and creates none", async () => {
    const key = `${KEY}-ownerless`;
    await expectRefusal(await post({}, key), 403, "permission_denied");
    expect((await readJson(await app.get(PATH, { key }))).data).toEqual([]);
    const { id } = await create();
    for (const reply of [
      await app.get(`${PATH}/${id}`, { key }),
      await patch(id, {}, key),
      await remove(id, key),
      await app.post(`${PATH}/${id}/secret`, { secret: "x" }, { key }),
    ]) {
      await expectRefusal(reply, 404, "connection_not_found");
    }
  });
});

describe("agents.errors.invalid_request a value that no request could carry is refused", () => {
  const HEADERS = [
    ...["Host", "content-type", "Content-Length", "Transfer-Encoding", "Connection", "Cookie"],
    ...["Idempotency-Key", "webhook-signature", "Webhook-Id", "X-Request-Id", "Accept", "TE"],
    ...["Proxy-Authorization", "X-Forwarded-For", "Upgrade", "Expect", "User-Agent", "Sec-Fetch"],
  ];
  test.each(HEADERS)("%s carries no secret", async (header_name) => {
    const reply = await post({ kind: "header", header_name });
    await expectRefusal(reply, 400, "invalid_request", "header_name");
  });

  const FIELDS: [string, object, string][] = [
    ["a header with a colon", { kind: "header", header_name: "X-Key:" }, "header_name"],
    ["a header in two lines", { kind: "header", header_name: "X-Key\r\nX: 1" }, "header_name"],
    ["a header that is no ASCII", { kind: "header", header_name: "X-Schlüssel" }, "header_name"],
    ["a header of kind bearer", { header_name: "X-Key" }, "header_name"],
    ["kind header without one", { kind: "header" }, "header_name"],
    ["a host in capitals", { allowed_hosts: ["API.example.com"] }, "allowed_hosts"],
    ["a URL for a host", { allowed_hosts: ["https://api.example.com"] }, "allowed_hosts"],
    ["a host with a path", { allowed_hosts: ["api.example.com/x"] }, "allowed_hosts"],
    ["a user before a host", { allowed_hosts: ["me@api.example.com"] }, "allowed_hosts"],
    ["a host with every name below", { allowed_hosts: ["*.example.com"] }, "allowed_hosts"],
    ["an invalid host", { allowed_hosts: ["a b"] }, "allowed_hosts"],
    ["a host with the usual port", { allowed_hosts: ["api.example.com:443"] }, "allowed_hosts"],
    ["a host with http's port", { allowed_hosts: ["127.0.0.1:80"] }, "allowed_hosts"],
    ["an address in another spelling", { allowed_hosts: ["127.1"] }, "allowed_hosts"],
    ["a host twice", { allowed_hosts: ["a.example", "a.example"] }, "allowed_hosts"],
  ];
  test.each(FIELDS)("%s", async (_, fields, param) => {
    await expectRefusal(await post(fields), 400, "invalid_request", param);
    if (param !== "allowed_hosts") return;
    const { id } = await create();
    await expectRefusal(await patch(id, fields), 400, "invalid_request", param);
  });

  const SECRETS: [string, object][] = [
    ["a line break", { secret: `${SECRET}\nX-Other: 1` }],
    ["a carriage return", { secret: `${SECRET}\r` }],
    ["a tab", { secret: `a\t${SECRET}` }],
    ["a NUL", { secret: `${SECRET}\0` }],
    ["a letter beyond ASCII", { secret: `${SECRET}ä` }],
    ["a space in a bearer token", { secret: `Bearer ${SECRET}` }],
    ["a leading space", { kind: "header", header_name: "X-Key", secret: ` ${SECRET}` }],
    ["a trailing space", { kind: "header", header_name: "X-Key", secret: `${SECRET} ` }],
  ];
  test.each(SECRETS)(
    "agents.endpoints.tools.p5 refuses a secret with %s, without repeating it",
    async (_, fields) => {
      const reply = await post(fields);
      expect(await reply.clone().text()).not.toContain("canary");
      await expectRefusal(reply, 400, "invalid_request", "secret");
      const { id } = await create({ ...fields, secret: SECRET });
      for (const method of ["PUT", "POST"]) {
        const { secret } = fields as { secret: string };
        const again = await app.ask(method, `${PATH}/${id}/secret`, { body: { secret } });
        expect(await again.clone().text()).not.toContain("canary");
        await expectRefusal(again, 400, "invalid_request", "secret");
      }
    },
  );

  test("agents.errors.p4 agents.endpoints.tools.p5 a schema error has no code, and a secret of another type is not repeated", async () => {
    const wrong = [123_456_789_123, true, null, ["sk_canary"], { sk: "canary" }, ""];
    wrong.push("x".repeat(8_193));
    const { id } = await create();
    for (const secret of wrong) {
      const replies = [await post({ secret })];
      replies.push(await app.ask("PUT", `${PATH}/${id}/secret`, { body: { secret } }));
      for (const reply of replies) {
        expect(await reply.clone().text()).not.toMatch(/1234567|canary|true|xxx/);
        expect(await readRefusal(reply)).toEqual([400, undefined, "secret"]);
      }
    }
    await create({ secret: "x".repeat(8_192) });
    await expectRefusal(await post({ kind: "basic" }), 400, undefined, "kind");
    await expectRefusal(await post({ name: "" }), 400, undefined, "name");
    await expectRefusal(await post({ name: "n".repeat(201) }), 400, undefined, "name");
    const many = Array.from({ length: 21 }, (_, n) => `h${n}.example.com`);
    await expectRefusal(await post({ allowed_hosts: many }), 400, undefined, "allowed_hosts");
    await expectRefusal(await patch(id, { secret: SECRET }), 400, undefined, "secret");
    await expectRefusal(await patch(id, { kind: "header" }), 400, undefined, "kind");
  });
});

describe("agents.endpoints.tools.p3 a connection is changed and deleted", () => {
  test("agents.endpoints.tools.p3 PATCH changes its name and hosts, and nothing else", async () => {
    const before = await create({ allowed_hosts: ["a.example.com", "b.example.com"] });
    await app.clock.advance(1_000);
    const name = `Renamed ${before.name}`;
    const changed = await readJson(await patch(before.id, { name }));
    expect(changed).toEqual({ ...before, name, updated_at: expect.stringMatching(ISO) });
    expect(changed.updated_at > before.updated_at).toBe(true);
    const hosts = { allowed_hosts: ["b.example.com"] };
    const fewer = await readJson(await patch(before.id, hosts));
    expect(fewer).toEqual({ ...changed, ...hosts });
    await app.clock.advance(1_000);
    expect(await readJson(await patch(before.id, {}))).toEqual(fewer);
  });

  test("agents.endpoints.tools.p5 new hosts require its secret again, so that no key can send an unknown secret there", async () => {
    const { id } = await create({ allowed_hosts: ["a.example.com"] });
    const elsewhere = ["mine.example.com"];
    for (const allowed_hosts of [elsewhere, ["a.example.com", ...elsewhere], [], null]) {
      const refused = await patch(id, { allowed_hosts });
      await expectRefusal(refused, 400, "invalid_request", "allowed_hosts");
    }
    expect((await read(id)).allowed_hosts).toEqual(["a.example.com"]);
    const body = { secret: "known", allowed_hosts: elsewhere };
    const set = await app.ask("PUT", `/v1/tools/connections/${id}/secret`, { body });
    expect((await readJson(set)).allowed_hosts).toEqual(elsewhere);
    const again = await app.ask("PUT", `/v1/tools/connections/${id}/secret`, {
      body: { secret: "known" },
    });
    expect((await readJson(again)).allowed_hosts).toEqual(elsewhere);
  });

  test("agents.endpoints.tools.p3 agents.endpoints.tools.p5 PUT and POST replace the secret, without showing it", async () => {
    const before = await create();
    let last = before.secret_set_at;
    for (const method of ["PUT", "POST"]) {
      await app.clock.advance(1_000);
      const body = { secret: `${SECRET}_${method}` };
      const reply = await app.ask(method, `${PATH}/${before.id}/secret`, { body });
      const set = await readJson(reply);
      expect(set.secret_set_at > last).toBe(true);
      last = set.secret_set_at;
      expect(set).toEqual({ ...before, secret_set_at: last, updated_at: last });
      expect(await read(before.id)).toEqual(set);
    }
  });

  test("agents.endpoints.tools.p3 agents.errors.connection_not_found DELETE removes it, and it is not found afterwards", async () => {
    const { id, name } = await create();
    const reply = await remove(id);
    expect([reply.status, await reply.text()]).toEqual([204, ""]);
    await expectRefusal(await remove(id), 404, "connection_not_found");
    await expectRefusal(await app.get(`${PATH}/${id}`), 404, "connection_not_found");
    await expectRefusal(await patch(id, {}), 404, "connection_not_found");
    await expectRefusal(
      await app.ask("PUT", `${PATH}/${id}/secret`, { body: { secret: SECRET } }),
      ...([404, "connection_not_found"] as const),
    );
    await create({ name });
  });

  test("agents.endpoints.tools.p3 a connection used by the latest revision of an enabled tool cannot be deleted", async () => {
    const { id } = await create();
    const name = "uses_a_connection";
    await register(app, { name, endpoint: ENDPOINT, connection_id: id });
    const refuseRemoval = async () =>
      expectRefusal(await remove(id), 409, "connection_in_use", null);
    await refuseRemoval();
    await readJson(await app.post(`/v1/tools/${name}/disable`, undefined));
    await readJson(await app.post(`/v1/tools/${name}/enable`, undefined));
    await refuseRemoval();
    await revise(app, name, { endpoint: ENDPOINT });
    expect((await remove(id)).status).toBe(204);
  });
});

describe("agents.endpoints.tools.p3 a connection is bound to its hosts", () => {
  test("agents.endpoints.tools.p3 without hosts it is bound to the host of its first tool", async () => {
    const { id } = await create();
    await register(app, { name: "first_of_it", endpoint: ENDPOINT, connection_id: id });
    expect((await read(id)).allowed_hosts).toEqual(["api.example.com"]);
    const other = { name: "second_of_it", endpoint: "https://other.example.com/" };
    const refused = await app.post("/v1/tools", makeTool({ ...other, connection_id: id }));
    const { error } = (await refused.clone().json()) as Json;
    expect(error.message).toContain('add "other.example.com" to its `allowed_hosts`');
    await expectRefusal(refused, 400, "invalid_request", "connection_id");
    const body = { secret: "known", allowed_hosts: ["api.example.com", "other.example.com"] };
    await readJson(await app.ask("PUT", `/v1/tools/connections/${id}/secret`, { body }));
    await register(app, { ...other, connection_id: id });
  });

  test("agents.errors.connection_not_found a tool cannot use a connection that is missing or belongs to another account", async () => {
    const theirs = await create({}, `${KEY}-other`);
    for (const connection_id of [theirs.id, NOWHERE]) {
      const reply = await app.post("/v1/tools", makeTool({ name: "thief", connection_id }));
      await expectRefusal(reply, 404, "connection_not_found", "connection_id");
    }
    const untouched = await app.get(`${PATH}/${theirs.id}`, { key: `${KEY}-other` });
    expect(await readJson(untouched)).toEqual(theirs);
  });
});

describe("agents.endpoints.tools.p3 its routes are not routes of a tool", () => {
  test("agents.endpoints.tools.p3 a tool cannot be named `connections`, and an invalid id is 400", async () => {
    const reply = await app.post("/v1/tools", makeTool({ name: "connections" }));
    expect((await readRefusal(reply))[2]).toBe("name");
    expect(await readRefusal(await app.get(`${PATH}/revisions`))).toEqual([400, undefined, "id"]);
    for (const [method, path] of [
      ["PUT", PATH],
      ["DELETE", PATH],
      ["GET", `${PATH}/${NOWHERE}/secret`],
      ["DELETE", `${PATH}/${NOWHERE}/secret`],
    ] as const) {
      expect((await readRefusal(await app.ask(method, path)))[0]).toBe(404);
    }
  });
});

describe("agents.errors.not_enabled while http tools are switched off", () => {
  test("agents.errors.not_enabled creation and changes are refused, reads and deletions still work", async () => {
    const off = await startApp();
    const body = { name: "Letters", kind: "bearer", secret: SECRET };
    const connection = await readJson(await off.post(PATH, body), 201);
    const one = `${PATH}/${connection.id}`;
    const flags = { "server.port": 0 };
    await off.app.change(readSettings("[agents]\nhttp_tools = false\n", "wadi.toml", {}, flags));
    for (const [method, path, body] of [
      ["POST", PATH, { name: "X", kind: "bearer", secret: SECRET }],
      ["POST", PATH, "{"],
      ["PATCH", one, {}],
      ["PUT", `${one}/secret`, { secret: SECRET }],
      ["POST", `${PATH}/nothing/secret`, { secret: SECRET }],
    ] as const) {
      await expectRefusal(await off.ask(method, path, { body }), 403, "not_enabled");
    }
    expect((await readJson(await off.get(PATH))).data).toEqual([connection]);
    expect(await readJson(await off.get(one))).toEqual(connection);
    expect((await off.ask("DELETE", one)).status).toBe(204);
    await expectRefusal(await off.get(one), 404, "connection_not_found");
    await off.stop();
  });
});
