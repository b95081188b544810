// Spec 001, "Errors": one envelope, and every route's refusals before it looks for anything.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KEY, type TestApp } from "../../support/app.ts";
import { readRefusal } from "./refusal.ts";
import {
  askRoute,
  isDecision,
  kindOf,
  listNames,
  listQuery,
  listRoutes,
  NOWHERE,
  type Route,
  readDocument,
  writePath,
} from "./routes.ts";
import { type Json, startService } from "./service.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/** The only route that ignores unknown parameters, by the spec. */
const CONNECTIONS = "/v1/tools/connections";
const STEPS = "GET /v1/runs/{id}/steps";

let app: TestApp;
let closed: TestApp;
let routes: Route[];
beforeAll(async () => {
  app = await startService();
  closed = await startService({ env: { WADI_AGENTS__OPEN: "false" } });
  routes = listRoutes(await readDocument(app));
});
afterAll(async () => {
  await app.stop();
  await closed.stop();
});

const nameOf = ({ method, path }: Route) => `${method} ${path}`;
/** Without decisions, which look for their approval first: they have tests of their own. */
const withBody = () => routes.filter((route) => route.body && !isDecision(route));
/** Has every scope of the agents API. */
const key = `${KEY}-approver`;
const VALID = { name: "Helper", system_prompt: "Be brief." };

describe("agents.errors.p1", () => {
  test("agents.errors.p1 agents.errors.p5 the envelope has message, type and param, and a code if one exists", async () => {
    const shown = await Promise.all([
      app.post("/v1/agents", { ...VALID, slug: "A" }),
      app.post("/v1/agents", { ...VALID, budgets: { max_cost_sar: "much" } }),
      app.get(`/v1/agents/${NOWHERE}`),
      app.get("/v1/agents", { key: null }),
    ]);
    const bodies: Json[] = await Promise.all(shown.map((reply) => reply.json()));
    expect(bodies.map((body) => body.error)).toEqual([
      { message: expect.any(String), type: "invalid_request_error", param: "slug" },
      {
        ...{ message: expect.any(String), type: "invalid_request_error" },
        ...{ code: "invalid_request", param: "budgets.max_cost_sar" },
      },
      {
        ...{ message: expect.any(String), type: "not_found_error" },
        ...{ code: "agent_not_found", param: null },
      },
      { message: expect.any(String), type: "authentication_error", param: null },
    ]);
  });

  test("the message may depend on the case, the code does not", async () => {
    const codes = new Set<string>();
    const messages = new Set<string>();
    for (const body of [{ budgets: { max_cost_sar: "x" } }, { tools: ["unheard_of"] }]) {
      const reply = await app.post("/v1/agents", { ...VALID, ...body });
      const { error } = (await reply.json()) as Json;
      codes.add(error.code);
      messages.add(error.message);
    }
    expect([...codes]).toEqual(["invalid_request"]);
    expect(messages.size).toBe(2);
  });
});

describe("agents.errors.p4 agents.errors.p9 an invalid request is 400 without code", () => {
  test("agents.resources.p4 agents.errors.p9 refuses an invalid UUID in the path, on every route", async () => {
    const ids = ["1", "mine", `${NOWHERE}0`, NOWHERE.slice(1), NOWHERE.replaceAll("-", ""), "%00"];
    ids.push(`{${NOWHERE}}`, `${NOWHERE.slice(0, -1)}g`, "%F0%9F%98%80", `urn:uuid:${NOWHERE}`);
    for (const route of routes) {
      for (const name of listNames(route).filter((one) => one !== "name")) {
        for (const id of ids) {
          const reply = await askRoute(app, route, { params: { [name]: id } });
          expect([nameOf(route), id, await readRefusal(reply)]).toEqual([
            ...[nameOf(route), id, [400, undefined, name]],
          ]);
        }
      }
    }
  });

  test("agents.errors.p9 agents.errors.p5 refuses an unknown query parameter, except on the steps", async () => {
    for (const route of routes) {
      for (const name of ["colour", "Limit", "api_key", "__proto__"]) {
        const reply = await askRoute(app, route, { query: { [name]: "1" } });
        const refusal = await readRefusal(reply);
        const says =
          nameOf(route) === STEPS ? [404, "run_not_found", null] : [400, undefined, name];
        expect([nameOf(route), refusal]).toEqual([nameOf(route), says]);
      }
    }
  });

  test("agents.errors.p9 refuses a query parameter that is repeated, empty, or out of range", async () => {
    for (const route of routes) {
      for (const [name, schema] of Object.entries(listQuery(route))) {
        const wrong = schema.type === "integer" ? ["x", "", "-1", "1.5", "1e3", "9999999999"] : [];
        if (schema.pattern) wrong.push("x", "");
        if (schema.type === "object") wrong.push("x", "");
        if (schema.enum) wrong.push("unheard_of", "");
        if (schema.maxLength) wrong.push("x".repeat(schema.maxLength + 1));
        expect([nameOf(route), name, wrong.length > 0]).toEqual([nameOf(route), name, true]);
        for (const text of wrong) {
          const reply = await askRoute(app, route, { query: { [name]: text } });
          expect([nameOf(route), name, text.slice(0, 20), await readRefusal(reply)]).toEqual([
            ...[nameOf(route), name, text.slice(0, 20), [400, undefined, name]],
          ]);
        }
        const path = writePath(route);
        const twice = await app.get(`${path}?${name}=1&${name}=1`);
        expect((await readRefusal(twice))[0]).toBe(400);
      }
    }
  });

  test("agents.errors.p9 refuses a body that is not JSON, not an object, or has an unknown field", async () => {
    const bodies: [body: string, param: string | null][] = [
      ["{", null],
      ["nonsense", null],
      ["[]", null],
      ["null", null],
      ['"text"', null],
      ['{"colour":"red"}', "colour"],
      ['{"__proto__":{}}', "__proto__"],
    ];
    expect(withBody().length).toBeGreaterThan(3);
    for (const route of withBody()) {
      for (const [body, param] of bodies) {
        const reply = await askRoute(app, route, { key, body });
        const refusal = await readRefusal(reply);
        // Of several faults the first is reported: a missing field.
        const missing = param === null ? undefined : route.body!.required?.[0];
        expect([nameOf(route), body, refusal]).toEqual([
          ...[nameOf(route), body, [400, undefined, missing ?? param]],
        ]);
      }
      // An empty body is `{}` where nothing is required.
      const [missing] = route.body!.required ?? [];
      const refusal = await readRefusal(await askRoute(app, route, { key, body: "" }));
      expect([nameOf(route), refusal.slice(0, 3)]).toEqual([
        nameOf(route),
        missing ? [400, undefined, missing] : [404, `${kindOf(route)}_not_found`, null],
      ]);
    }
  });

  test("agents.errors.p9 a route without a body refuses a non-empty one", async () => {
    const withoutBody = routes.filter(({ body, method }) => !body && method !== "GET");
    expect(withoutBody.length).toBeGreaterThan(9);
    const bodies: [body: string, param: string | null][] = [
      ["{", null],
      ["[]", null],
      ["null", null],
      ['{"colour":"red"}', "colour"],
    ];
    for (const route of withoutBody) {
      for (const [body, param] of bodies) {
        const refusal = await readRefusal(await askRoute(app, route, { key, body }));
        expect([nameOf(route), body, refusal]).toEqual([
          nameOf(route),
          body,
          [400, undefined, param],
        ]);
      }
      for (const body of ["", "{}"]) {
        const [status] = await readRefusal(await askRoute(app, route, { key, body }));
        expect([nameOf(route), status]).toEqual([nameOf(route), 404]);
      }
    }
  });

  test("agents.errors.p9 refuses a body of another content type", async () => {
    for (const route of withBody()) {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const reply = await askRoute(app, route, { key, headers });
      expect([nameOf(route), await readRefusal(reply)]).toEqual([
        ...[nameOf(route), [400, undefined, null]],
      ]);
    }
  });
});

describe("agents.p5", () => {
  test("agents.p5 agents.errors.not_enabled until the service is enabled every route answers 503, with or without a key", async () => {
    for (const route of routes) {
      for (const key of [KEY, `${KEY}-none`, `${KEY}-internal`, "x", null]) {
        for (const id of [NOWHERE, "mine"]) {
          const params = { id };
          const reply = await askRoute(closed, route, { key, params, query: { colour: "red" } });
          expect([nameOf(route), await readRefusal(reply)]).toEqual([
            ...[nameOf(route), [503, "not_enabled", null]],
          ]);
        }
      }
    }
  });

  test("agents.p5 the gateway and the document are available all the same", async () => {
    expect((await closed.get("/v1/models")).status).toBe(200);
    expect((await closed.get("/openapi.json", { key: null })).status).toBe(200);
    expect(listRoutes(await readDocument(closed)).length).toBe(routes.length);
  });
});

describe("unknown routes", () => {
  test("agents.p3 another method or an unknown path is not found, in the envelope of the agents API", async () => {
    const known = new Map<string, string[]>();
    for (const { method, path } of routes) known.set(path, [...(known.get(path) ?? []), method]);
    for (const [path, methods] of known) {
      const others = METHODS.filter((method) => !methods.includes(method));
      // Another route would read `usage` as an id; here it is neither an id nor a route.
      for (const method of others.filter((one) => one !== "HEAD")) {
        const reply = await app.ask(method, writePath({ path }));
        const refusal = await readRefusal(reply);
        // `usage` is an invalid id, and is read as one for methods of other routes.
        if (path === "/v1/agents/usage" && refusal[0] === 400) expect(method).toBe("PATCH");
        // `connections` is read as a tool's name there.
        else if (path === CONNECTIONS && method === "PATCH") expect(refusal[0]).toBe(400);
        else expect([method, path, refusal]).toEqual([method, path, [404, "not_found", null]]);
      }
      const head = await app.ask("HEAD", writePath({ path }));
      expect([path, head.status]).toEqual([path, 404]);
    }
    for (const path of [
      "/v1/agents/",
      `/v1/agents/${NOWHERE}/`,
      "/v1/runs/x/y/z",
      "/v1/threads//",
    ]) {
      for (const key of [KEY, null]) {
        const refusal = await readRefusal(await app.get(path, { key }));
        expect([path, refusal]).toEqual([path, [404, "not_found", null]]);
      }
    }
  });
});

test("agents.errors.p1 a request id is echoed, and a malformed one is replaced", async () => {
  for (const route of routes) {
    const mine = await askRoute(app, route, { headers: { "x-request-id": "mine-1" } });
    expect(mine.headers.get("x-request-id")).toBe("mine-1");
    const other = await askRoute(app, route, { headers: { "x-request-id": "a b" } });
    expect(other.headers.get("x-request-id")).toMatch(/^[\w-]{8,}$/);
  }
});
