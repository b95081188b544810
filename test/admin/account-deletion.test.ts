// Tests the deletion of an account: nothing of it is left, others keep everything, keys and runs end.
import { afterEach, expect, test } from "bun:test";
import { createAccountDeletion, createAccountSweeps } from "../../src/admin/account-deletion.ts";
import { AccountDirectory } from "../../src/admin/accounts.ts";
import type { AdminDeps } from "../../src/admin/deps.ts";
import { accountOperations, nameLocalActor, perform } from "../../src/admin/index.ts";
import { makeSubject } from "../../src/gateway/budgets/excess.ts";
import { budgetStore } from "../../src/gateway/budgets/store.ts";
import { accountDeletionStore } from "../../src/inventory/index.ts";
import { populate, startRun } from "../spec/agents/population.ts";
import { createAgent, startService } from "../spec/agents/service.ts";
import type { TestApp } from "../support/app.ts";
import { countTables } from "../support/tables.ts";

const ACTOR = nameLocalActor();
const HOUR_MS = 3_600_000;
/** Tables whose rows are of no account, or outlive it. */
const KEPT = [
  ...["audit", "account_deletions", "processes", "models", "sweeps", "secrets_key"],
  ...["operators", "console_links", "console_sessions", "units", "leases"],
  // Their rows count for a minute.
  ...["counter_place", "counter_reports", "counter_slots", "counter_takes"],
];

/** Tables that the population leaves empty; store cases show that their rows go. */
const ELSEWHERE = [
  ...[
    "approval_links",
    "notes",
    "run_images",
    "thread_summaries",
    "tool_outputs",
    "webhook_endpoints_gone",
  ],
];

let app: TestApp | undefined;
afterEach(async () => {
  await app?.app.stop(0);
  app = undefined;
});

async function open() {
  app = await startService({ listens: true });
  const { admin, access, database } = app.app;
  const create = async (account: string, secret = account) => {
    const { id: account_id } = await admin.accounts.create(account);
    const chosen = { account_id, secret, scopes: ["agents", "search"] as const };
    const { key, stored } = access.credentials.makeKey({ ...chosen, scopes: [...chosen.scopes] });
    await access.keys.create(key, stored);
    return { secret, key };
  };
  const remove = (name: string) => perform(admin, accountOperations.delete, { name }, ACTOR);
  const count = async () => {
    // The request log and the uses of keys are written a little later.
    await app!.clock.advance(61_000);
    const counts = await countTables(database);
    for (const name of KEPT) delete counts[name];
    return counts;
  };
  return { app, admin, access, database, create, remove, count };
}

/** Leaves a request under way and an announced limit, as a killed server does. */
async function reserveBudget({ app, clock }: TestApp, account_id: string): Promise<void> {
  const budgets = app.database.bind(budgetStore);
  const at = clock.now();
  const subject = `account ${account_id}`;
  await budgets.reserve({ id: "r-1", at, subjects: [subject], tokens: 1, cost: 1 });
  const event = { id: "e-1", account_id, type: "limit.reached" as const, at, data: {} };
  const limit = { name: "tokens_day", start: at, maximum: 1, percent: 80 } as const;
  await budgets.settle([], [{ subject, ...limit, event }]);
  const range = { start: at, end: at + 1 };
  const row = { id: "r-3", at, subjects: [subject], tokens: 1, cost: 1, epoch: 0 };
  const ranges = { minute: range, day: range, month: range };
  await budgets.reserveWithin(account_id, row, [makeSubject("account", account_id, {})], ranges);
}

test("no table has a row of it afterwards, and another account keeps all of its own", async () => {
  const { app, admin, access, create, remove, count } = await open();
  await populate(app, (await create("bystander")).secret);
  const before = await count();
  const { secret, key } = await create("acme");
  for (const change of [{ requests_minute: 1_000 }, { tokens_month: 100_000_000 }]) {
    await access.accounts.limit(key.account_id!, change);
    await access.keys.limit(key.id, change);
  }
  await populate(app, secret);
  await app.chat("Hello", {}, { key: secret });
  await reserveBudget(app, key.account_id!);
  const agent = await createAgent(app, {}, { key: secret });
  const headers = { "idempotency-key": "once" };
  const body = { input: { message: "!say Hello" } };
  const started = await app.post(`/v1/agents/${agent.id}/runs`, body, { key: secret, headers });
  expect(started.status).toBe(202);
  await admin.accounts.grant("acme", "rented");
  await admin.accounts.hold("acme", "moves away");
  await admin.agents.hold(agent.id, "asks too much");
  const filled = await count();
  const unfilled = Object.keys(filled).filter((table) => filled[table] === before[table]);
  expect(unfilled).toEqual(ELSEWHERE);
  const preview = await perform(admin, accountOperations.countContents, { name: "acme" }, ACTOR);
  const counted = Object.fromEntries(preview.contents.map(({ what, rows }) => [what, rows]));
  expect(counted).toMatchObject({
    ...{ keys: 1, agents: 3, runs: 5, "unfinished runs": 1, approvals: 2, tools: 1 },
    ...{ connections: 1, triggers: 1, endpoints: 1, requests: expect.any(Number) },
  });
  expect(await count()).toEqual(filled);
  const removal = await remove("acme");
  expect(removal).toMatchObject({ account: "acme", is_done: true });
  // A request that was under way settles only now.
  const settled = { at: app.clock.now(), subjects: [`account ${key.account_id}`] };
  await app.app.database.bind(budgetStore).reserve({ id: "r-2", ...settled, tokens: 1, cost: 1 });
  for (const sweep of createAccountSweeps(app.app)) {
    await sweep.run(app.clock.now() + HOUR_MS, () => false);
  }
  expect(await count()).toEqual(before);
  const [entry] = await admin.audit.list({ operation: "accounts delete --yes", limit: 1 });
  expect(entry).toMatchObject({
    ...{ target: "acme", outcome: "done", state_after: null },
    state_before: { name: "acme", hold_reason: "moves away" },
  });
});

test("its keys are refused at the next request, and its streams and runs end", async () => {
  const { app, create, remove } = await open();
  const { secret: key } = await create("acme");
  const agent = await createAgent(app, {}, { key });
  const slow = { input: { message: "!delay 600s" } };
  const run = await startRun(app, agent.id, slow, key);
  const events = await app.get(`/v1/runs/${run.id}/events`, { key });
  const chat = await app.chat("!say One two three\n!stall", { stream: true }, { key });
  await remove("acme");
  expect((await app.get("/v1/models", { key })).status).toBe(401);
  const { clock } = app;
  const ended = Promise.all([events.text(), chat.text()]);
  let isEnded = false;
  void ended.finally(() => {
    isEnded = true;
  });
  while (!isEnded) await clock.advance(1_000);
  expect((await ended)[0]).not.toContain("run.completed");
  // The engine has lost the run, which is no failure.
  expect(app.lines.filter(({ level }) => level === "error")).toEqual([]);
});

test("the name is free at once, and a new account of it starts empty", async () => {
  const { app, admin, create, remove } = await open();
  await populate(app, (await create("acme")).secret);
  await remove("acme");
  await create("acme", "acme2");
  const { contents } = await admin.accountDeletion.count("acme");
  const filled = contents.filter(({ rows }) => rows > 0);
  expect(filled).toEqual([{ what: "keys", rows: 1 }]);
});

test("a deletion that was cut off goes on under its name, and by the sweeper", async () => {
  const { app, admin, database, create, remove, count } = await open();
  const before = await count();
  const deletions = database.bind(accountDeletionStore);
  let begun = 0;
  const begin = async () => {
    const { secret, key } = await create("acme", `acme${++begun}`);
    await populate(app, secret);
    await app.clock.advance(61_000);
    await deletions.begin({ account_id: key.account_id!, name: "acme", begun_at: app.clock.now() });
    expect((await app.get("/v1/models", { key: secret })).status).toBe(401);
  };
  await begin();
  expect(await admin.accountDeletion.count("acme")).toMatchObject({ is_begun: true });
  const removal = await remove("acme");
  expect(removal.deleted.find(({ what }) => what === "runs")!.rows).toBeGreaterThan(3);

  await begin();
  // Both deletions are listed; the name means the later one.
  const { contents } = await admin.accountDeletion.count("acme");
  expect(contents.find(({ what }) => what === "runs")!.rows).toBeGreaterThan(0);
  const [sweep] = createAccountSweeps({ database });
  const late = app.clock.now() + 2 * HOUR_MS;
  for (const now of [app.clock.now(), late]) expect(await sweep!.run(now, () => true)).toBe(0);
  // A sweep that stops at once deletes nothing, and ends no deletion.
  expect((await admin.accountDeletion.count("acme")).contents).toEqual(contents);
  expect(await sweep!.run(app.clock.now(), () => false)).toBeGreaterThan(10);
  // Both wait for rows that requests under way could still write.
  expect(await deletions.list()).toHaveLength(2);
  await sweep!.run(late, () => false);
  expect(await deletions.list()).toEqual([]);
  expect(await count()).toEqual(before);
});

/** A deletion whose requests have time for one part each. */
function createSlowDeletion({
  access,
  database,
  clock,
}: Pick<AdminDeps, "access" | "database" | "clock">) {
  let at = 0;
  const slow = { ...clock, now: () => clock.now(), monotonic: () => (at += 15_000) };
  const deps = { access, database, clock: slow } as AdminDeps;
  return createAccountDeletion(deps, new AccountDirectory(access));
}

test("a deletion that takes longer than a request goes on where the last one ended", async () => {
  const { app, access, database, create } = await open();
  const { secret } = await create("acme");
  await populate(app, secret);
  const deletion = createSlowDeletion({ access, database, clock: app.clock });
  const { next } = await deletion.remove("acme");
  const kinds: string[] = [];
  for (let from = next; from !== null; ) {
    const reply = await deletion.remove("acme", from);
    expect(reply.is_done).toBe(reply.next === null);
    kinds.push(reply.deleted[0]!.what);
    from = reply.next;
  }
  expect(kinds.length).toBeGreaterThan(3);
  expect(kinds.at(-1)).toBe("sums of requests");
});

test("a continued deletion never deletes a new account of the same name", async () => {
  const { app, admin, access, database, create } = await open();
  await create("acme");
  const deletion = createSlowDeletion({ access, database, clock: app.clock });
  const { next } = await deletion.remove("acme");
  const { key } = await create("acme", "acme2");
  await deletion.remove("acme", next!);
  expect(await access.accounts.find("acme")).toMatchObject({ id: key.account_id! });
  expect(await admin.keys.list("acme")).toHaveLength(1);
  const own = `${key.account_id}.0.`;
  for (const from of ["elsewhere", own]) {
    await expect(deletion.remove("acme", from)).rejects.toThrow("no deletion");
  }
});

test("the row at which a deletion goes on is one of its own kind, and of no later one", async () => {
  const { app, admin, access, database, create } = await open();
  const { secret, key } = await create("acme");
  await populate(app, secret);
  const deletion = createSlowDeletion({ access, database, clock: app.clock });
  await deletion.remove("acme");
  const last = `${key.account_id}.0.${"f".repeat(36)}`;
  await expect(deletion.remove("acne", last)).rejects.toThrow("no deletion");
  expect(await admin.accountDeletion.remove("acme", last)).toMatchObject({ is_done: true });
  const { contents } = await admin.accountDeletion.count("acme");
  const left = contents.filter(({ rows }) => rows > 0);
  expect(left.length).toBeLessThan(2);
});

test("an unknown account is refused with the nearest name", async () => {
  const { remove, create } = await open();
  await create("acme");
  await expect(remove("acne")).rejects.toThrow('did you mean "acme"?');
});
