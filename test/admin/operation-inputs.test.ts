// Tests what each operation asks of the parts: the caller's values in their places, and the
// defaults of what was left out; and what it replies of what they say.
import { describe, expect, test } from "bun:test";
import type { Admin } from "../../src/admin/index.ts";
import { OPERATIONS } from "../../src/admin/operations/index.ts";
import { ANSWER_BEGIN } from "../../src/agents/index.ts";
import { createManualClock } from "../support/clock.ts";

const clock = createManualClock();
const ACTOR = { kind: "operator", name: "noura", via: "operator API" } as const;

const FROM_2 = { from_round: 2, tools: "live" };

/** Returns the first call of a part, which then fails. */
async function findCall(name: string, input: object): Promise<[string, ...unknown[]]> {
  const operation = OPERATIONS.find((one) => one.name === name)!;
  const call = Promise.withResolvers<[string, ...unknown[]]>();
  const note =
    (called: string) =>
    (...args: unknown[]) => {
      call.resolve([called, ...args]);
      throw new Error("the call is known");
    };
  const parts = new Proxy({} as Admin, {
    get(_, part: string) {
      if (part === "clock") return clock;
      return new Proxy(note(part), { get: (_, method: string) => note(`${part}.${method}`) });
    },
  });
  await expect((async () => operation.run(parts, input as never, ACTOR))()).rejects.toThrow(
    "the call is known",
  );
  return call.promise;
}

const NO_SEARCH = {
  ...{ account: null, agent: null, status: null, trigger_kind: null, since: null, text: null },
  metadata: null,
};
const SEARCH = {
  ...{ account: "acme", agent: "a-1", status: "failed", trigger_kind: "schedule" },
  ...{ since: "1h", text: "Hello", metadata: { ticket: "A-17" } },
};
const BESIDE = { metadata: { ticket: "A-17" }, images: ["https://images.example.org/a.gif"] };
const NO_KEY = {
  ...{ account: null, name: null, is_internal: false, scopes: [], models: null },
  ...{ max_output_tokens: null, lifetimeMs: null },
};
const HOUR_AGO = clock.now() - 3_600_000;
const CONNECTION = { account: "acme", name: "crm", secret: "s" };

type Row = [operation: string, input: object, call: [string, ...unknown[]]];

const OPTIONAL: Row[] = [
  ["accounts hold", { name: "acme" }, ["accounts.hold", "acme", null]],
  ["agents hold", { id: "a-1" }, ["agents.hold", "a-1", null]],
  ["agents list", {}, ["agents.list", null]],
  ["agents show", { id: "a-1" }, ["agents.show", "a-1", null]],
  ["agents diff", { id: "a-1", from: 1, to: 2 }, ["agents.diff", "a-1", 1, 2]],
  [
    "agents evaluate",
    { agent: "a-1" },
    ["evaluations.start", "a-1", { key: null, operator: "noura" }, {}],
  ],
  ["agents evaluations", { id: "a-1" }, ["evaluations.list", "a-1", 20]],
  ["agents evaluation", { id: "e-1" }, ["evaluations.find", "e-1"]],
  ["agents evaluation --cancel", { id: "e-1" }, ["evaluations.cancel", "e-1"]],
  ["runs compare", { id: "r-1", other: "r-2" }, ["runs.compare", "r-1", "r-2"]],
  ["agents versions", { id: "a-1" }, ["agents.listVersions", "a-1", 20]],
  [
    "approvals list",
    {},
    ["approvals.list", { account: null, status: null, limit: 20, scope: undefined }],
  ],
  ["connections list", {}, ["connections.list", null]],
  [
    "connections create",
    CONNECTION,
    ["connections.create", { ...CONNECTION, kind: null, header_name: null, allowed_hosts: [] }],
  ],
  [
    "connections set-secret",
    { id: "c-1", secret: "s" },
    ["connections.setSecret", "c-1", "s", undefined],
  ],
  ["keys create", {}, ["keys.create", NO_KEY]],
  ["keys list", {}, ["keys.list", null]],
  [
    "operators create",
    { name: "sami" },
    ["operators.create", { name: "sami", role: "operator", lifetimeMs: undefined }],
  ],
  ["audit list", {}, ["audit.list", { since: undefined, until: undefined, limit: 20 }]],
  ["requests list", {}, ["requests.list", {}, 20, null]],
  ["requests follow", { id: "r-1" }, ["requests.listLater", {}, "r-1"]],
  ["runs list", {}, ["runs.list", { ...NO_SEARCH, stage: null, before: null, limit: 20 }]],
  ["runs count", {}, ["runs.count", NO_SEARCH]],
  [
    "runs start",
    { agent: "a-1", message: "Hello" },
    ["runs.start", { agent: "a-1", message: "Hello", key: null, operator: "noura" }],
  ],
  ["runs again", { id: "r-1" }, ["runs.startAgain", "r-1", null, { key: null, operator: "noura" }]],
  ["runs follow", { id: "r-1" }, ["runs.listSteps", "r-1", 0, undefined]],
  ["runs failures", {}, ["countFailures", clock.now() - 86_400_000]],
  ["runs usage", {}, ["runUsage", { by: "day" }]],
  ["usage", {}, ["usage", { by: "day" }]],
  ["secrets rotate", {}, ["secrets.rotate", false]],
  ["tools list", {}, ["tools.list", null]],
  ["triggers list", {}, ["triggers.list", null]],
  ["triggers fires", { id: "t-1" }, ["triggers.listFires", "t-1", 20]],
  ["triggers rotate", { id: "t-1" }, ["triggers.rotate", "t-1", undefined]],
  ["webhooks list", {}, ["webhooks.list", null]],
  [
    "webhooks deliveries",
    { id: "w-1" },
    ["webhooks.listDeliveries", "w-1", { status: undefined, before: undefined, limit: 20 }],
  ],
  [
    "webhooks recover",
    { id: "w-1", since: "2027-01-05" },
    ["webhooks.recover", "w-1", { since: Date.UTC(2027, 0, 5), until: null }],
  ],
];

const GIVEN: Row[] = [
  ["accounts hold", { name: "acme", reason: "unpaid" }, ["accounts.hold", "acme", "unpaid"]],
  ["accounts grant", { name: "acme", model: "m-1" }, ["accounts.grant", "acme", "m-1"]],
  ["accounts ungrant", { name: "acme", model: "m-1" }, ["accounts.ungrant", "acme", "m-1"]],
  ["accounts delete --yes", { name: "acme", from: "f" }, ["accountDeletion.remove", "acme", "f"]],
  [
    "accounts limit --change",
    { name: "acme", requests_day: 0, tokens_month: null, cost_minute: "1.5" },
    [
      "limits.limitAccount",
      "acme",
      { requests_day: 0, tokens_month: null, cost_minute: 1_500_000 },
    ],
  ],
  ["agents hold", { id: "a-1", reason: "odd" }, ["agents.hold", "a-1", "odd"]],
  ["agents list", { account: "acme" }, ["agents.list", "acme"]],
  [
    "agents evaluate",
    { agent: "a-1", key: "k-1", last: 5, checks: [{ end: "failed" }] },
    [
      "evaluations.start",
      ...["a-1", { key: "k-1", operator: "noura" }, { last: 5, checks: [{ end: "failed" }] }],
    ],
  ],
  ["agents show", { id: "a-1", version: 2 }, ["agents.show", "a-1", 2]],
  ["agents versions", { id: "a-1", limit: 5 }, ["agents.listVersions", "a-1", 5]],
  [
    "approvals list",
    { account: "acme", status: "pending", limit: 5 },
    ["approvals.list", { account: "acme", status: "pending", limit: 5, scope: undefined }],
  ],
  [
    "approvals approve",
    { id: "p-1", reason: "fine" },
    ["approvals.decide", "p-1", { decision: "approved", reason: "fine", by: "noura" }],
  ],
  [
    "approvals reject",
    { id: "p-1", reason: "late" },
    ["approvals.decide", "p-1", { decision: "rejected", reason: "late", by: "noura" }],
  ],
  [
    "approvals reject",
    { id: "p-1", answer: "42" },
    ["approvals.decide", "p-1", { decision: "rejected", reason: `${ANSWER_BEGIN}42`, by: "noura" }],
  ],
  [
    "approvals link",
    { id: "p-1", account: "acme", for: "Huda", lifetime_ms: 9, as: "sami" },
    [
      "approvalLinks.create",
      { id: "p-1", account: "acme", as: "sami", person: "Huda", lifetimeMs: 9 },
      ACTOR,
    ],
  ],
  ["connections list", { account: "acme" }, ["connections.list", "acme"]],
  [
    "connections create",
    { ...CONNECTION, kind: "header", header_name: "x-key", allowed_hosts: ["a.example"] },
    [
      "connections.create",
      { ...CONNECTION, kind: "header", header_name: "x-key", allowed_hosts: ["a.example"] },
    ],
  ],
  [
    "connections set-secret",
    { id: "c-1", secret: "s", allowed_hosts: [] },
    ["connections.setSecret", "c-1", "s", []],
  ],
  ["console", { as: "sami" }, ["sessions.createLink", "sami", ACTOR]],
  [
    "keys create",
    {
      ...{ account: "acme", name: "CI", internal: true, scopes: ["x"], models: ["m-1"] },
      ...{ max_output_tokens: 7, lifetime_ms: 9 },
    },
    [
      "keys.create",
      {
        ...{ account: "acme", name: "CI", is_internal: true, scopes: ["x"], models: ["m-1"] },
        ...{ max_output_tokens: 7, lifetimeMs: 9 },
      },
    ],
  ],
  ["keys create", { models: [] }, ["keys.create", NO_KEY]],
  ["keys list", { account: "acme" }, ["keys.list", "acme"]],
  [
    "keys update",
    { id: "k-1", name: null, scopes: [], max_output_tokens: null, lifetime_ms: null },
    ["keys.update", "k-1", { name: null, scopes: [], max_output_tokens: null, lifetimeMs: null }],
  ],
  ["keys update", { id: "k-1", models: ["m"] }, ["keys.update", "k-1", { models: ["m"] }]],
  ["keys update", { id: "k-1", models: [] }, ["keys.update", "k-1", { models: null }]],
  ["keys update", { id: "k-1", models: null }, ["keys.update", "k-1", { models: null }]],
  ["keys rotate", { id: "k-1", overlap_ms: 9 }, ["keys.rotate", "k-1", 9]],
  [
    "keys limit --change",
    { id: "k-1", cost_month: "0.000001" },
    ["limits.limitKey", "k-1", { cost_month: 1 }],
  ],
  [
    "operators create",
    { name: "sami", role: "approver", lifetime_ms: 9 },
    ["operators.create", { name: "sami", role: "approver", lifetimeMs: 9 }],
  ],
  [
    "audit list",
    { actor: "sami", operation: "keys", target: "k-1", since: "1h", until: "2027-01-05", limit: 5 },
    [
      "audit.list",
      {
        ...{ actor: "sami", operation: "keys", target: "k-1", limit: 5 },
        ...{ since: HOUR_AGO, until: Date.UTC(2027, 0, 5) },
      },
    ],
  ],
  [
    "requests list",
    { key: "k-1", status: "5xx", slower_than_ms: 0, before: "next", limit: 5 },
    ["requests.list", { key: "k-1", status: "5xx", slower_than_ms: 0 }, 5, "next"],
  ],
  ["requests follow", { id: "r-1", run: "r" }, ["requests.listLater", { run: "r" }, "r-1"]],
  [
    "runs list",
    { ...SEARCH, stage: "ended", before: "ABC", limit: 5 },
    ["runs.list", { ...SEARCH, stage: "ended", before: "abc", limit: 5 }],
  ],
  ["runs count", SEARCH, ["runs.count", SEARCH]],
  [
    "runs start",
    { agent: "a-1", message: "Hello", key: "k-1", ...BESIDE },
    ["runs.start", { agent: "a-1", message: "Hello", key: "k-1", ...BESIDE, operator: "noura" }],
  ],
  [
    "runs again",
    { id: "r-1", key: "k-1", from_round: 2 },
    ["runs.startAgain", "r-1", FROM_2, { key: "k-1", operator: "noura" }],
  ],
  ["runs follow", { id: "r-1", after: 7, limit: 5 }, ["runs.listSteps", "r-1", 7, 5]],
  ["runs round", { id: "r-1", round: 2 }, ["runs.readRound", "r-1", 2]],
  ["runs failures", { since: "1h" }, ["countFailures", HOUR_AGO]],
  ["runs usage", { by: "hour", key: "k-1" }, ["runUsage", { by: "hour", key: "k-1" }]],
  ["usage", { by: "key", month: "2027-01" }, ["usage", { by: "key", month: "2027-01" }]],
  ["secrets rotate", { give_up: true }, ["secrets.rotate", true]],
  [
    "keys chat",
    { key: "k-1", request: { n: 1 } },
    ["playground.chat", { key: "k-1", body: { n: 1 } }, ACTOR, undefined],
  ],
  ["models off", { id: "m-1" }, ["models.turn", "m-1", "off"]],
  ["models on", { id: "m-1" }, ["models.turn", "m-1", "on"]],
  ["models block", { id: "m-1" }, ["models.turn", "m-1", "block"]],
  ["models unblock", { id: "m-1" }, ["models.turn", "m-1", "unblock"]],
  ["models start", { id: "m-1" }, ["models.command", "m-1", "start"]],
  ["models stop", { id: "m-1" }, ["models.command", "m-1", "stop"]],
  ["tools list", { account: "acme" }, ["tools.list", "acme"]],
  ["tools servers", { account: "acme" }, ["tools.listServers", "acme"]],
  ["tools server", { id: "m-1" }, ["tools.showServer", "m-1"]],
  ["tools refresh", { id: "m-1" }, ["tools.refresh", "m-1"]],
  [
    "tools risk",
    { account: "acme", name: "crm", risk: "read" },
    ["tools.setRisk", "crm", "acme", "read"],
  ],
  ["tools changes", { account: "acme", name: "crm" }, ["tools.showChanges", "crm", "acme"]],
  [
    "tools accept",
    { account: "acme", name: "crm", revision: 2 },
    ["tools.accept", "crm", "acme", 2],
  ],
  ["tools show", { account: "acme", name: "crm" }, ["tools.show", "crm", "acme"]],
  ["tools disable", { account: "acme", name: "crm" }, ["tools.disable", "crm", "acme"]],
  ["tools enable", { account: "acme", name: "crm" }, ["tools.enable", "crm", "acme"]],
  ["triggers list", { account: "acme" }, ["triggers.list", "acme"]],
  ["triggers fires", { id: "t-1", limit: 5 }, ["triggers.listFires", "t-1", 5]],
  ["triggers pause", { id: "t-1" }, ["triggers.pause", "t-1"]],
  ["triggers resume", { id: "t-1" }, ["triggers.resume", "t-1"]],
  ["triggers fire", { id: "t-1" }, ["triggers.fire", "t-1", "noura"]],
  ["triggers rotate", { id: "t-1", overlap_seconds: 0 }, ["triggers.rotate", "t-1", 0]],
  [
    "webhooks create",
    { account: "acme", url: "https://a.example/in", events: ["run.failed"] },
    ["webhooks.create", "acme", { url: "https://a.example/in", events: ["run.failed"] }],
  ],
  ["webhooks list", { account: "acme" }, ["webhooks.list", "acme"]],
  [
    "webhooks deliveries",
    { id: "w-1", status: "failed", before: "d-1", limit: 5 },
    ["webhooks.listDeliveries", "w-1", { status: "failed", before: "d-1", limit: 5 }],
  ],
  [
    "webhooks recover --count",
    { id: "w-1", since: "2027-01-05", until: "2027-01-06T09:30:00Z" },
    [
      "webhooks.countLost",
      "w-1",
      { since: Date.UTC(2027, 0, 5), until: Date.UTC(2027, 0, 6, 9, 30) },
    ],
  ],
];

describe("without its options", () => {
  test.each(OPTIONAL)("%s takes the defaults that it names", async (name, input, call) => {
    expect(await findCall(name, input)).toEqual(call);
  });
});

describe("with its options", () => {
  test.each(GIVEN)("%s passes each of %j on", async (name, input, call) => {
    expect(await findCall(name, input)).toEqual(call);
  });
});

/** Returns what an operation replies where a part says so. */
async function findReply(name: string, input: object, says: unknown): Promise<unknown> {
  const operation = OPERATIONS.find((one) => one.name === name)!;
  const part = new Proxy({}, { get: () => async () => says });
  const parts = new Proxy({} as Admin, { get: () => part });
  return operation.run(parts, input as never, ACTOR);
}

describe("a reply tells", () => {
  test.each([true, false])("whether there was something to change: %p", async (was) => {
    const account = await findReply("accounts release", { name: "acme" }, was);
    expect(account).toEqual({ account: "acme", held: false, was_held: was });
    const agent = await findReply("agents release", { id: "a" }, { id: "a-1", wasHeld: was });
    expect(agent).toEqual({ agent: "a-1", held: false, was_held: was });
    for (const name of [
      ...["triggers pause", "triggers resume", "webhooks enable", "runs cancel"],
      ...["approvals approve", "approvals reject"],
    ]) {
      const parts = { trigger: {}, endpoint: {}, run: {}, approval: {} };
      const reply = await findReply(name, { id: "x-1" }, { ...parts, isChanged: was });
      expect(reply, name).toMatchObject({ is_changed: was });
    }
  });

  test("why a grant has no effect, and that one was taken back", async () => {
    const asked = { name: "acme", model: "m-1" };
    const names = { account: "acme", model: "m-1" };
    const grant = (note?: string) => findReply("accounts grant", asked, note);
    expect(await grant()).toEqual({ ...names, granted: true, note: null });
    expect(await grant("needs none")).toEqual({ ...names, granted: true, note: "needs none" });
    expect(await findReply("accounts ungrant", asked, undefined)).toEqual({
      ...{ ...names, granted: false, note: null },
    });
  });

  test("until when a key's old secret works", async () => {
    const rotate = (previousUntil: number | null) =>
      findReply("keys rotate", { id: "k-1" }, { key: { id: "k-1" }, secret: "s", previousUntil });
    const at = new Date(clock.now()).toISOString();
    expect(await rotate(clock.now())).toMatchObject({
      ...{ id: "k-1", secret: "s", previous_secret_expires_at: at },
    });
    expect(await rotate(null)).toMatchObject({ previous_secret_expires_at: null });
  });
});
