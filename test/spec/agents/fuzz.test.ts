// Thousands of random requests on every route of the agents API: none breaks it, and every reply is
// documented.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createDraw } from "../../http/draw.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { countRounds } from "../../support/rounds.ts";
import { type Document, findBreach } from "../gateway/document.ts";
import { drawBody, drawQuery } from "../gateway/fuzz-bodies.ts";
import { ENDPOINT, listOwn, listParams, type Population, populate } from "./population.ts";
import { readRefusal } from "./refusal.ts";
import {
  isDecision,
  listNames,
  listQuery,
  listRoutes,
  NEED_SERVER,
  NOWHERE,
  type Route,
  readDocument,
  writePath,
} from "./routes.ts";
import { createAgent, createWebhook, startService } from "./service.ts";
import { register } from "./tools-bodies.ts";

const SEED = 20_261_121;
const BODIES = countRounds(800);
/** Few fields each, because a reply may contain a hundred runs. */
const QUERIES = countRounds(400);
const IDS = countRounds(120);
/** One of how many bodies must at least have been a success: names of tools and models are unknown. */
const SHARES: Record<string, number> = {
  "PATCH /v1/agents/{id}": 8,
  "POST /v1/agents/{id}/runs": 8,
  // Three may be under way at once, and few versions and runs exist.
  "POST /v1/agents/{id}/evaluations": 300,
  // The names that are drawn are few, and each can be taken once.
  "POST /v1/tools/connections": 150,
  "POST /v1/triggers": 300,
};
const SHARE = 30;
const NO_LIMITS = {
  ...{ WADI_LIMITS__ACTIVE_RUNS: "1000000", WADI_LIMITS__DAILY_RUNS: "1000000" },
  ...{ WADI_LIMITS__CONNECTIONS: "100000", WADI_LIMITS__ENDPOINTS: "10000" },
  WADI_LIMITS__TRIGGERS: "100000",
};

let app: TestApp;
let document: Document;
let routes: Route[];
let mine: Population;
beforeAll(async () => {
  // With an engine: what the drawn bodies start is executed beside it.
  app = await startService({ listens: true, env: NO_LIMITS });
  document = await readDocument(app);
  routes = listRoutes(document);
  mine = await populate(app, KEY);
});
afterAll(() => app.stop());

/** Has every scope of the agents API. */
const key = `${KEY}-approver`;
const nameOf = ({ method, path }: Route) => `${method} ${path}`;

/** A path with an id of the caller's own. */
const aim = (route: Route) => writePath(route, listParams(route, listOwn(mine)));

/** Faults of a reply; empty if none. */
async function checkReply({ operation }: Route, reply: Response): Promise<unknown[]> {
  const { status, headers } = reply;
  const documented = operation.responses[status];
  if (!documented || status === 422 || status >= 500) return [`status ${status}`];
  const type = headers.get("content-type")!.split(";")[0]!;
  const { schema } = documented.content[type]!;
  const text = await reply.text();
  if (status >= 400) await readRefusal(new Response(text, { status, headers }));
  if (type !== "text/event-stream") return findBreach(document, schema, JSON.parse(text));
  const frames = text.split("\n").filter((line) => line.startsWith("data: {"));
  const breaches = frames.flatMap((one) => findBreach(document, schema, JSON.parse(one.slice(6))));
  return text.endsWith("data: [DONE]\n\n") ? breaches : [...breaches, "no end"];
}

/** Without a socket: two thirds of what a request costs would be the client's. */
const askInside = (method: string, path: string, body?: string) => {
  const headers = { authorization: `Bearer ${key}` };
  const request = new Request(`http://localhost${path}`, { method, headers, body });
  return app.app.server.answer(request);
};
const askOutside = (method: string, path: string) => app.ask(method, path, { key });

/** Sends the request, checks the reply, and counts statuses. */
async function tryOut(
  route: Route,
  drawn: readonly { path: string; body?: string }[],
  ask = askInside,
) {
  const statuses = new Map<number, number>();
  for (const { path, body } of drawn) {
    const reply = await ask(route.method, path, body);
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    const breaches = await checkReply(route, reply);
    // A comparison each time would be a third of it all.
    if (breaches.length > 0) expect([path, body?.slice(0, 500), breaches]).toBeUndefined();
  }
  expect(app.lines.filter(({ level }) => level === "error")).toEqual([]);
  expect(({} as Record<string, unknown>).stream).toBeUndefined();
  return statuses;
}

/** Registers a tool with any arguments; routes that revise it leave other tools unchanged. */
async function nameTool({ path }: Route): Promise<string> {
  if (!path.includes("{name}")) return "";
  const name = `fuzz_${path.split("/").at(-1)}`;
  await register(app, { name, parameters: { type: "object" }, endpoint: ENDPOINT });
  return name;
}

const success = ({ operation }: Route) =>
  Number(Object.keys(operation.responses).find((status) => status < "3"));

test("agents.errors.p9 every route with a body replies to any body as documented", async () => {
  const draw = createDraw(SEED);
  const isFree = ({ body, operation }: Route) =>
    body !== undefined && !NEED_SERVER.includes(operation.operationId!);
  for (const route of routes.filter(isFree)) {
    // Each way to decide has an approval of its own, which the first valid body decides.
    const approval = mine.approvals[route.path.endsWith("/approve") ? 0 : 1];
    const { id: agent } = await createAgent(app);
    // One that was disabled would send nothing.
    const { id: webhook } = await createWebhook(app);
    // An evaluation needs runs that have ended.
    const isEvaluation = route.path.endsWith("/evaluations");
    const own = { ...listOwn(mine), ...(!isEvaluation && { agent }), webhook };
    const params = listParams(route, own);
    if (isDecision(route)) params.id = approval.id;
    const path = writePath(route, { ...params, name: await nameTool(route) });
    // A random id belongs to no object, unless a success needs one.
    const known = route.body!.required?.includes("agent_id") ? agent : NOWHERE;
    const bodies = Array.from({ length: BODIES }, () =>
      drawBody(document, route.body!, draw).replaceAll(NOWHERE, known),
    );
    const statuses = await tryOut(
      route,
      bodies.map((body) => ({ path, body })),
    );
    // Successes and refusals are both frequent enough.
    const share = BODIES / (SHARES[nameOf(route)] ?? SHARE);
    const name = nameOf(route);
    expect([name, (statuses.get(success(route)) ?? 0) > share]).toEqual([name, true]);
    expect([name, statuses.get(400)! > BODIES / 8]).toEqual([name, true]);
  }
}, 120_000);

test("agents.errors.p9 every route replies to any query as documented", async () => {
  const draw = createDraw(SEED);
  let tried = 0;
  for (const route of routes.filter(({ method }) => method === "GET")) {
    const fields = listQuery(route);
    if (Object.keys(fields).length === 0) continue;
    tried++;
    const path = aim(route);
    const drawn = Array.from({ length: QUERIES }, () => ({
      path: `${path}?${drawQuery(document, fields, draw)}`,
    }));
    const statuses = await tryOut(route, drawn);
    const name = nameOf(route);
    expect([name, statuses.get(200)! > QUERIES / 20]).toEqual([name, true]);
    expect([name, statuses.get(400)! > QUERIES / 12]).toEqual([name, true]);
  }
  expect(tried).toBeGreaterThan(6);
}, 120_000);

test("agents.resources.p4 every route replies to any path parameter as documented", async () => {
  const draw = createDraw(SEED);
  const places = [..."%/?#.-\u0000😀 {}_'\";:@&=+~aF0"];
  for (const route of routes.filter(({ path }) => path.includes("{"))) {
    const isNamed = route.path.includes("{name}");
    const own: string = isNamed ? mine.tool.name : mine.agent.id;
    const spoilt = listNames(route).at(-1)!;
    const drawn = Array.from({ length: IDS }, () => {
      const at = draw(own.length + 1);
      const mark = places[draw(places.length)]!;
      const spoiled = own.slice(0, at) + encodeURIComponent(mark) + own.slice(at + draw(2));
      return { path: writePath(route, { [spoilt]: spoiled }) };
    });
    // Normalisation of the path by the client counts.
    const statuses = await tryOut(route, drawn, askOutside);
    // A name may be anything: it is only none of the caller's. Of a body there is none here.
    const status = isNamed && !route.body?.required ? 404 : 400;
    expect([nameOf(route), statuses.get(status)! > IDS / 2]).toEqual([nameOf(route), true]);
  }
}, 120_000);
