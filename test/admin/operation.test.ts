// Tests that every change is in the audit log before it happens, and that no secret is.
import { expect, test } from "bun:test";
import { createAuditSweeps } from "../../src/admin/audit.ts";
import { explainApiError } from "../../src/admin/errors.ts";
import { AdminError, keyOperations, perform } from "../../src/admin/index.ts";
import { accountOperations } from "../../src/admin/operations/accounts.ts";
import { modelOperations } from "../../src/admin/operations/models.ts";
import { operatorOperations } from "../../src/admin/operations/operators.ts";
import { requestOperations } from "../../src/admin/operations/requests.ts";
import { toolOperations } from "../../src/admin/operations/tools.ts";
import { upkeepOperations } from "../../src/admin/operations/upkeep.ts";
import { webhookOperations } from "../../src/admin/operations/webhooks.ts";
import { DatabaseUnavailable } from "../../src/database/index.ts";
import { writeEntries } from "../../src/gateway/request-log/entry.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
import { apiError, type ErrorCode } from "../../src/platform/errors.ts";
import { makeEntry } from "../support/request-log.ts";
import { openFixture } from "./fixture.ts";

const DAY_MS = 86_400_000;
const ACTOR = { kind: "operator", name: "noura", via: "operator API" } as const;

async function openLog() {
  const fixture = await openFixture();
  const { admin } = fixture;
  return { ...fixture, list: () => admin.audit.list({ limit: 100 }) };
}

test("a page of requests begins where the one before ended", async () => {
  const { admin, database, close } = await openLog();
  const entries = ["1", "2", "3"].map((id) => makeEntry(id));
  await database.bind(requestLogStore).add(writeEntries(entries), false);
  const listFrom = async (before?: string) => {
    const asked = { limit: 2, ...(before !== undefined && { before }) };
    const page = await perform(admin, requestOperations.list, asked, ACTOR);
    return { ids: page.rows.map(({ id }) => id), next: page.next };
  };
  const first = await listFrom();
  expect(first.ids).toEqual(["3", "2"]);
  expect(await listFrom(first.next!)).toEqual({ ids: ["1"], next: null });
  await close();
});

test("a change is logged with who, through what, its target, before and after", async () => {
  const { admin, clock, list, close } = await openLog();
  await perform(admin, accountOperations.create, { name: "acme" }, ACTOR);
  await clock.advance(1_000);
  const request = { name: "acme", reason: "unpaid" };
  await perform(admin, accountOperations.hold, request, { ...ACTOR, name: "sami" });
  const [held, created] = await list();
  expect(created).toMatchObject({
    actor_kind: "operator",
    actor: "noura",
    via: "operator API",
    operation: "accounts create",
    target: "acme",
    outcome: "done",
    state_before: null,
    state_after: { name: "acme", hold_reason: null },
    error: null,
  });
  expect(held).toMatchObject({
    at: created!.at + 1_000,
    actor: "sami",
    operation: "accounts hold",
    state_before: { name: "acme", hold_reason: null },
    state_after: { name: "acme", hold_reason: "unpaid" },
  });
  await close();
});

test("the entry is stored before the change, and stays begun where the process ends in it", async () => {
  const { admin, list, close } = await openLog();
  const never = Promise.withResolvers<never>();
  const entered = Promise.withResolvers<void>();
  const stuck = {
    ...accountOperations.create,
    run() {
      entered.resolve();
      return never.promise;
    },
  };
  const performing = perform(admin, stuck, { name: "acme" }, ACTOR);
  await entered.promise;
  expect(await list()).toMatchObject([
    { operation: "accounts create", target: null, outcome: "begun", state_after: null },
  ]);
  never.reject(new Error("the end of this test"));
  expect(performing).rejects.toThrow("the end of this test");
  await performing.catch(() => {});
  await close();
});

test("a refused change of any kind is logged with the sentence, and names no target", async () => {
  const { admin, list, close } = await openLog();
  const refused = [
    () => perform(admin, accountOperations.hold, { name: "no" }, ACTOR),
    () => perform(admin, toolOperations.disable, { account: "no", name: "x" }, ACTOR),
    () => perform(admin, keyOperations.revoke, { id: "ffffffff" }, ACTOR),
  ];
  for (const one of refused) await expect(one()).rejects.toBeInstanceOf(AdminError);
  const entries = await list();
  expect(entries.map(({ operation }) => operation).sort()).toEqual([
    "accounts hold",
    "keys revoke",
    "tools disable",
  ]);
  for (const entry of entries) expect(entry).toMatchObject({ target: null, outcome: "failed" });
  const errors = entries.map(({ error }) => error);
  expect(errors.filter((error) => error === "there is no account of that name")).toHaveLength(2);
  await close();
});

test("a change that fails keeps the state from before it in the log", async () => {
  const { admin, list, close } = await openLog();
  await admin.accounts.create("acme");
  const run = () => Promise.reject(new Error("a bug"));
  const hold = perform(admin, { ...accountOperations.hold, run }, { name: "acme" }, ACTOR);
  await expect(hold).rejects.toThrow("a bug");
  const [entry] = await list();
  expect(entry).toMatchObject({ outcome: "failed", error: "a bug", target: "acme" });
  expect(entry).toMatchObject({ state_before: { name: "acme" }, state_after: null });
  await close();
});

test("a change whose target cannot be read fails with that, before it begins", async () => {
  const { admin, list, close } = await openLog();
  const lost = new DatabaseUnavailable("the database is away");
  const audit = { ...accountOperations.create.audit!, read: () => Promise.reject(lost) };
  const create = { ...accountOperations.create, audit };
  await expect(perform(admin, create, { name: "acme" }, ACTOR)).rejects.toBe(lost);
  expect([await list(), await admin.accounts.list()]).toEqual([[], []]);
  await close();
});

test("what is open to approvers alone is refused to a link", async () => {
  const { admin, close } = await openLog();
  const scope = { link_id: "l-1", person: "Sami", account_id: "a-1", approval_id: null };
  const link = { ...ACTOR, via: "approval link", scope } as const;
  const open = { ...accountOperations.list, isForApprovers: true } as const;
  await expect(perform(admin, open, {}, link)).rejects.toThrow("a link to approvals may not");
  expect(await perform(admin, { ...open, isForLinks: true }, {}, link)).toEqual([]);
  await close();
});

test("a secret typed in the wrong place is not kept in the log", async () => {
  const { admin, list, close } = await openLog();
  await admin.accounts.create("acme");
  const { secret } = await perform(admin, keyOperations.create, { account: "acme" }, ACTOR);
  const wrong = [
    () => perform(admin, keyOperations.revoke, { id: secret }, ACTOR),
    () => perform(admin, accountOperations.hold, { name: secret }, ACTOR),
    () => perform(admin, modelOperations.off, { id: secret }, ACTOR),
    () => perform(admin, keyOperations.create, { account: "acme", scopes: [secret] }, ACTOR),
    () => perform(admin, toolOperations.disable, { account: "acme", name: secret }, ACTOR),
    () => perform(admin, webhookOperations.recover, { id: secret, since: secret }, ACTOR),
  ];
  for (const one of wrong) await expect(one()).rejects.toBeInstanceOf(AdminError);
  const entries = await list();
  expect(entries).toHaveLength(wrong.length + 1);
  expect(JSON.stringify(entries)).not.toContain(secret);
  await close();
});

test("an input beyond its bounds is refused here as by the route, and reaches no database", async () => {
  const { admin, list, close } = await openLog();
  await admin.accounts.create("acme");
  const hold = (reason: string) =>
    perform(admin, accountOperations.hold, { name: "acme", reason }, ACTOR);
  await expect(hold("x".repeat(5_000))).rejects.toThrow(
    "`reason` must have at most 4096 characters",
  );
  for (const text of ["a\0b", "half \ud83d of it"]) {
    await expect(hold(text)).rejects.toThrow("`reason` must hold neither a NUL");
    const search = () => perform(admin, requestOperations.list, { model: text }, ACTOR);
    await expect(search()).rejects.toMatchObject({ kind: "invalid" });
    const create = () => perform(admin, keyOperations.create, { scopes: ["agents", text] }, ACTOR);
    await expect(create()).rejects.toThrow("`scopes` must hold neither a NUL");
  }
  const beyond = () => perform(admin, requestOperations.list, { limit: 100_000 }, ACTOR);
  await expect(beyond()).rejects.toThrow("`limit` must be");
  expect(await list()).toEqual([]);
  await close();
});

test("a change that is done is no failure where its entry cannot be completed", async () => {
  const { admin, list, close } = await openLog();
  const lost = new DatabaseUnavailable("the disk is full");
  const begin: typeof admin.audit.begin = async (change) => ({
    ...(await admin.audit.begin(change)),
    end: () => Promise.reject(lost),
  });
  const failing = { ...admin, audit: { ...admin.audit, begin } };
  const made = await perform(failing, accountOperations.create, { name: "acme" }, ACTOR);
  expect(made).toMatchObject({ name: "acme" });
  expect(await list()).toMatchObject([{ operation: "accounts create", outcome: "begun" }]);
  await close();
});

test("reads are not logged", async () => {
  const { admin, list, close } = await openLog();
  await perform(admin, accountOperations.list, {}, ACTOR);
  await perform(admin, upkeepOperations.usage, {}, ACTOR);
  await perform(admin, operatorOperations.listAudit, {}, ACTOR);
  expect(await list()).toEqual([]);
  await close();
});

test("an empty list of models allows every model, as at the making of a key so later", async () => {
  const { admin, list, close } = await openLog();
  await admin.accounts.create("acme");
  const made = await perform(admin, keyOperations.create, { account: "acme", models: [] }, ACTOR);
  expect(made).toMatchObject({ models: null });
  const change = (fields: object) =>
    perform(admin, keyOperations.update, { id: made.id.toUpperCase(), ...fields }, ACTOR);
  expect(await change({ models: ["stub-1"] })).toMatchObject({ models: ["stub-1"] });
  expect(await change({ models: [] })).toMatchObject({ models: null });
  expect(await change({ name: "Other" })).toMatchObject({ models: null, name: "Other" });
  await perform(admin, keyOperations.limit, { id: made.id, requests_day: 7 }, ACTOR);
  const [limited, renamed, opened] = await list();
  expect(opened).toMatchObject({
    ...{ state_before: { models: ["stub-1"] }, state_after: { models: null } },
  });
  expect(renamed).toMatchObject({ state_before: { name: null }, state_after: { name: "Other" } });
  expect(limited!.state_after).not.toEqual(limited!.state_before);
  expect(JSON.stringify(limited!.state_after)).toContain("7");
  await close();
});

test("no secret is in the log, nor its hash", async () => {
  const { admin, list, close } = await openLog();
  await admin.accounts.create("acme");
  const made = await perform(admin, keyOperations.create, { account: "acme" }, ACTOR);
  const rotated = await perform(admin, keyOperations.rotate, { id: made.id, overlap_ms: 0 }, ACTOR);
  const operator = await perform(admin, operatorOperations.create, { name: "sami" }, ACTOR);
  const entries = await list();
  expect(entries.map(({ operation, target }) => [operation, target])).toEqual([
    ["operators create", "sami"],
    ["keys rotate", made.id],
    ["keys create", made.id],
  ]);
  const text = JSON.stringify(entries);
  for (const secret of [made.secret, rotated.secret, operator.token]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(Bun.SHA256.hash(secret, "hex"));
  }
  await close();
});

test("a state of the maximum length is kept whole, and a longer one is replaced by its length", async () => {
  const { admin, list, close } = await openLog();
  const begin = (before: string) =>
    admin.audit.begin({ actor: ACTOR, operation: "accounts hold", target: "acme", before });
  // Two of its 16,384 characters are the quotes.
  const longest = "x".repeat(16_382);
  await begin(longest);
  await begin(`${longest}x`);
  const [cut, whole] = await list();
  expect(whole!.state_before).toBe(longest);
  expect(cut!.state_before).toEqual({ omitted_characters: 16_385 });
  await close();
});

test("the log is read since a time or a duration before now", async () => {
  const { admin, clock, close } = await openLog();
  await perform(admin, accountOperations.create, { name: "one" }, ACTOR);
  await clock.advance(3_600_000);
  await perform(admin, accountOperations.create, { name: "two" }, ACTOR);
  const read = async (since: string) => {
    const found = await perform(admin, operatorOperations.listAudit, { since }, ACTOR);
    return found.map(({ target }) => target);
  };
  expect(await read("59m")).toEqual(["two"]);
  expect(await read("2h")).toEqual(["two", "one"]);
  expect(await read(new Date(clock.now()).toISOString())).toEqual(["two"]);
  expect(read("soon")).rejects.toThrow("no time");
  await close();
});

test("an entry has the beginning of a long failure", async () => {
  const { admin, list, close } = await openLog();
  const begun = { actor: ACTOR, operation: "test", target: null, before: null };
  await (await admin.audit.begin(begun)).fail(new Error("x".repeat(502)));
  await (await admin.audit.begin(begun)).fail(new Error("y".repeat(500)));
  const errors = (await list()).map(({ error }) => error);
  expect(errors.toSorted()).toEqual([`${"x".repeat(500)}…`, "y".repeat(500)]);
  await close();
});

test("old entries are deleted where the settings say so", async () => {
  const { admin, clock, database, list, close } = await openLog();
  await perform(admin, accountOperations.create, { name: "one" }, ACTOR);
  await clock.advance(DAY_MS);
  await perform(admin, accountOperations.create, { name: "two" }, ACTOR);
  const sweep = (audit: number | null) => {
    const retention = {
      runs: null,
      events: null,
      request_log: null,
      usage_half_hours: null,
      audit,
    };
    const [only] = createAuditSweeps({ database, settings: () => ({ retention }) });
    return only!.run(clock.now(), () => false);
  };
  expect(await sweep(null)).toBe(0);
  expect(await sweep(DAY_MS)).toBe(0);
  expect(await sweep(DAY_MS - 1)).toBe(1);
  expect((await list()).map(({ target }) => target)).toEqual(["two"]);
  await close();
});

test("a refusal of the API keeps its kind and its sentence", async () => {
  const explain = (code: ErrorCode) =>
    explainApiError(() => Promise.reject(apiError(code, { message: "It is so." })));
  for (const [code, kind] of [
    ["not_found", "not found"],
    ["run_not_found", "not found"],
    ["conflict", "conflict"],
    ["invalid_request", "invalid"],
  ] as const) {
    await expect(explain(code)).rejects.toMatchObject({ kind, message: "It is so." });
  }
  const bug = new TypeError("a bug");
  await expect(explainApiError(() => Promise.reject(bug))).rejects.toBe(bug);
});

test("the state after a change is bounded as the one before it is", async () => {
  const { admin, list, close } = await openLog();
  const begun = { actor: ACTOR, operation: "accounts create", target: null, before: null };
  await (await admin.audit.begin(begun)).end(null, "x".repeat(20_000));
  expect(await list()).toMatchObject([{ state_after: { omitted_characters: 20_002 } }]);
  await close();
});
