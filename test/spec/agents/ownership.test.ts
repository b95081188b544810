// Objects of other accounts are not found: every route, every id, byte for byte.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KEY, type TestApp } from "../../support/app.ts";
import type { Document } from "../gateway/document.ts";
import { createKey } from "../gateway/keys.ts";
import { listOwn, listParams, type Population, populate, startRun } from "./population.ts";
import {
  askRoute,
  kindOf,
  listIdFields,
  listNames,
  listQuery,
  listRoutes,
  ownBody,
  type Route,
  readDocument,
} from "./routes.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";

const OTHER = `${KEY}-other`;
const SAME = { "x-request-id": "same" };
/** Unused ids: of several UUID versions, and the nil UUID. */
const UNUSED_IDS = [
  "01920000-0000-7000-8000-000000000001",
  "f47ac10b-58cc-4372-a567-0e02b2c3d479",
  "00000000-0000-0000-0000-000000000000",
];

let app: TestApp;
let document: Document;
let routes: Route[];
let mine: Population;
/** The other account's own, so that nothing but the one id is at fault. */
let theirs: Population;
/** A key of theirs that no scope keeps from anything. */
let otherApprover: string;
beforeAll(async () => {
  app = await startService({ listens: true });
  const account_id = (await app.app.access.accounts.find("other"))!.id;
  otherApprover = await createKey(app, { account_id, scopes: ["agents", "agents.approve"] });
  document = await readDocument(app);
  routes = listRoutes(document);
  mine = await populate(app, KEY);
  theirs = await populate(app, OTHER);
});
afterAll(() => app.stop());

/** Ids of every kind of object that has one, by its kind; of a tool its name. */
const listIds = (of: Population): Record<string, string> => ({
  ...listOwn(of),
  step: of.steps[0].id,
  message: of.messages[0].id,
  event: of.delivery.event_id,
  key: of.run.started_by_key_id,
  call: of.agent.id.replace(/.$/, (last: string) => (last === "0" ? "1" : "0")),
});

/** Position of an id in a request: path, query or body. */
interface Place {
  route: Route;
  where: "path" | "query" | "body";
  name: string;
}
const listPlaces = (): Place[] =>
  routes.flatMap((route) => {
    const at = (where: Place["where"]) => (name: string) => ({ route, where, name });
    return [
      ...listNames(route).map(at("path")),
      ...listIdFields(listQuery(route)).map(at("query")),
      ...listIdFields(route.body?.properties ?? {}).map(at("body")),
    ];
  });
const nameOf = ({ route, where, name }: Place) => `${route.method} ${route.path} ${where} ${name}`;

/** A value that is not a UUID is possible only for a name. */
const fits =
  ({ name }: Place) =>
  (id: string) =>
    name === "name" || !id.includes("_");

/** The other account sends this id in that position, and its own ids in all others. */
async function ask({ route, where, name }: Place, id: string) {
  const own = listParams(route, listOwn(theirs));
  const params = where === "path" ? { ...own, [name]: id } : own;
  const example = route.body && ownBody(route, { agent_id: theirs.agent.id });
  const reply = await askRoute(app, route, {
    key: otherApprover,
    headers: SAME,
    params,
    query: where === "query" ? { [name]: id } : undefined,
    body: where === "body" ? { ...example, [name]: id } : example,
  });
  const headers = Object.fromEntries(reply.headers);
  delete headers.date;
  return { status: reply.status, headers, body: await reply.text() };
}

test("the routes' id parameters are found", () => {
  const names = listPlaces().map(nameOf);
  expect(names).toContain("GET /v1/agents/{id} path id");
  expect(names).toContain("POST /v1/agents/{id}/runs body thread_id");
  expect(names).toContain("GET /v1/runs query agent_id");
  expect(names).toContain("POST /v1/tools/{name}/revisions path name");
  expect(names).toContain("POST /v1/tools/{name}/revisions body connection_id");
  expect(names).toContain("GET /v1/runs/{id}/events path id");
  expect(names).toContain("GET /v1/approvals query run_id");
  expect(names).toContain("PUT /v1/tools/connections/{id}/secret path id");
  expect(names).toContain("POST /v1/approvals/{id}/approve path id");
  expect(names).toContain("POST /v1/triggers body agent_id");
  expect(names).toContain("POST /v1/triggers body thread_id");
  expect(names).toContain("GET /v1/triggers/{id}/fires path id");
  expect(names).toContain("POST /v1/webhooks/{id}/deliveries/{delivery_id}/replay path id");
  expect(names).toContain("GET /v1/webhooks/{id}/deliveries/{delivery_id} path delivery_id");
});

describe("agents.authentication.6", () => {
  test("agents.authentication.6 another account's id gets the same reply as an unknown one, in every parameter", async () => {
    const codes = new Set<string>();
    for (const place of listPlaces()) {
      const missing = await ask(place, UNUSED_IDS[0]!);
      expect([nameOf(place), missing.status]).toEqual([nameOf(place), 404]);
      codes.add(JSON.parse(missing.body).error.code);
      expect(missing.body).not.toContain(UNUSED_IDS[0]!);
      const others = [...UNUSED_IDS, ...Object.values(listIds(mine))].filter(fits(place));
      for (const id of [...others, ...others.map((one) => one.toUpperCase())]) {
        expect([nameOf(place), id, await ask(place, id)]).toEqual([nameOf(place), id, missing]);
      }
    }
    // agents.errors.agent_not_found, agents.errors.run_not_found, agents.errors.thread_not_found,
    // agents.errors.tool_not_found, agents.errors.connection_not_found,
    // agents.errors.approval_not_found, agents.errors.trigger_not_found,
    // agents.errors.webhook_not_found, agents.errors.delivery_not_found
    const kinds = ["agent", "approval", "connection", "delivery", "evaluation", "mcp_server"];
    kinds.push("run", "thread", "tool", "trigger", "webhook");
    expect([...codes].toSorted()).toEqual(kinds.map((kind) => `${kind}_not_found`));
  });

  test("agents.errors.agent_not_found agents.errors.run_not_found agents.errors.thread_not_found an id of another type of object is unknown", async () => {
    const ids = listIds(theirs);
    for (const place of listPlaces().filter(({ where }) => where === "path")) {
      const kind = place.name === "delivery_id" ? "delivery" : kindOf(place.route);
      const missing = await ask(place, UNUSED_IDS[0]!);
      for (const [other, id] of Object.entries(ids)) {
        if (other !== kind && fits(place)(id))
          expect([place.name, await ask(place, id)]).toEqual([place.name, missing]);
      }
    }
  });

  test("agents.authentication.6 requests for another account's objects change nothing", async () => {
    const read = async (path: string) => readJson(await app.get(path));
    expect(await read(`/v1/agents/${mine.agent.id}`)).toEqual(mine.agent);
    expect(await read(`/v1/runs/${mine.run.id}`)).toEqual(mine.run);
    const connection = `/v1/tools/connections/${mine.connection.id}`;
    expect(await read(connection)).toEqual(mine.connection);
    expect(await read(`/v1/triggers/${mine.trigger.id}`)).toEqual(mine.trigger);
    expect((await read(`/v1/triggers/${mine.trigger.id}/fires`)).data).toEqual([mine.fire]);
    expect(await read(`/v1/threads/${mine.thread.id}`)).toEqual(mine.thread);
    for (const one of mine.approvals) expect(await read(`/v1/approvals/${one.id}`)).toEqual(one);
    expect(await read(`/v1/tools/${mine.tool.name}`)).toEqual(mine.tool);
    const { id, url, events, status } = mine.webhook;
    const webhook = await read(`/v1/webhooks/${id}`);
    expect(webhook).toMatchObject({ id, url, events, status });
    const { data } = await read(`/v1/webhooks/${id}/deliveries`);
    expect(data.map((one: Json) => one.id)).toEqual([mine.delivery.id]);
  });

  test("agents.authentication.6 another account can neither cancel a run in progress nor start one on its thread", async () => {
    const slow = { input: { message: "!stall" } };
    const run = await startRun(app, mine.agent.id, slow, KEY);
    for (const id of [run.id, run.id.toUpperCase()]) {
      const reply = await app.post(`/v1/runs/${id}/cancel`, undefined, { key: OTHER });
      expect(reply.status).toBe(404);
    }
    expect((await readJson(await app.get(`/v1/runs/${run.id}`))).cancel_requested).toBe(false);
    const body = { input: { message: "Hello" }, thread_id: run.thread_id };
    const reply = await app.post(`/v1/agents/${theirs.agent.id}/runs`, body, { key: OTHER });
    // Neither `thread_busy` nor `thread_agent_mismatch`: the thread is unknown.
    expect([reply.status, ((await reply.json()) as Json).error.code]).toEqual([
      404,
      "thread_not_found",
    ]);
    await app.post(`/v1/runs/${run.id}/cancel`, undefined);
  });

  test("agents.authentication.6 no list shows another account's objects, nor their sums", async () => {
    const secrets = Object.values(listIds(mine)).filter((id) => id !== listIds(mine).call);
    for (const route of routes.filter(
      ({ method, path }) => method === "GET" && !path.includes("{"),
    )) {
      const text = await (await askRoute(app, route, { key: OTHER })).text();
      for (const id of secrets)
        expect([route.path, text.includes(id)]).toEqual([route.path, false]);
    }
    const usage = await readJson(await app.get("/v1/agents/usage", { key: OTHER }));
    expect(usage.totals.runs).toBe(3);
  });

  test("agents.authentication.6 a cursor of another account's list is invalid", async () => {
    const { id } = await createAgent(app);
    for (let n = 0; n < 3; n++) await startRun(app, id, { input: { message: "Hello" } }, KEY);
    for (const path of ["/v1/runs", "/v1/threads"]) {
      const page = await readJson(await app.get(`${path}?limit=2`));
      expect(page.next_before).toBeString();
      const theirs = `${path}?limit=200&before=${page.next_before}`;
      expect(await (await app.get(theirs, { key: OTHER })).json()).toEqual({
        error: expect.objectContaining({ type: "invalid_request_error", param: "before" }),
      });
    }
  });

  test("agents.authentication.6 another key of the same account sees the objects of the first", async () => {
    const key = `${KEY}-approver`;
    const { agent, run, tool } = mine;
    const paths = [`/v1/agents/${agent.id}`, `/v1/runs/${run.id}`, `/v1/tools/${tool.name}`];
    for (const path of paths) {
      expect((await app.get(path, { key })).status).toBe(200);
    }
  });
});
