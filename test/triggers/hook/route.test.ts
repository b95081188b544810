// Tests the hook with a failing fire, and with a faster concurrent one: nothing is lost.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createSecretPairs } from "../../../src/crypto/signing/secret-pair.ts";
import { makeSigningSecret, signMessage } from "../../../src/crypto/signing/signature.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { readSettings } from "../../../src/settings/index.ts";
import type { FireRow } from "../../../src/triggers/fire.ts";
import type { FireRequest, FireTrigger } from "../../../src/triggers/fire-run.ts";
import { openHook } from "../../../src/triggers/hook.ts";
import { createTestServer, type TestServer } from "../../http/test-server.ts";
import { create as createAgent } from "../../store/agent-cases.ts";
import { bindStores, type Stores } from "../../store/cases.ts";
import { archive } from "../../store/trigger-acts.ts";
import { createManualClock } from "../../support/clock.ts";
import { openTestDatabase, type TestDatabase } from "../../support/database.ts";
import { openTestSecrets } from "../../support/secrets.ts";
import { makeHook } from "../../support/triggers.ts";

const ID = "01920000-0000-7000-8000-0000000000aa";
const SECRET = makeSigningSecret();
const FIRE: FireRow = {
  ...{ id: "01920000-0000-7000-8000-0000000000bb", trigger_id: ID, source: "webhook" },
  ...{ outcome: "started", run_id: "01920000-0000-7000-8000-0000000000cc" },
  ...{ scheduled_at: null, webhook_id: "one", missed_count: 0, error: null },
  ...{ created_at: 0, ended_at: 0, fired_by_key_id: null },
};

let database: TestDatabase;
let stores: Stores;
let http: TestServer;
let fire: FireTrigger;
let requests: FireRequest[];
let isDiskFull: boolean;
/** The message of the last refusal. */
let message: string | undefined;
beforeEach(async () => {
  database = await openTestDatabase({ kind: "memory" });
  stores = bindStores(database);
  requests = [];
  isDiskFull = false;
  const clock = createManualClock();
  const secrets = openTestSecrets(database, clock);
  const settings = readSettings("", "wadi.toml", {}, {});
  const deps = { database, clock, secrets, settings: () => settings };
  http = createTestServer(
    (router) => {
      const note: FireTrigger = (request) => {
        requests.push(request);
        return fire(request);
      };
      const requireDisk = () => {
        if (isDiskFull) throw apiError("service_unavailable");
      };
      openHook(router, note, { ...deps, disk: { require: requireDisk } });
    },
    { surface: "agents", clock },
  );
  await createAgent(stores, "g-1");
  const hook = makeHook(ID);
  const about = { kind: "trigger", row_id: ID, account_id: "a-1", set_at: 0 } as const;
  await createSecretPairs(secrets).store(about, SECRET, (sealed) =>
    stores.triggers.create(hook, sealed, 100),
  );
});
afterEach(() => database.close());

async function send(body = '{"a":1}', id = "one") {
  const now_s = Math.floor(createManualClock().now() / 1_000);
  const headers = {
    ...{ "content-type": "application/json", "webhook-id": id },
    "webhook-timestamp": String(now_s),
    "webhook-signature": signMessage([SECRET], id, now_s, Buffer.from(body)),
  };
  const reply = await http.ask("POST", `/v1/hooks/${ID}`, { headers, body });
  // biome-ignore lint/suspicious/noExplicitAny: a receipt, or a refusal.
  const value = (await reply.json()) as any;
  message = value.error?.message;
  const retry_after = reply.headers.get("retry-after");
  return [reply.status, value.error?.code ?? value, ...(retry_after ? [retry_after] : [])];
}

test("agents.endpoints.triggers.p5 it fires once with the sent body, and returns only the id, outcome and run of the fire", async () => {
  fire = async () => ({ kind: "fired", fire: FIRE, retry_after: null });
  const { id, outcome, run_id } = FIRE;
  expect(await send()).toEqual([202, { fire: { id, outcome, run_id } }]);
  expect(requests).toMatchObject([
    { source: "webhook", webhook_id: "one", hook: { a: 1 }, trigger: { id: ID } },
  ]);
});

describe("agents.errors.internal_error", () => {
  test("agents.errors.internal_error an unexpected failure is a logged 500, and the same request may be sent again", async () => {
    fire = async () => {
      throw new Error("the disk is full");
    };
    expect(await send()).toEqual([500, "internal_error"]);
    expect(http.lines).toMatchObject([
      {
        ...{
          level: "error",
          message: "http: a request failed",
          route: "POST /v1/hooks/:trigger_id",
        },
        error: expect.stringContaining("the disk is full"),
      },
    ]);
    expect(await stores.triggers.findRequested(ID, "one")).toBeUndefined();
    fire = async () => ({ kind: "fired", fire: FIRE, retry_after: null });
    expect((await send())[0]).toBe(202);
  });

  test("agents.errors.internal_error a fire that could not start a run is a 500 too, and is stored", async () => {
    const error = { code: "no_model_available", message: "The default model is not available." };
    const failed: FireRow = { ...FIRE, outcome: "failed", run_id: null, error };
    fire = async () => ({ kind: "fired", fire: failed, retry_after: null });
    expect(await send()).toEqual([500, "internal_error"]);
    expect(JSON.stringify(http.lines)).toContain("no_model_available");
  });
});

describe("the trigger is meanwhile", () => {
  const unstarted = (outcome: FireRow["outcome"], code: string, retry_after: string | null) => {
    const error = { code, message: "Such a sentence." };
    const row: FireRow = { ...FIRE, outcome, run_id: null, error };
    fire = async () => ({ kind: "fired", fire: row, retry_after });
    return send();
  };

  test("agents.errors.trigger_paused paused, or paused by this fire", async () => {
    fire = async () => ({ kind: "paused" });
    expect(await send()).toEqual([409, "trigger_paused"]);
    expect(await unstarted("refused", "permission_denied", null)).toEqual([409, "trigger_paused"]);
  });

  test("agents.errors.invalid_signature deleted: the answer is that of an unknown one", async () => {
    fire = async () => ({ kind: "gone" });
    expect(await send()).toEqual([401, "invalid_signature"]);
  });

  test("agents.endpoints.triggers.p6 fired by the same request, which was faster", async () => {
    fire = async () => ({ kind: "known", fire: FIRE });
    expect((await send())[0]).toBe(200);
  });

  test("agents.errors.agent_held held", async () => {
    expect(await unstarted("held", "agent_held", null)).toEqual([503, "agent_held", "60"]);
  });

  test("agents.errors.rate_limited agents.limits.retry_after at a limit of its runs: the answer always has Retry-After", async () => {
    const limited = [429, "rate_limited"];
    expect(await unstarted("limited", "daily_runs_limit", "77")).toEqual([...limited, "77"]);
    expect(message).toBe("Such a sentence.");
    expect(await unstarted("limited", "thread_busy", null)).toEqual([...limited, "10"]);
  });
});

test("a refused request fires nothing", async () => {
  fire = async () => ({ kind: "fired", fire: FIRE, retry_after: null });
  expect(await send("")).toEqual([400, "invalid_request"]);
  await stores.holds.hold({ kind: "agent", id: "g-1", account_id: "a-1", reason: null, since: 0 });
  expect(await send("")).toEqual([503, "agent_held", "60"]);
  // agents.states.p12: by its agent, whether or not that is stored yet.
  await archive(stores);
  expect(await send()).toEqual([409, "trigger_paused"]);
  expect(requests).toEqual([]);
});

test("agents.errors.agent_held agents.errors.p3: a nearly full disk refuses a request, but not the record of a held one", async () => {
  const error = { code: "agent_held", message: "Such a sentence." };
  const held: FireRow = { ...FIRE, outcome: "held", run_id: null, error };
  fire = async () => ({ kind: "fired", fire: held, retry_after: null });
  isDiskFull = true;
  expect(await send("")).toEqual([400, "invalid_request"]);
  expect((await send()).slice(0, 2)).toEqual([503, "service_unavailable"]);
  expect(requests).toEqual([]);
  await stores.holds.hold({ kind: "agent", id: "g-1", account_id: "a-1", reason: null, since: 0 });
  expect(await send()).toEqual([503, "agent_held", "60"]);
  expect(requests).toHaveLength(1);
});
