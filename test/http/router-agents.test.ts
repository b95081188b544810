// Tests the router of the agents surface: the order of errors, its envelope, its grace period.
import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { Caller, Scope } from "../../src/access/index.ts";
import { IdParams } from "../../src/http/fields.ts";
import { apiError } from "../../src/platform/errors.ts";
import { caller, createTestServer, describeRoute } from "./test-server.ts";

const ID = "01920000-0000-7000-8000-00000000000a";
const Body = Type.Object({ size: Type.Integer({ minimum: 1 }) }, { additionalProperties: false });
const Query = Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })) });
const thing = {
  ...describeRoute(Body),
  ...{ scope: "agents" as const, feature: "http_tools" as const, params: IdParams, query: Query },
  async authorize({ caller: { scopes } }: { caller: Caller }) {
    if (!scopes.includes("agents.approve")) throw apiError("scope_required");
  },
};

/** The caller's error; `undefined` is a missing field. */
type RefusalParts = [status: number, type: string, code: string | undefined, param: string | null];

async function readRefusal(response: Response): Promise<RefusalParts> {
  const body = (await response.json()) as {
    error: { message: string; type: string; code?: string; param: string | null };
  };
  // agents.errors.p1
  expect(Object.keys(body)).toEqual(["error"]);
  expect(body.error.message).toMatch(/^.+\.$/);
  return [response.status, body.error.type, body.error.code, body.error.param];
}

interface Trial {
  path: string;
  headers: Record<string, string>;
  body: string;
  scopes: Scope[];
  isOpen: boolean;
  isEnabled: boolean;
  exceeds: "address" | "key" | null;
}

const exceeded = () => apiError("rate_limit_exceeded", { headers: { "retry-after": "7" } });

function send(trial: Trial): Promise<Response> {
  const { ask } = createTestServer(
    (router) => router.post("/v1/agents/:id/things", thing, () => [200, {}]),
    {
      surface: "agents",
      async identify(authorization) {
        if (authorization !== "Bearer key") throw apiError("invalid_api_key");
        return { ...caller, scopes: trial.scopes };
      },
      limiter: {
        take() {
          if (trial.exceeds === "key") throw exceeded();
          return null;
        },
      },
      isOpen: () => trial.isOpen,
      isEnabled: () => trial.isEnabled,
      limitAddress() {
        if (trial.exceeds === "address") throw exceeded();
        return null;
      },
    },
  );
  return ask("POST", trial.path, { headers: trial.headers, body: trial.body });
}

describe("agents.errors.p9 a request is checked in one order, and the first error answers", () => {
  const faults: { what: string; break: (trial: Trial) => void; says: RefusalParts }[] = [
    {
      what: "its path",
      break: (trial) => (trial.path = trial.path.replace("things", "nothings")),
      says: [404, "not_found_error", "not_found", null],
    },
    {
      what: "agents.p5 agents.errors.not_enabled the service that is not open",
      break: (trial) => (trial.isOpen = false),
      says: [503, "server_error", "not_enabled", null],
    },
    {
      what: "agents.limits.request_rate its client's address",
      break: (trial) => (trial.exceeds = "address"),
      says: [429, "rate_limit_error", undefined, null],
    },
    {
      what: "agents.authentication.1 its key",
      break: ({ headers }) => (headers.authorization = "Bearer other"),
      says: [401, "authentication_error", undefined, null],
    },
    {
      what: "agents.authentication.4 an internal header",
      break: ({ headers }) => (headers["x-svc-internal-hop"] = "1"),
      says: [403, "permission_error", "permission_denied", null],
    },
    {
      what: "agents.limits.request_rate its key's limit",
      break: (trial) => (trial.exceeds ??= "key"),
      says: [429, "rate_limit_error", undefined, null],
    },
    {
      what: "agents.errors.scope_required its scope",
      break: (trial) => (trial.scopes = []),
      says: [403, "permission_error", "scope_required", null],
    },
    {
      what: "agents.errors.not_enabled the feature that is switched off",
      break: (trial) => (trial.isEnabled = false),
      says: [403, "permission_error", "not_enabled", null],
    },
    {
      what: "agents.resources.p4 the id in its path",
      break: (trial) => (trial.path = trial.path.replace(ID, "mine")),
      says: [400, "invalid_request_error", undefined, "id"],
    },
    {
      what: "its query",
      break: (trial) => (trial.path += "?limit=201"),
      says: [400, "invalid_request_error", undefined, "limit"],
    },
    {
      what: "the ownership of the path's object",
      break: (trial) => (trial.scopes = trial.scopes.filter((one) => one === "agents")),
      says: [403, "permission_error", "scope_required", null],
    },
    {
      what: "agents.limits.body_size agents.errors.p10 the size of its body",
      break: (trial) => (trial.body = trial.body.padEnd(256 * 1024 + 1)),
      says: [413, "invalid_request_error", undefined, null],
    },
    {
      what: "its JSON",
      break: (trial) => (trial.body = trial.body.replace("{", "[")),
      says: [400, "invalid_request_error", undefined, null],
    },
    {
      what: "agents.errors.p4 agents.errors.p5 its fields",
      break: (trial) => (trial.body = trial.body.replace("5", '5,"colour":1')),
      says: [400, "invalid_request_error", undefined, "colour"],
    },
  ];
  const run = (broken: typeof faults) => {
    const path = `/v1/agents/${ID}/things`;
    const scopes: Scope[] = ["agents", "agents.approve"];
    const rest = { isOpen: true, isEnabled: true, exceeds: null, scopes };
    const trial: Trial = { path, headers: {}, body: '{"size":5}', ...rest };
    // From the last to the first; of two exceeded limits the one nearer to the caller stays.
    for (const fault of broken.toReversed()) fault.break(trial);
    return send(trial);
  };

  test("agents.p3 a valid request is answered", async () => {
    expect((await run([])).status).toBe(200);
  });
  for (const [i, fault] of faults.entries()) {
    test(`${fault.what} decides alone, and before all later faults`, async () => {
      expect(await readRefusal(await run([fault]))).toEqual(fault.says);
      expect(await readRefusal(await run(faults.slice(i)))).toEqual(fault.says);
    });
  }

  test("agents.limits.retry_after both limits answer with Retry-After", async () => {
    for (const fault of faults.filter(({ says }) => says[0] === 429)) {
      expect((await run([fault])).headers.get("retry-after")).toBe("7");
    }
  });
});

describe("agents.p5 while the service is not open", () => {
  const { ask } = createTestServer(
    (router) =>
      router.post("/v1/agents", { ...describeRoute(Body), scope: "agents" }, () => [201, {}]),
    { surface: "agents", isOpen: () => false },
  );

  test("a route answers 503 with a key and without, and nothing is counted", async () => {
    for (const authorization of ["Bearer key", "Bearer other", ""]) {
      const response = await ask("POST", "/v1/agents", { headers: { authorization }, body: "{}" });
      expect(await readRefusal(response)).toEqual([503, "server_error", "not_enabled", null]);
    }
  });

  test("a wrong method and an unknown path are still not found", async () => {
    for (const [method, path] of [
      ["DELETE", "/v1/agents"],
      ["HEAD", "/v1/agents"],
      ["GET", "/v1/agents/x/y/z"],
    ] as const) {
      expect((await ask(method, path)).status).toBe(404);
    }
  });
});

test("agents.authentication.4 an internal key is refused", async () => {
  const { ask } = createTestServer(
    (router) => router.get("/v1/agents", describeRoute<never>(), () => [200, {}]),
    { surface: "agents", identify: async () => ({ ...caller, kind: "internal" }) },
  );
  const refusal = await readRefusal(await ask("GET", "/v1/agents"));
  expect(refusal).toEqual([403, "permission_error", "permission_denied", null]);
});

test("agents.authentication.3 the grace period serves a key without `agents`, except on routes that require the scope", async () => {
  let enforces = false;
  const { ask } = createTestServer(
    (router) => {
      const spec = { ...describeRoute<never>(), scope: "agents" as const };
      router.get("/v1/agents", spec, () => [200, {}]);
      router.get("/v1/webhooks", { ...spec, isScopeCertain: true }, () => [200, {}]);
      router.get("/v1/approvals", { ...spec, scope: "agents.approve" }, () => [200, {}]);
    },
    { surface: "agents", enforcesScope: () => enforces },
  );
  const listStatuses = async () => {
    const paths = ["/v1/agents", "/v1/webhooks", "/v1/approvals"];
    return Promise.all(paths.map(async (path) => (await ask("GET", path)).status));
  };
  expect(await listStatuses()).toEqual([200, 403, 403]);
  enforces = true;
  expect(await listStatuses()).toEqual([403, 403, 403]);
});

test("ownership is checked with the path's ids, before the body's length is and it is read", async () => {
  const asked: unknown[] = [];
  const { ask } = createTestServer(
    (router) => {
      const authorize = async ({ params }: { params: unknown }) => {
        asked.push(params);
        throw apiError("approval_not_found");
      };
      const spec = { ...describeRoute(Body), params: IdParams, authorize };
      router.post("/v1/approvals/:id/approve", spec, () => [200, {}]);
      router.get("/v1/approvals/:id", { ...spec, body: undefined }, () => [200, {}]);
    },
    { surface: "agents" },
  );
  const body = new ReadableStream({
    pull() {
      throw new Error("somebody reads it");
    },
  });
  const path = `/v1/approvals/${ID.toUpperCase()}/approve`;
  const response = await ask("POST", path, { body });
  const refused = [404, "not_found_error", "approval_not_found", null];
  expect(await readRefusal(response)).toEqual(refused as never);
  const headers = { "content-length": "9999999" };
  const bodiless = await ask("GET", `/v1/approvals/${ID}`, { headers });
  expect(await readRefusal(bodiless)).toEqual(refused as never);
  expect(asked).toEqual([{ id: ID }, { id: ID }]);
});

test("agents.limits.request_rate a key has its own count, over all routes", async () => {
  const callers = ["k1", "k1", "k2"].map((key_id) => ({ ...caller, key_id }));
  const { ask, taken } = createTestServer(
    (router) => {
      router.get("/v1/agents", describeRoute<never>(), () => [200, {}]);
      router.get("/v1/runs", describeRoute<never>(), () => [200, {}]);
    },
    { surface: "agents", identify: async () => callers.shift()! },
  );
  for (const path of ["/v1/agents", "/v1/runs", "/v1/runs"]) await ask("GET", path);
  expect(taken).toEqual(["k1", "k1", "k2"]);
});

test("agents.limits.body_size 256 KB are accepted, unless the route allows less", async () => {
  const { ask } = createTestServer(
    (router) => {
      const spec = describeRoute(Type.Object({}));
      router.post("/v1/agents", spec, () => [200, {}]);
      router.post("/v1/hooks", { ...spec, bodyBytesMax: 64 * 1024 }, () => [200, {}]);
    },
    { surface: "agents" },
  );
  const statusOf = async (path: string, kilobytes: number, more: number) => {
    const body = "{}".padEnd(kilobytes * 1024 + more);
    return (await ask("POST", path, { body })).status;
  };
  expect(await statusOf("/v1/agents", 256, 0)).toBe(200);
  expect(await statusOf("/v1/agents", 256, 1)).toBe(413);
  expect(await statusOf("/v1/hooks", 64, 0)).toBe(200);
  expect(await statusOf("/v1/hooks", 64, 1)).toBe(413);
});

test("every verb has its route, and a 204 has no body and no content type", async () => {
  const { ask } = createTestServer(
    (router) => {
      const spec = describeRoute(Type.Object({}));
      router.put("/v1/tools", spec, () => [200, { method: "PUT" }]);
      router.patch("/v1/tools", spec, () => [200, { method: "PATCH" }]);
      router.delete("/v1/tools", describeRoute<never>(), () => [204, null, { link: "<x>" }]);
    },
    { surface: "agents" },
  );
  for (const method of ["PUT", "PATCH"]) {
    expect(await (await ask(method, "/v1/tools")).json()).toEqual({ method });
  }
  const headers = { "x-request-id": "mine" };
  const response = await ask("DELETE", "/v1/tools", { headers });
  expect([response.status, await response.text()]).toEqual([204, ""]);
  expect(response.headers.get("content-type")).toBeNull();
  expect(response.headers.get("x-request-id")).toBe("mine");
  expect(response.headers.get("link")).toBe("<x>");
});

test("an empty body is {} if nothing is required, and otherwise lacks its fields", async () => {
  const bodies: unknown[] = [];
  const { ask } = createTestServer(
    (router) => {
      const Free = Type.Object({ note: Type.Optional(Type.String()) });
      router.post("/v1/runs", describeRoute(Free), ({ body }) => {
        bodies.push(body);
        return [202, {}];
      });
      router.post("/v1/agents", describeRoute(Body), () => [201, {}]);
    },
    { surface: "agents" },
  );
  const headers = { "content-type": "text/plain" };
  for (const init of [{}, { body: "" }, { headers }]) {
    expect((await ask("POST", "/v1/runs", init)).status).toBe(202);
  }
  expect(bodies).toEqual([{}, {}, {}]);
  const refusal = await readRefusal(await ask("POST", "/v1/agents"));
  expect(refusal).toEqual([400, "invalid_request_error", undefined, "size"]);
});
