// Tests links and sessions of the console: who gets a link, what it begins, and when that ends.
import { expect, spyOn, test } from "bun:test";
import { hashSecret } from "../../src/access/index.ts";
import { perform, sessionOperations } from "../../src/admin/index.ts";
import { noteLastSeen } from "../../src/admin/last-seen.ts";
import { createSessionSweeps } from "../../src/admin/sessions.ts";
import { DatabaseUnavailable } from "../../src/database/index.ts";
import { openFixture } from "./fixture.ts";

const USER = { kind: "user", name: "root", via: "command line" } as const;
const NOURA = { kind: "operator", name: "noura", via: "operator API" } as const;
const CLIENT = { user_agent: "Mozilla/5.0", address: "127.0.0.1" };
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

async function open(more = "") {
  const fixture = await openFixture(["stub-1"], more);
  const { admin } = fixture;
  await admin.operators.create({ name: "noura", role: "operator" });
  const link = (as?: string, actor: Parameters<typeof perform>[3] = USER) =>
    perform(admin, sessionOperations.createLink, { as }, actor);
  const signIn = async (as?: string) => {
    const signed = await admin.sessions.signIn((await link(as)).token, CLIENT);
    if (signed.kind !== "ok") throw new Error(signed.kind);
    return signed;
  };
  const identify = (token: string) => admin.sessions.identify(hashSecret(token));
  return { ...fixture, link, signIn, identify };
}

test("a user of the system gets a link for an operator of the own name, made if missing", async () => {
  const { admin, link, close } = await open();
  expect(await link()).toMatchObject({ operator: "root", role: "operator" });
  expect(await link()).toMatchObject({ operator: "root", role: "operator" });
  expect((await admin.operators.list()).map(({ name }) => name)).toEqual(["noura", "root"]);
  const [again, first] = await admin.audit.list({ limit: 9 });
  expect(first).toMatchObject({
    ...{ actor: "root", via: "command line", operation: "console", target: "root" },
    ...{ outcome: "done", state_before: null, state_after: { name: "root", role: "operator" } },
  });
  expect(JSON.stringify([first, again])).not.toContain("wadi_link");
  await close();
});

test("a user of the system may name any operator in force, and no unknown one", async () => {
  const { admin, link, close } = await open();
  await admin.operators.create({ name: "sami", role: "approver" });
  expect(await link("sami")).toMatchObject({ operator: "sami", role: "approver" });
  await expect(link("samy")).rejects.toThrow('there is no operator "samy"; did you mean "sami"?');
  await admin.operators.revoke("sami");
  await expect(link("sami")).rejects.toThrow('the operator "sami" is revoked or expired');
  await close();
});

test("a token ends at least 1 ms and at most 36500 days from now", async () => {
  const { admin, clock, close } = await open();
  const longest = 36_500 * DAY_MS;
  for (const [n, lifetimeMs] of [1, longest].entries()) {
    const { operator } = await admin.operators.create({
      name: `o${n}`,
      role: "operator",
      lifetimeMs,
    });
    expect(operator.expires_at).toBe(clock.now() + lifetimeMs);
  }
  for (const lifetimeMs of [0, -1, longest + 1, Number.NaN]) {
    const made = admin.operators.create({ name: "late", role: "operator", lifetimeMs });
    await expect(made).rejects.toThrow("at least 1 ms and at most 36500 days");
  }
  await close();
});

test("a user whose name fits no operator is told to name one", async () => {
  const { link, close } = await open();
  await expect(link(undefined, { ...USER, name: "uid 1000" })).rejects.toThrow("name is 1 to 64");
  await close();
});

test("an operator gets a link by its token for itself only, and none from a session", async () => {
  const { admin, link, close } = await open();
  await admin.operators.create({ name: "sami", role: "operator" });
  expect(await link(undefined, NOURA)).toMatchObject({ operator: "noura" });
  expect(await link("noura", NOURA)).toMatchObject({ operator: "noura" });
  await expect(link("sami", NOURA)).rejects.toThrow("may sign in as itself only");
  const unknown = { ...NOURA, name: "samy" };
  await expect(link(undefined, unknown)).rejects.toThrow("may sign in as itself only");
  const session = { ...NOURA, via: "console" } as const;
  await expect(link(undefined, session)).rejects.toThrow("a session makes no links");
  await close();
});

test("there is no link while the operator API is switched off", async () => {
  const { link, close } = await open("[operator]\nenabled = false\n");
  await expect(link()).rejects.toThrow("switched off by operator.enabled");
  await close();
});

test("a link begins one session, for 30 minutes", async () => {
  const { admin, clock, link, close } = await open();
  const { token, expires_at } = await link("noura");
  expect(Date.parse(expires_at) - clock.now()).toBe(30 * MINUTE_MS);
  const late = await link("noura");
  await clock.advance(30 * MINUTE_MS - 1);
  const kind = async (one: string) => (await admin.sessions.signIn(one, CLIENT)).kind;
  expect([await kind(token), await kind(token)]).toEqual(["ok", "used"]);
  // A link that is known to be used begins nothing that the audit log has.
  const operation = "console sign-in";
  expect(await admin.audit.list({ operation, limit: 9 })).toHaveLength(1);
  await clock.advance(1);
  expect([await kind(late.token), await kind("wadi_link_x")]).toEqual(["expired", "unknown"]);
  expect(await admin.sessions.list()).toHaveLength(1);
  await close();
});

test("a sign-in that cannot be logged leaves its link unused", async () => {
  const { admin, link, close } = await open();
  const { token } = await link();
  const lost = new DatabaseUnavailable("the disk is full");
  const begin = spyOn(admin.audit, "begin").mockRejectedValueOnce(lost);
  await expect(admin.sessions.signIn(token, CLIENT)).rejects.toThrow(lost);
  begin.mockRestore();
  expect(await admin.sessions.signIn(token, CLIENT)).toMatchObject({ kind: "ok" });
  await close();
});

test("two requests with one link at once get one session", async () => {
  const { admin, link, close } = await open();
  const { token } = await link("noura");
  const both = await Promise.all([1, 2].map(() => admin.sessions.signIn(token, CLIENT)));
  expect(both.map(({ kind }) => kind).toSorted()).toEqual(["ok", "used"]);
  expect(await admin.sessions.list()).toHaveLength(1);
  const entries = await admin.audit.list({ operation: "console sign-in", limit: 9 });
  expect(entries.map(({ outcome }) => outcome).toSorted()).toEqual(["done", "failed"]);
  await close();
});

test("a sign-in is in the audit log, with the session and without a token", async () => {
  const { admin, signIn, close } = await open();
  const { session, token } = await signIn("noura");
  const [entry] = await admin.audit.list({ operation: "console sign-in", limit: 1 });
  expect(entry).toMatchObject({
    ...{ actor: "noura", actor_kind: "operator", via: "console", outcome: "done" },
    ...{ target: session.id, state_after: { id: session.id, operator: "noura" } },
  });
  expect(JSON.stringify(entry)).not.toContain(hashSecret(token));
  await close();
});

test("a session lasts 30 days, and not longer than its operator", async () => {
  const { admin, clock, signIn, identify, close } = await open();
  await admin.operators.create({ name: "guest", role: "operator", lifetimeMs: DAY_MS });
  const [long, short] = [await signIn("noura"), await signIn("guest")];
  expect(short.session.expires_at).toBe(clock.now() + DAY_MS);
  expect(await identify(short.token)).toMatchObject({ name: "guest" });
  await clock.advance(DAY_MS);
  expect(await identify(short.token)).toBeUndefined();
  await clock.advance(29 * DAY_MS - 1);
  expect(await identify(long.token)).toMatchObject({ name: "noura", role: "operator" });
  await clock.advance(1);
  expect(await identify(long.token)).toBeUndefined();
  await close();
});

test("a revoked operator has no session, and gets none by an older link", async () => {
  const { admin, link, signIn, identify, close } = await open();
  const { token } = await signIn("noura");
  const unused = await link("noura");
  await admin.operators.revoke("noura");
  expect(await identify(token)).toBeUndefined();
  expect(await admin.sessions.signIn(unused.token, CLIENT)).toEqual({ kind: "revoked" });
  expect(await admin.sessions.list()).toEqual([]);
  await close();
});

test("sessions are listed with where and when, and one is ended", async () => {
  const { admin, clock, link, signIn, identify, close } = await open();
  const { session, token } = await signIn("noura");
  const other = await admin.sessions.signIn((await link("noura")).token, {
    user_agent: "x".repeat(1_000),
    address: "192.0.2.7",
  });
  await clock.advance(MINUTE_MS - 1);
  await identify(token);
  const list = () => perform(admin, sessionOperations.list, {}, USER);
  const seen = (await list()).map((row) => row.last_seen_at);
  expect(new Set(seen).size).toBe(1);
  await clock.advance(1);
  await identify(token);
  const [first, second] = await list();
  expect(first).toMatchObject({ id: session.id, operator: "noura", ...CLIENT });
  expect(Date.parse(String(first!.last_seen_at))).toBe(clock.now());
  expect(second).toMatchObject({ address: "192.0.2.7", user_agent: `${"x".repeat(160)}…` });
  await perform(admin, sessionOperations.end, { id: session.id.slice(-8) }, USER);
  expect(await identify(token)).toBeUndefined();
  expect(other.kind === "ok" && (await identify(other.token))).toMatchObject({ name: "noura" });
  const [entry] = await admin.audit.list({ limit: 1 });
  expect(entry).toMatchObject({
    ...{ operation: "operators end", target: session.id, outcome: "done" },
    ...{ state_before: { operator: "noura" }, state_after: null },
  });
  await expect(perform(admin, sessionOperations.end, { id: session.id }, USER)).rejects.toThrow(
    "see `wadi operators sessions`",
  );
  await close();
});

test("a sweep deletes sessions that are over, and links a day after their end", async () => {
  const { admin, clock, database, link, signIn, close } = await open();
  await signIn("noura");
  const { token } = await link("noura");
  const [sessions, links] = createSessionSweeps({ database });
  const sweep = (one = sessions!) => one.run(clock.now(), () => false);
  await clock.advance(DAY_MS);
  expect([await sweep(), await sweep(links)]).toEqual([0, 0]);
  expect(await admin.sessions.signIn(token, CLIENT)).toEqual({ kind: "expired" });
  await clock.advance(30 * MINUTE_MS - 1);
  expect(await sweep(links)).toBe(0);
  await clock.advance(1);
  expect(await sweep(links)).toBe(2);
  await clock.advance(29 * DAY_MS);
  expect(await sweep()).toBe(1);
  await close();
});

test("the last request is noted once a minute, and only an absent database keeps it from that", async () => {
  let notes = 0;
  const see = (now: number, failure?: Error) =>
    noteLastSeen({ seenAt: 0, now }, async () => {
      notes += 1;
      if (failure) throw failure;
    });
  await see(MINUTE_MS - 1);
  expect(notes).toBe(0);
  await see(MINUTE_MS);
  await see(MINUTE_MS, new DatabaseUnavailable("away"));
  expect(notes).toBe(2);
  expect(see(MINUTE_MS, new Error("a bug"))).rejects.toThrow("a bug");
});
