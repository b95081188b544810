// The agents API for an endpoint's owner: creation, reads, changes and deletion.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validateSigningSecret } from "../../../src/crypto/signing/signature.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { createWebhook, type Json, readJson, startService } from "./service.ts";
import { countDeliveries, give, happen, PATH, patch } from "./webhooks-front.ts";

const URL = "https://hooks.example.com/wadi";
const KINDS = [
  ...["run.completed", "run.failed", "approval.requested", "approval.decided", "trigger.fired"],
  "webhook.test",
];
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const read = async (id: string, on = app): Promise<Json> => readJson(await on.get(`${PATH}/${id}`));
const remove = (id: string, key = KEY, on = app) => on.ask("DELETE", `${PATH}/${id}`, { key });

describe("POST /v1/webhooks", () => {
  test("agents.endpoints.webhooks.p1 agents.resources.webhook_endpoint an endpoint needs a URL and types of events, and is shown without its secret", async () => {
    const { secret, ...made } = await createWebhook(app, { url: URL, events: ["run.failed"] });
    const { id, created_at } = made;
    expect(made).toEqual({
      ...{ id: expect.stringMatching(UUID), url: URL, events: ["run.failed"], description: null },
      ...{ status: "enabled", disabled_reason: null, disabled_at: null, failing_since: null },
      ...{ last_success_at: null, last_failure_at: null, previous_secret_expires_at: null },
      ...{ pending_deliveries: 0, created_at, updated_at: created_at },
    });
    expect(created_at).toMatch(ISO);
    expect(await read(id)).toEqual(made);
    expect((await readJson(await app.get(PATH))).data[0]).toEqual(made);
    expect(secret).toMatch(/^whsec_/);
    expect(validateSigningSecret(secret)).toBeNull();
  });

  test("agents.does.webhook agents.events.webhook.1 every type of event can be selected, alone and with all others", async () => {
    const secrets = new Set<string>();
    for (const events of [KINDS, KINDS.toReversed(), ...KINDS.map((kind) => [kind])]) {
      const made = await createWebhook(app, { events, description: "The order desk ä" });
      expect(made).toMatchObject({ events, description: "The order desk ä" });
      secrets.add(made.secret);
    }
    expect(secrets.size).toBe(KINDS.length + 2);
  });

  test("agents.errors.p9 a schema error is refused without a code", async () => {
    const good = { url: URL, events: ["run.failed"] };
    const { id } = await createWebhook(app);
    for (const [fields, param] of [
      [{ url: 1 }, "url"],
      [{ url: "" }, "url"],
      [{ url: null }, "url"],
      [{ url: `https://a.example.com/${"x".repeat(2_048)}` }, "url"],
      [{ events: [] }, "events"],
      [{ events: null }, "events"],
      [{ events: "run.failed" }, "events"],
      [{ events: ["run.failed", "run.started"] }, "events.1"],
      [{ events: ["run.failed", "run.completed", "run.failed"] }, "events"],
      [{ events: [...KINDS, "run.failed"] }, "events"],
      [{ description: "x".repeat(501) }, "description"],
      [{ description: "a\0b" }, "description"],
      [{ secret: "whsec_x" }, "secret"],
    ] as const) {
      const refused = [400, undefined, param] as const;
      await expectRefusal(await app.post(PATH, { ...good, ...fields }), ...refused);
      await expectRefusal(await patch(app, id, fields), ...refused);
    }
    await expectRefusal(
      await app.post(PATH, { ...good, status: "disabled" }),
      400,
      undefined,
      "status",
    );
    await expectRefusal(await patch(app, id, { status: "gone" }), 400, undefined, "status");
    for (const missing of ["url", "events"]) {
      const body = { ...good, [missing]: undefined };
      await expectRefusal(await app.post(PATH, body), 400, undefined, missing);
    }
    // Lengths are counted in characters, and half of a pair is none that could be kept.
    const { description } = await createWebhook(app, { description: "😀".repeat(500) });
    expect(description).toBe("😀".repeat(500));
    const { id: half, ...made } = await createWebhook(app, { description: "\ud800" });
    expect(made.description).toBe("\ufffd");
    const changed = await patch(app, half, { description: "a\ud800" });
    expect(((await changed.json()) as Json).description).toBe("a\ufffd");
  });

  const REFUSED = [
    ...["http://hooks.example.com/", "https://hooks.example.com:8443/", "https://192.0.2.1/"],
    ...["https://[2001:db8::1]/", "https://localhost/", "https://hooks.internal/", "ftp://a.b/"],
    ...["https://me:secret@hooks.example.com/", "https://hooks.example.com/#part", "hooks"],
    ...["https://hooks.example.com/a b", "https://2130706433/", "http://127.0.0.2:80/"],
  ];
  test.each(REFUSED)(
    "agents.errors.url_refused agents.endpoints.webhooks.p3 %s is refused, at creation and in a change",
    async (url) => {
      const closed = await startApp();
      const body = { url, events: ["run.failed"] };
      await expectRefusal(await closed.post(PATH, body), 400, "url_refused", "url");
      const { id } = await createWebhook(closed, { url: URL });
      await expectRefusal(await patch(closed, id, { url }), 400, "url_refused", "url");
      await expectRefusal(await patch(closed, NOWHERE, { url }), 404, "webhook_not_found");
      expect((await read(id, closed)).url).toBe(URL);
      await closed.stop();
    },
  );

  test("agents.errors.url_refused agents.endpoints.webhooks.p3 an address is refused whatever else is changed with it", async () => {
    const closed = await startApp();
    const { id } = await createWebhook(closed, { url: URL });
    const before = await read(id, closed);
    const url = "https://10.0.0.1/";
    for (const other of [
      ...[{ status: "disabled" }, { status: "enabled" }],
      ...[{ events: ["run.completed"] }, { description: "x" }],
    ]) {
      const reply = await patch(closed, id, { ...other, url });
      await expectRefusal(reply, 400, "url_refused", "url");
    }
    expect(await read(id, closed)).toEqual(before);
    await closed.stop();
  });

  test("agents.errors.endpoints_limit agents.limits.run_admission_trigger_endpoint an account has at most the operator's number of endpoints, disabled ones included", async () => {
    const small = await startService({ env: { WADI_LIMITS__ENDPOINTS: "2" } });
    const add = (key = KEY) => small.post(PATH, { url: URL, events: ["run.failed"] }, { key });
    const first = await readJson(await add(), 201);
    const second = await readJson(await add(), 201);
    await readJson(await patch(small, second.id, { status: "disabled" }));
    await expectRefusal(await add(), 429, "endpoints_limit");
    await readJson(await add(`${KEY}-other`), 201);
    expect((await remove(first.id, KEY, small)).status).toBe(204);
    await readJson(await add(), 201);
    await small.stop();
  });

  test("agents.errors.permission_denied a key without an owner has no endpoints, and creates none", async () => {
    const key = `${KEY}-ownerless`;
    const body = { url: URL, events: ["run.failed"] };
    await expectRefusal(await app.post(PATH, body, { key }), 403, "permission_denied");
    expect((await readJson(await app.get(PATH, { key }))).data).toEqual([]);
    const { id } = await createWebhook(app);
    for (const reply of [
      await app.get(`${PATH}/${id}`, { key }),
      await patch(app, id, {}, { key }),
      await remove(id, key),
      await app.post(`${PATH}/${id}/rotate-secret`, {}, { key }),
      await app.post(`${PATH}/${id}/test`, undefined, { key }),
      await app.get(`${PATH}/${id}/deliveries`, { key }),
      await app.post(`${PATH}/${id}/deliveries`, { since: "2026-11-20T00:00:00Z" }, { key }),
    ]) {
      await expectRefusal(reply, 404, "webhook_not_found");
    }
  });
});

describe("GET, PATCH and DELETE /v1/webhooks", () => {
  test("agents.endpoints.webhooks.p1 lists every endpoint of the account, newest first", async () => {
    const key = `${KEY}-other`;
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await createWebhook(app, {}, { key })).id);
    const { data } = await readJson(await app.get(PATH, { key }));
    expect(data.map(({ id }: Json) => id)).toEqual(ids.toReversed());
  });

  test("agents.errors.webhook_not_found an endpoint that is missing or of another account is not found", async () => {
    const { id } = await createWebhook(app, {}, { key: `${KEY}-other` });
    for (const one of [id, NOWHERE]) {
      await expectRefusal(await app.get(`${PATH}/${one}`), 404, "webhook_not_found");
      await expectRefusal(await patch(app, one, { url: URL }), 404, "webhook_not_found");
      await expectRefusal(await remove(one), 404, "webhook_not_found");
    }
    expect((await remove(id, `${KEY}-other`)).status).toBe(204);
  });

  test("agents.endpoints.webhooks.p1 an omitted field stays, and a change without effect does not update the endpoint", async () => {
    const { secret, ...made } = await createWebhook(app, { url: URL, description: "One" });
    await app.clock.advance(1_000);
    expect(await readJson(await patch(app, made.id, {}))).toEqual(made);
    const { events, status } = made;
    expect(await readJson(await patch(app, made.id, { events, status, url: URL }))).toEqual(made);
    const changed = await readJson(await patch(app, made.id, { description: null }));
    expect(changed).toEqual({
      ...{ ...made, description: null },
      updated_at: new Date(app.clock.now()).toISOString(),
    });
    const elsewhere = { url: "http://127.0.0.1:9/else", events: ["trigger.fired"] };
    expect(await readJson(await patch(app, made.id, elsewhere))).toMatchObject(elsewhere);
    expect(await read(made.id)).toMatchObject(elsewhere);
  });

  test("agents.events.webhook.1 only later events are sent, to the endpoints that select them then", async () => {
    const front = await startService();
    const early = await createWebhook(front, { events: ["run.failed"] });
    await happen(front, 2);
    const late = await createWebhook(front, { events: ["run.completed"] });
    await happen(front, 1);
    await readJson(await patch(front, late.id, { events: ["run.failed"] }));
    await happen(front, 1);
    await readJson(await patch(front, early.id, { events: ["run.completed"] }));
    await happen(front, 1);
    await give(front);
    expect(await countDeliveries(front, early.id)).toBe("4 pending");
    expect(await countDeliveries(front, late.id)).toBe("2 pending");
    expect((await read(early.id, front)).pending_deliveries).toBe(4);
    await front.stop();
  });

  test("agents.resources.webhook_endpoint a disabled endpoint is sent nothing, and its waiting deliveries are cancelled", async () => {
    const front = await startService();
    const { id } = await createWebhook(front, { events: ["run.failed"] });
    await happen(front, 2);
    await front.clock.advance(1_000);
    const disabled = await readJson(await patch(front, id, { status: "disabled" }));
    const at = new Date(front.clock.now()).toISOString();
    expect(disabled).toMatchObject({
      ...{ status: "disabled", disabled_reason: "manual", disabled_at: at, updated_at: at },
      pending_deliveries: 0,
    });
    expect(await countDeliveries(front, id)).toBe("2 cancelled");
    await happen(front, 1);
    // Once more changes nothing.
    await front.clock.advance(1_000);
    expect(await readJson(await patch(front, id, { status: "disabled" }))).toEqual(disabled);
    const enabled = await readJson(await patch(front, id, { status: "enabled" }));
    expect(enabled).toMatchObject({ status: "enabled", disabled_reason: null, disabled_at: null });
    await happen(front, 1);
    await give(front);
    expect(await countDeliveries(front, id)).toBe("1 pending, 2 cancelled");
    await front.stop();
  });

  test("agents.endpoints.webhooks.p1 a deleted endpoint is removed with its deliveries", async () => {
    const { id } = await createWebhook(app);
    const { id: delivery } = await readJson(await app.post(`${PATH}/${id}/test`, undefined), 202);
    expect((await remove(id)).status).toBe(204);
    for (const path of [`${PATH}/${id}`, `${PATH}/${id}/deliveries`]) {
      await expectRefusal(await app.get(path), 404, "webhook_not_found");
    }
    const path = `${PATH}/${id}/deliveries/${delivery}`;
    await expectRefusal(await app.get(path), 404, "webhook_not_found");
    await expectRefusal(await remove(id), 404, "webhook_not_found");
  });
});

describe("agents.authentication.3", () => {
  test("agents.authentication.3 a key without `agents` is refused on every route of webhooks, even in the grace period", async () => {
    const lenient = await startService({ env: { WADI_AGENTS__ENFORCE_SCOPE: "false" } });
    const key = await createKey(lenient, { scopes: ["agents.approve", "think"] });
    const one = `${PATH}/${NOWHERE}`;
    for (const [method, path] of [
      ...[
        ["GET", PATH],
        ["POST", PATH],
        ["GET", one],
        ["PATCH", one],
        ["DELETE", one],
      ],
      ...[
        ["POST", `${one}/rotate-secret`],
        ["POST", `${one}/test`],
      ],
      ...[
        ["GET", `${one}/deliveries`],
        ["POST", `${one}/deliveries`],
      ],
      ...[
        ["GET", `${one}/deliveries/${NOWHERE}`],
        ["POST", `${one}/deliveries/${NOWHERE}/replay`],
      ],
    ] as const) {
      await expectRefusal(await lenient.ask(method, path, { key }), 403, "scope_required");
    }
    await lenient.stop();
  });
});

describe("POST /v1/webhooks/{id}/rotate-secret", () => {
  const rotate = (id: string, body?: object, on = app) =>
    on.post(`${PATH}/${id}/rotate-secret`, body);

  test("agents.resources.webhook_endpoint a new secret is shown once, and the previous one signs during the overlap", async () => {
    const { secret, ...made } = await createWebhook(app);
    const { secret: second, ...rotated } = await readJson(await rotate(made.id));
    expect(validateSigningSecret(second)).toBeNull();
    expect(second).not.toBe(secret);
    const day_later = new Date(app.clock.now() + 86_400_000).toISOString();
    const updated_at = new Date(app.clock.now()).toISOString();
    const expected = { ...made, previous_secret_expires_at: day_later, updated_at };
    expect(rotated).toEqual(expected);
    expect(await read(made.id)).toEqual(expected);
    await readJson(await rotate(made.id, { overlap_seconds: 5 }));
    await app.clock.advance(4_999);
    expect((await read(made.id)).previous_secret_expires_at).toMatch(ISO);
    await app.clock.advance(1);
    expect((await read(made.id)).previous_secret_expires_at).toBeNull();
  });

  test("agents.resources.webhook_endpoint without an overlap the previous secret signs nothing more", async () => {
    const { id } = await createWebhook(app);
    const rotated = await readJson(await rotate(id, { overlap_seconds: 0 }));
    expect(rotated.previous_secret_expires_at).toBeNull();
    expect(await readJson(await rotate(id, { overlap_seconds: null }))).toMatchObject({
      previous_secret_expires_at: expect.stringMatching(ISO),
    });
  });

  test("agents.errors.p9 agents.errors.webhook_not_found an overlap is at most a week, for the account's own endpoint", async () => {
    const { id } = await createWebhook(app);
    for (const overlap_seconds of [-1, 604_801, 1.5, "5"]) {
      const reply = await rotate(id, { overlap_seconds });
      await expectRefusal(reply, 400, undefined, "overlap_seconds");
    }
    await readJson(await rotate(id, { overlap_seconds: 604_800 }));
    await expectRefusal(await rotate(NOWHERE), 404, "webhook_not_found");
  });
});

test("agents.errors.webhooks_unavailable without its key no secret is stored, and everything else works", async () => {
  const file = join(tmpdir(), `wadi-webhooks-${process.pid}.key`);
  const front = await startService({ secretsKeyFile: file });
  const { id } = await createWebhook(front);
  rmSync(file);
  await front.clock.advance(1_000);
  const body = { url: URL, events: ["run.failed"] };
  await expectRefusal(await front.post(PATH, body), 503, "webhooks_unavailable");
  const rotate = () => front.post(`${PATH}/${id}/rotate-secret`, {});
  await expectRefusal(await rotate(), 503, "webhooks_unavailable");
  // An invalid request is still reported.
  const wrong = { ...body, url: "http://192.0.2.1/" };
  await expectRefusal(await front.post(PATH, wrong), 400, "url_refused", "url");
  await readJson(await patch(front, id, { description: "x" }));
  await readJson(await front.post(`${PATH}/${id}/test`, undefined), 202);
  expect((await readJson(await front.get(PATH))).data).toHaveLength(1);
  await front.stop();
  rmSync(file, { force: true });
});

test("agents.errors.not_enabled while webhooks are switched off creation, changes and replays are refused, reads and deletions work", async () => {
  const off = await startApp();
  const { secret, ...made } = await createWebhook(off, { url: URL });
  const one = `${PATH}/${made.id}`;
  const { id } = await readJson(await off.post(`${one}/test`, undefined), 202);
  const flags = { "server.port": 0 };
  await off.app.change(readSettings("[agents]\nwebhooks = false\n", "wadi.toml", {}, flags));
  for (const [method, path, body] of [
    ["POST", PATH, { url: URL, events: ["run.failed"] }],
    ["POST", PATH, "{"],
    ["PATCH", one, {}],
    ["POST", `${one}/rotate-secret`, {}],
    ["POST", `${one}/test`, undefined],
    ["POST", `${one}/deliveries`, {}],
    ["POST", `${one}/deliveries/${id}/replay`, undefined],
  ] as const) {
    await expectRefusal(await off.ask(method, path, { body }), 403, "not_enabled");
  }
  expect((await readJson(await off.get(PATH))).data).toEqual([{ ...made, pending_deliveries: 1 }]);
  expect((await readJson(await off.get(`${one}/deliveries`))).data).toHaveLength(1);
  expect((await off.get(`${one}/deliveries/${id}`)).status).toBe(200);
  expect((await off.ask("DELETE", one)).status).toBe(204);
  await expectRefusal(await off.get(one), 404, "webhook_not_found");
  await off.stop();
});
