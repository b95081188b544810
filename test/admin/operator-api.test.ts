// Tests the operator API: who may call which route, from where, and what a refusal looks like.
import { describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { OPERATIONS } from "../../src/admin/operations/index.ts";
import { createOperatorApi } from "../../src/admin/operator-api.ts";
import { readSettings } from "../../src/settings/index.ts";
import { KEY, startApp } from "../support/app.ts";
import { listBounds } from "../support/bounds.ts";
import { createManualClock } from "../support/clock.ts";
import { findClosedPort } from "../support/ports.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const HOUR_MS = 3_600_000;

async function open(options: Parameters<typeof startApp>[0] = {}) {
  const { app, clock, ask, stop } = await startApp(options);
  const { operators } = app.admin;
  const { token } = await operators.create({ name: "noura", role: "operator" });
  const make = async (name: string, role: "operator" | "approver", lifetimeMs?: number) =>
    (await operators.create({ name, role, lifetimeMs })).token;
  const call = (method: string, path: string, key: string | null = token, body?: unknown) =>
    ask(method, path, { key, body });
  return { app, clock, call, make, token, stop };
}

const explain = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message];
};

const routes = OPERATIONS.map(({ method, path, isForApprovers = false }) => ({
  method: method as string,
  path: `/operator/v1${path.replaceAll(/:\w+/g, UNKNOWN)}`,
  isForApprovers,
}));
const bodyOf = (method: string) => (method === "GET" || method === "DELETE" ? undefined : {});

describe("every route", () => {
  test("refuses a request without a token, with a key, or with a token not in force", async () => {
    const { call, clock, app, make, stop } = await open();
    const revoked = await make("revoked", "operator");
    await app.admin.operators.revoke("revoked");
    const expired = await make("expired", "operator", HOUR_MS);
    await clock.advance(HOUR_MS);
    for (const { method, path } of routes) {
      const missing = await call(method, path, null, bodyOf(method));
      expect((await explain(missing)).slice(0, 2), path).toEqual([401, "missing_api_key"]);
      for (const wrong of [KEY, `${KEY}-approver`, revoked, expired, "x".repeat(600)]) {
        const reply = await call(method, path, wrong, bodyOf(method));
        expect((await explain(reply)).slice(0, 2), path).toEqual([401, "invalid_api_key"]);
      }
      // Refused attempts are counted, too.
      await clock.advance(60_000);
    }
    await stop();
  });

  test("refuses an approver, unless it lists, shows or decides approvals", async () => {
    const { call, make, stop } = await open();
    const approver = await make("sami", "approver");
    for (const { method, path, isForApprovers } of routes) {
      const reply = await call(method, path, approver, bodyOf(method));
      const allowed = path.endsWith("/approvals") ? 200 : 404;
      expect(reply.status, path).toBe(isForApprovers ? allowed : 403);
    }
    await stop();
  });

  test("tells an approver nothing of the parameters of a route that it may not use", async () => {
    const { call, make, stop } = await open();
    const approver = await make("sami", "approver");
    for (const { method, path, isForApprovers } of routes) {
      if (isForApprovers) continue;
      const reply = await call(method, `${path}?nonsense=1`, approver, bodyOf(method));
      expect((await explain(reply)).slice(0, 2), path).toEqual([403, "permission_denied"]);
    }
    await stop();
  });

  test("refuses unknown fields and parameters", async () => {
    const { call, stop } = await open();
    for (const { method, path } of routes) {
      const isQuery = bodyOf(method) === undefined;
      const reply = isQuery
        ? await call(method, `${path}?nonsense=1`)
        : await call(method, path, undefined, { nonsense: 1 });
      const [status, code, message] = await explain(reply);
      expect([status, code], path).toEqual([400, "invalid_request"]);
      expect(message).toBeString();
    }
    await stop();
  });
});

test("an operator's token is of no use on the public API", async () => {
  const { call, stop } = await open();
  expect((await call("GET", "/v1/models")).status).toBe(401);
  expect((await call("GET", "/v1/runs")).status).toBe(401);
  await stop();
});

test("a reply is the JSON of the command, and no cache keeps it", async () => {
  const { call, stop } = await open();
  const reply = await call("POST", "/operator/v1/accounts", undefined, { name: "acme" });
  expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(await reply.json()).toMatchObject({ name: "acme", created_at: expect.any(String) });
  const list = (await (await call("GET", "/operator/v1/accounts")).json()) as { name: string }[];
  expect(list.map(({ name }) => name)).toEqual(["acme", "dev", "other"]);
  await stop();
});

test("a refusal says what is wrong: 400, 404 or 409", async () => {
  const { call, stop } = await open();
  const create = (name: string) => call("POST", "/operator/v1/accounts", undefined, { name });
  await create("acme");
  expect((await explain(await create("acme"))).slice(0, 2)).toEqual([409, "conflict"]);
  const ada = { name: "ada", role: "operator" };
  const name = () => call("POST", "/operator/v1/operators", undefined, ada);
  expect([(await name()).status, (await name()).status]).toEqual([200, 409]);
  expect((await explain(await create("-"))).slice(0, 2)).toEqual([400, "invalid_request"]);
  const unknown = await call("GET", `/operator/v1/runs/${UNKNOWN}`);
  expect(await explain(unknown)).toEqual([
    404,
    "not_found",
    `there is no run "${UNKNOWN}": see \`wadi runs list\``,
  ]);
  await stop();
});

test("a change by a token is in the audit log under the operator's name", async () => {
  const { app, call, stop } = await open();
  await call("PUT", "/operator/v1/accounts/dev/hold", undefined, { reason: "late" });
  const [entry] = await app.admin.audit.list({ limit: 1 });
  expect(entry).toMatchObject({
    actor: "noura",
    actor_kind: "operator",
    via: "operator API",
    operation: "accounts hold",
    target: "dev",
    outcome: "done",
  });
  await stop();
});

test("an id with a slash is one segment when it is encoded", async () => {
  const settings = `[[models]]
id = "maker/model"
upstream = { kind = "stub" }
`;
  const { call, stop } = await open({ settings });
  const reply = await call("POST", "/operator/v1/models/maker%2Fmodel/off");
  expect(await reply.json()).toMatchObject({ id: "maker/model", is_off: true });
  await stop();
});

test("an operator has so many requests a minute, and so has an address that guesses", async () => {
  const settings = "[operator]\nrequests_per_minute = 2\n";
  const { app, call, make, stop } = await open({ settings });
  const other = await make("sami", "approver");
  const status = async (key?: string) => (await call("GET", "/operator/v1/approvals", key)).status;
  expect([await status(), await status(), await status()]).toEqual([200, 200, 429]);
  expect([await status(other), await status("no"), await status("no")]).toEqual([200, 401, 401]);
  const refused = await call("GET", "/operator/v1/approvals", "no");
  expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, 60]);
  await app.change(readSettings("[operator]\nrequests_per_minute = 9\n", "wadi.toml", {}, {}));
  expect(await status()).toBe(200);
  await stop();
});

test("requests that an approver may not send count against its limit, too", async () => {
  const settings = "[operator]\nrequests_per_minute = 2\n";
  const { call, make, stop } = await open({ settings });
  const approver = await make("sami", "approver");
  const status = async () => (await call("GET", "/operator/v1/accounts", approver)).status;
  expect([await status(), await status(), await status()]).toEqual([403, 403, 429]);
  await stop();
});

test("switched off, every path of it is 404", async () => {
  const { call, stop } = await open({ settings: "[operator]\nenabled = false\n" });
  for (const path of ["/operator/v1/accounts", "/operator/openapi.json", "/operator/v1/x"]) {
    expect((await call("GET", path)).status, path).toBe(404);
    // A refused token would show that the API is there.
    for (const token of [null, "no"]) {
      expect((await call("GET", path, token)).status, path).toBe(404);
    }
  }
  await stop();
});

describe("without an address of its own", () => {
  test("it answers this machine, and not the client of a proxy", async () => {
    const { app, token, stop } = await open({ listens: true });
    const { url } = app.server;
    const get = (headers: Record<string, string> = {}) =>
      fetch(`${url}/operator/v1/accounts`, {
        headers: { authorization: `Bearer ${token}`, ...headers },
      });
    expect((await get()).status).toBe(200);
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "via"]) {
      expect((await get({ [name]: "203.0.113.9" })).status, name).toBe(404);
    }
    await stop();
  });
});

describe("with an address of its own", () => {
  test("it answers there only, and nothing else does", async () => {
    const port = findClosedPort();
    const settings = `[operator]\nlisten = "127.0.0.1:${port}"\n`;
    const { app, token, stop } = await open({ listens: true, settings });
    const status = async (at: string) =>
      (await fetch(at, { headers: { authorization: `Bearer ${token}`, via: "1.1 proxy" } })).status;
    const own = `http://127.0.0.1:${port}`;
    expect(await status(`${own}/operator/v1/accounts`)).toBe(200);
    expect(await status(`${own}/v1/models`)).toBe(404);
    expect(await status(`${own}/healthz`)).toBe(404);
    expect(await status(`${app.server.url}/operator/v1/accounts`)).toBe(404);
    expect(await status(`${app.server.url}/operator/openapi.json`)).toBe(404);
    expect(await status(`${own}/console/approvals`)).toBe(200);
    expect(await status(`${own}/docs/errors`)).toBe(200);
    expect(await status(`${app.server.url}/console/approvals`)).toBe(404);
    await stop();
    expect(fetch(`${own}/healthz`)).rejects.toThrow();
  });
});

test("its own names are the hosts that are listened on, and those of the addresses for people", () => {
  const [operator_url, server_url] = ["https://ops.example", "https://api.example"];
  const settings = {
    server: { host: "wadi-host", public_url: server_url },
    operator: { listen: "ops-host:9090", public_url: operator_url, requests_per_minute: 1 },
  };
  const deps = { settings: () => settings, clock: createManualClock(), installationId: "i-1" };
  const { own } = createOperatorApi(deps as never);
  expect(own.hosts()).toEqual(["wadi-host", "ops-host"]);
  expect(own.publicUrls()).toEqual([operator_url, server_url]);
  settings.operator.listen = "";
  expect(own.hosts()).toEqual(["wadi-host"]);
});

test("an address that is taken ends the start with the name of its setting", async () => {
  const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("") });
  const settings = `[operator]\nlisten = "127.0.0.1:${other.port}"\n`;
  await expect(open({ listens: true, settings })).rejects.toThrow(
    `port ${other.port} on 127.0.0.1 is taken: stop what listens there, or choose another with ` +
      "operator.listen",
  );
  await other.stop(true);
});

test("its document is valid, complete, and apart from the public one", async () => {
  const { call, stop } = await open();
  const response = await call("GET", "/operator/openapi.json", null);
  const document = (await response.json()) as { paths: Record<string, Record<string, object>> };
  expect((await new Validator().validate(document as never)).errors).toBeUndefined();
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  // The stream of changes is no operation.
  expect(operations).toHaveLength(OPERATIONS.length + 1);
  const { parameters } = document.paths["/operator/v1/runs"]!.get as { parameters: object[] };
  const written = { in: "query", style: "deepObject", explode: true };
  expect(parameters).toContainEqual(expect.objectContaining({ name: "metadata", ...written }));
  const { "..4096 characters": names, ...bounds } = listBounds(document);
  expect(names).toContain("accountsHold.reason accountsHold?name");
  expect(bounds).toEqual({
    "0..1000000000000000":
      "accountsLimitChange.requests_day accountsLimitChange.requests_minute " +
      "accountsLimitChange.requests_month accountsLimitChange.tokens_day " +
      "accountsLimitChange.tokens_minute accountsLimitChange.tokens_month " +
      "keysLimitChange.requests_day keysLimitChange.requests_minute " +
      "keysLimitChange.requests_month keysLimitChange.tokens_day " +
      "keysLimitChange.tokens_minute keysLimitChange.tokens_month",
    "..1000 items":
      "connectionsCreate.allowed_hosts connectionsSetSecret.allowed_hosts " +
      "keysCreate.models keysCreate.scopes keysUpdate.models keysUpdate.scopes",
    "1..":
      "agentsDiff?from agentsDiff?to agentsShow?version approvalsLink.lifetime_ms keysCreate.lifetime_ms " +
      "keysUpdate.lifetime_ms operatorsCreate.lifetime_ms runsRound?round",
    "0..604800": "triggersRotate.overlap_seconds",
    "1..60 characters": "approvalsLink.for",
    "..200 characters": "runsCount?text runsList?text",
    "..256 characters": "find?text",
    "..512 characters": "runsCount?metadata{} runsList?metadata{} runsStart.metadata{}",
    "..958 characters": "approvalsReject.answer",
    "0..":
      "keysRotate.overlap_ms requestsFollow?slower_than_ms requestsList?slower_than_ms " +
      "runsFollow?after",
    "1..10000":
      "agentsEvaluations?limit agentsVersions?limit approvalsList?limit auditList?limit requestsList?limit " +
      "runsList?limit triggersFires?limit webhooksDeliveries?limit",
    "..128 items": "agentsCreate.tools",
    "..8 items": "runsStart.images",
    "1..262144 characters": "runsStart.images[]",
    "1..64 characters":
      "agentsCreate.tools[] agentsEvaluate.checks[].called.tool " +
      "agentsEvaluate.checks[].not_called.tool",
    "..20 items": "agentsEvaluate.checks",
    "..24 characters": "agentsEvaluate.checks[].max_cost_sar",
    "..36 characters": "agentsEvaluate.runs[] agentsEvaluation?id agentsEvaluationCancel?id",
    "0..2147483647":
      "agentsEvaluate.checks[].max_rounds agentsEvaluate.checks[].max_seconds " +
      "agentsEvaluate.checks[].max_total_tokens",
    "1..1000 characters": "agentsEvaluate.checks[].output_pattern",
    "1..2147483647":
      "agentsEvaluate.version runsAgain.from_round runsAgain.version toolsAccept.revision",
    "1..500": "agentsEvaluate.last",
    "1..500 items": "agentsEvaluate.runs",
    "1..200 characters": "agentsCreate.name",
    "1..100000 characters": "agentsCreate.system_prompt runsStart.message",
    "1..1000": "runsFollow?limit",
    "..1000 characters": "approvalsApprove.reason approvalsReject.reason",
    "..16384 characters": "connectionsCreate.secret connectionsSetSecret.secret",
    "..128 characters": "requestsFollow?id requestsList?before requestsShow?id",
    "1..9007199254740991": "processesDrain?epoch processesUndrain?epoch",
    "..500 characters": "webhooksCreate.description",
    "1..2048 characters": "webhooksCreate.url",
    "1..7 items": "webhooksCreate.events",
  });
  const ids = operations.map((operation) => (operation as { operationId: string }).operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const paths = await (await call("GET", "/openapi.json", null)).text();
  expect(paths).not.toContain("/operator/");
  await stop();
});
