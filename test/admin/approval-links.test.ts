// Tests links to approvals over HTTP: what one shows, what it refuses, when it ends, who decided.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createApprovalLinkSweeps } from "../../src/admin/approval-links.ts";
import { approvalLinkOperations, perform, sessionOperations } from "../../src/admin/index.ts";
import { OPERATIONS } from "../../src/admin/operations/index.ts";
import { createRunSweeps } from "../../src/agents/index.ts";
import { installationStore } from "../../src/installation/index.ts";
import { accountDeletionStore } from "../../src/inventory/index.ts";
import { bringTo } from "../spec/agents/approvals-front.ts";
import { type Json, type RunsFront, startRuns } from "../spec/agents/runs-front.ts";
import { KEY } from "../support/app.ts";

const USER = { kind: "user", name: "root", via: "command line" } as const;
const NOURA = { kind: "operator", name: "noura", via: "operator API" } as const;
const PAGE = { ...NOURA, via: "console" } as const;
const ORIGIN = "http://localhost";
const SESSION = "/operator/link/session";
const API = "/operator/link/v1";
const DAY_MS = 86_400_000;
const DESK = { for: "Finance desk" };

let front: RunsFront;
beforeEach(async () => {
  front = await startRuns();
  await front.app.admin.operators.create({ name: "noura", role: "operator" });
});
afterEach(() => front.app.stop(0));

const link = (request: object, actor: Parameters<typeof perform>[3] = NOURA) =>
  perform(front.app.admin, approvalLinkOperations.create, request as never, actor);
const call = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
  front.ask(method, path, { key: null, headers, body });
const trade = (token: string, headers: Record<string, string> = { origin: ORIGIN }) =>
  call("POST", SESSION, { "user-agent": "Mozilla/5.0", ...headers }, { token });
/** Returns the headers of a page that has opened the link. */
const open = async (token: string) => {
  const reply = await trade(token);
  expect(reply.status).toBe(200);
  return { cookie: reply.headers.get("set-cookie")!.split(";", 1)[0]!, origin: ORIGIN };
};
const ask = async (account = KEY): Promise<Json> =>
  (await bringTo(front, "pending", account)).approval;
const decide = (page: Record<string, string>, id: string, verb = "approve", body: object = {}) =>
  call("POST", `${API}/approvals/${id}/${verb}`, page, body);
const explain = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message.split(":")[0]];
};

describe("a link to one approval", () => {
  test("is traded once for a cookie of its routes alone", async () => {
    const { id } = await ask();
    const { token } = await link({ id, ...DESK });
    const reply = await trade(token);
    const [cookie, ...attributes] = reply.headers.get("set-cookie")!.split("; ");
    expect(cookie).toMatch(/^wadi_approvals_[0-9a-f]{8}=wadi_approver_\w{49}$/);
    expect(attributes).toEqual([
      ...["Path=/operator/link", "Max-Age=60", "HttpOnly", "SameSite=Strict"],
    ]);
    expect(reply.headers.get("cache-control")).toBe("no-store");
    expect(await reply.json()).toMatchObject({
      ...{ person: "Finance desk", operator: "noura", account: "dev", approval_id: id },
      ...{ status: "pending", decided_by: null, decided_at: null },
    });
    const again = await trade(token);
    expect(again.headers.has("set-cookie")).toBe(false);
    expect(await explain(again)).toEqual([401, "invalid_api_key", "This link was used before"]);
  });

  test("begins one session for two that open it at once", async () => {
    const { token } = await link({ id: (await ask()).id, ...DESK });
    const both = await Promise.all([trade(token), trade(token)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    const operation = "approvals link sign-in";
    const entries = await front.app.admin.audit.list({ operation, limit: 9 });
    expect(entries.map(({ outcome }) => outcome).toSorted()).toEqual(["done", "failed"]);
  });

  test("shows it and decides it, in the name of the person and of who made the link", async () => {
    const { id } = await ask();
    const page = await open((await link({ id, ...DESK })).token);
    const shown = (await (await call("GET", `${API}/approvals/${id}`, page)).json()) as Json;
    expect(shown).toMatchObject({ approval: { id }, account: "dev" });
    const decided = await decide(page, id, "reject", { reason: "Call them first." });
    expect([decided.status, await decided.json()]).toMatchObject([
      200,
      { status: "rejected", decided_by: { kind: "operator", id: "noura", person: "Finance desk" } },
    ]);
    const approval = await front.read(`/v1/approvals/${id}`);
    expect(approval).toMatchObject({
      ...{ status: "rejected", reason: "Call them first." },
      decided_by: { kind: "operator", id: "noura", person: "Finance desk" },
    });
    const [entry] = await front.app.admin.audit.list({ limit: 1 });
    expect(entry).toMatchObject({
      ...{ actor: "noura", via: "approval link", operation: "approvals reject", target: id },
      ...{ outcome: "done", state_after: { decided_by: { person: "Finance desk" } } },
    });
  });

  test("ends with its decision, of which its page is told", async () => {
    const { id } = await ask();
    const page = await open((await link({ id, ...DESK })).token);
    expect((await decide(page, id)).status).toBe(200);
    for (const verb of ["approve", "reject"]) {
      const refused = await decide(page, id, verb);
      expect((await explain(refused)).slice(0, 2)).toEqual([401, "invalid_api_key"]);
    }
    expect((await call("GET", `${API}/approvals/${id}`, page)).status).toBe(401);
    expect(await (await call("GET", SESSION, page)).json()).toMatchObject({
      ...{ status: "approved", decided_by: { id: "noura", person: "Finance desk" } },
      decided_at: expect.any(String),
    });
  });

  test("ends by a sign-out of its page, which no other origin can do", async () => {
    const { id } = await ask();
    const page = await open((await link({ id, ...DESK })).token);
    const foreign = await call("DELETE", SESSION, { ...page, origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    const left = await call("DELETE", SESSION, page);
    expect([left.status, left.headers.get("cache-control")]).toEqual([204, "no-store"]);
    expect(left.headers.get("set-cookie")).toMatch(/^wadi_approvals_\w+=; Path=.*Max-Age=0/);
    for (const method of ["GET", "DELETE"]) {
      expect((await explain(await call(method, SESSION, page))).slice(0, 2)).toEqual([
        ...[401, "invalid_api_key"],
      ]);
    }
    expect((await decide(page, id)).status).toBe(401);
    const [entry] = await front.app.admin.audit.list({ limit: 1 });
    expect(entry).toMatchObject({
      ...{ actor: "noura", via: "approval link", operation: "operators end", outcome: "done" },
    });
  });

  test("ends with the decision of somebody else, between its opening and its click", async () => {
    const { id } = await ask();
    const page = await open((await link({ id, ...DESK })).token);
    const { approvals } = front.app.admin;
    await approvals.decide(id, { decision: "approved", reason: null, by: "noura" });
    expect((await decide(page, id, "reject")).status).toBe(401);
    expect(await (await call("GET", SESSION, page)).json()).toMatchObject({
      ...{ status: "approved", decided_by: { kind: "operator", id: "noura" } },
    });
    expect(await front.read(`/v1/approvals/${id}`)).toMatchObject({ status: "approved" });
  });

  test("is told that its approval is closed, once its run is gone", async () => {
    const { id, run_id } = await ask();
    const page = await open((await link({ id, ...DESK })).token);
    await front.post(`/v1/runs/${run_id}/cancel`, undefined);
    expect(await (await call("GET", SESSION, page)).json()).toMatchObject({ status: "closed" });
    expect((await decide(page, id)).status).toBe(401);
    await front.clock.advance(2);
    const retention = {
      ...{ runs: 1, events: null, request_log: null, usage_half_hours: null, audit: null },
    };
    const { database } = front.app;
    const [runs] = createRunSweeps({ database, settings: () => ({ retention }) });
    expect(await runs!.run(front.clock.now(), () => false)).toBe(1);
    expect(await (await call("GET", SESSION, page)).json()).toMatchObject({
      ...{ status: "closed", tool: null, decided_at: null },
    });
  });

  test("decides once where two clicks differ", async () => {
    const { id } = await ask();
    const page = await open((await link({ id, ...DESK })).token);
    const both = await Promise.all([decide(page, id, "approve"), decide(page, id, "reject")]);
    const statuses = both.map(({ status }) => status).toSorted();
    expect(statuses[0]).toBe(200);
    expect([401, 409]).toContain(statuses[1]!);
  });

  test("is not made for one whose time is over, also before it is marked as expired", async () => {
    const { approval } = await bringTo(front, "overdue");
    expect(approval).toMatchObject({ status: "pending" });
    expect(Date.parse(approval.expires_at)).toBe(front.clock.now());
    await expect(link({ id: approval.id, ...DESK })).rejects.toThrow("does not wait any more");
  });

  test("is not made for one that is decided, and is of no use once it is", async () => {
    const { id } = await ask();
    const { token } = await link({ id, ...DESK });
    const { approvals } = front.app.admin;
    await approvals.decide(id, { decision: "rejected", reason: null, by: "noura" });
    expect((await explain(await trade(token)))[2]).toBe("The approval of this link waits no more.");
    await expect(link({ id, ...DESK })).rejects.toThrow("does not wait any more");
  });

  test("reaches no other approval, and no list", async () => {
    const [one, other] = [await ask(), await ask()];
    const page = await open((await link({ id: one.id, ...DESK })).token);
    const unknown = await call("GET", `${API}/approvals/${crypto.randomUUID()}`, page);
    const sentence = (await explain(unknown))[2] as string;
    expect(unknown.status).toBe(404);
    for (const path of [other.id, other.id.toUpperCase()]) {
      const [status, , says] = await explain(await call("GET", `${API}/approvals/${path}`, page));
      // As if it did not exist.
      expect([status, String(says).replace(/".*"/, "")]).toEqual([
        ...[404, sentence.replace(/".*"/, "")],
      ]);
      expect((await decide(page, path)).status).toBe(404);
    }
    // Parts of ids would tell which ones exist.
    for (const part of [other.id.slice(-8), one.id.slice(-8)]) {
      expect((await call("GET", `${API}/approvals/${part}`, page)).status).toBe(400);
      expect((await decide(page, part)).status).toBe(400);
    }
    expect((await call("GET", `${API}/approvals`, page)).status).toBe(400);
    expect(await front.read(`/v1/approvals/${other.id}`)).toMatchObject({ status: "pending" });
  });

  test("ends with its approval at the latest, in the middle of its session", async () => {
    const { approval, run } = await bringTo(front, "pending");
    const { id, expires_at } = approval;
    const made = await link({ id, ...DESK, lifetime_ms: 30 * DAY_MS });
    expect(made.expires_at).toBe(expires_at);
    const page = await open(made.token);
    await front.clock.advance(Date.parse(expires_at) - front.clock.now() - 1);
    expect((await call("GET", `${API}/approvals/${id}`, page)).status).toBe(200);
    await front.clock.advance(1);
    expect((await decide(page, id)).status).toBe(401);
    expect((await call("GET", SESSION, page)).status).toBe(401);
    expect((await front.read(`/v1/runs/${run.id}`)).status).not.toBe("succeeded");
  });

  test("ends at its own time, opened or not", async () => {
    const { id } = await ask();
    const [early, late] = [
      await link({ id, ...DESK, lifetime_ms: 5_000 }),
      await link({ id, ...DESK, lifetime_ms: 5_000 }),
    ];
    const page = await open(early.token);
    await front.clock.advance(5_000);
    expect((await decide(page, id)).status).toBe(401);
    expect((await explain(await trade(late.token)))[2]).toBe("This link has expired");
    expect((await explain(await trade(early.token)))[2]).toBe("This link was used before");
  });
});

describe("a link to the approvals of an account", () => {
  test("lists and decides those of the account alone, until it ends", async () => {
    const one = await ask();
    await front.clock.advance(1);
    const two = await ask();
    const page = await open((await link({ account: "dev", ...DESK })).token);
    const list = async (query = "") =>
      (await (await call("GET", `${API}/approvals${query}`, page)).json()) as Json[];
    expect((await list()).map(({ id }) => id)).toEqual([two.id, one.id]);
    expect((await list("?account=other")).map(({ account }) => account)).toEqual(["dev", "dev"]);
    expect((await list("?account=nobody")).map(({ account }) => account)).toEqual(["dev", "dev"]);
    for (const { id } of [one, two]) expect((await decide(page, id)).status).toBe(200);
    expect((await decide(page, one.id, "reject")).status).toBe(409);
    expect(await (await call("GET", SESSION, page)).json()).toMatchObject({
      ...{ account: "dev", approval_id: null, status: null },
    });
    await front.clock.advance(DAY_MS);
    expect((await call("GET", `${API}/approvals`, page)).status).toBe(401);
  });

  test("reaches no approval of another account", async () => {
    const { id } = await ask();
    const page = await open((await link({ account: "other", ...DESK })).token);
    expect(await (await call("GET", `${API}/approvals`, page)).json()).toEqual([]);
    expect((await call("GET", `${API}/approvals/${id}`, page)).status).toBe(404);
    expect((await decide(page, id)).status).toBe(404);
    expect(await front.read(`/v1/approvals/${id}`)).toMatchObject({ status: "pending" });
    const [entry] = await front.app.admin.audit.list({ limit: 1 });
    expect(entry).toMatchObject({ via: "approval link", target: id, outcome: "failed" });
  });

  test("goes with its account", async () => {
    const { token } = await link({ account: "other", ...DESK });
    const page = await open(token);
    await front.app.database.bind(accountDeletionStore).begin({
      ...{ account_id: (await front.app.access.accounts.find("other"))!.id, name: "other" },
      begun_at: front.clock.now(),
    });
    expect((await call("GET", `${API}/approvals`, page)).status).toBe(401);
  });
});

describe("the session of a link", () => {
  test("reaches no route of operators, and its own path has no other operation", async () => {
    const page = await open((await link({ account: "dev", ...DESK })).token);
    const id = crypto.randomUUID();
    for (const { method, path, name, isForLinks = false } of OPERATIONS) {
      const body = method === "GET" || method === "DELETE" ? undefined : {};
      const at = path.replaceAll(/:\w+/g, id);
      const operator = await call(method, `/operator/v1${at}`, page, body);
      expect([name, ...(await explain(operator)).slice(0, 2)]).toEqual([
        ...[name, 401, "missing_api_key"],
      ]);
      const own = await call(method, `${API}${at}`, page, body);
      expect([name, own.status === 404 && !(await own.text()).includes(id)]).toEqual([
        ...[name, !isForLinks],
      ]);
      // Refused attempts are counted, too.
      await front.clock.advance(1_000);
    }
    for (const path of ["/console/session", "/v1/models", "/v1/approvals"]) {
      expect((await call("GET", path, page)).status).toBe(401);
    }
    const renamed = page.cookie.replace("wadi_approvals_", "wadi_session_");
    const forged = await call("GET", "/operator/v1/approvals", { ...page, cookie: renamed });
    expect((await explain(forged))[1]).toBe("invalid_api_key");
    const token = page.cookie.split("=")[1]!;
    const bearer = await call("GET", "/operator/v1/approvals", {
      authorization: `Bearer ${token}`,
    });
    expect(bearer.status).toBe(401);
  });

  test("is none by the link's own token, or by one of an operator", async () => {
    const { id } = await ask();
    const { token } = await link({ id, ...DESK });
    const page = await open(token);
    const [name] = page.cookie.split("=");
    const console_ = await front.app.admin.sessions.createLink("noura", USER);
    for (const wrong of [token, console_.token, "wadi_approver_x", "x".repeat(600)]) {
      const reply = await call("GET", SESSION, { ...page, cookie: `${name}=${wrong}` });
      expect(reply.status).toBe(401);
    }
    // A link of one kind opens no session of the other.
    expect((await trade(console_.token)).status).toBe(401);
    const other = await link({ id, ...DESK });
    const signIn = { origin: ORIGIN };
    const asOperator = await call("POST", "/console/session", signIn, { token: other.token });
    expect(asOperator.status).toBe(401);
    expect((await trade(other.token)).status).toBe(200);
  });

  test("writes for own pages only, under an own name", async () => {
    const { id } = await ask();
    const { token } = await link({ id, ...DESK });
    for (const origin of ["https://evil.example", "http://localhost:3000", "null"]) {
      expect((await trade(token, { origin })).status, origin).toBe(403);
    }
    expect((await trade(token, {})).status).toBe(403);
    const { cookie } = await open(token);
    const others: Record<string, string>[] = [
      ...[{}, { origin: "https://evil.example" }, { origin: ORIGIN, host: "evil.example" }],
    ];
    for (const headers of others) {
      expect((await decide({ cookie, ...headers }, id)).status).toBe(403);
      expect((await call("POST", SESSION, headers, { nonsense: 1 })).status).toBe(403);
    }
    expect(await front.read(`/v1/approvals/${id}`)).toMatchObject({ status: "pending" });
  });

  test("is refused once who made it is revoked, and its unopened links too", async () => {
    const { id } = await ask();
    const [opened, unopened] = [await link({ id, ...DESK }), await link({ id, ...DESK })];
    const page = await open(opened.token);
    await front.app.admin.operators.revoke("noura");
    expect((await decide(page, id)).status).toBe(401);
    expect((await call("GET", SESSION, page)).status).toBe(401);
    expect((await explain(await trade(unopened.token)))[2]).toBe(
      "Who made this link is no operator any more.",
    );
    expect(await front.app.admin.sessionList.list()).toEqual([]);
    expect(await front.read(`/v1/approvals/${id}`)).toMatchObject({ status: "pending" });
  });

  test("is listed and ended with the sessions of operators, opened or not", async () => {
    const { id } = await ask();
    const [opened, unopened] = [
      await link({ id, ...DESK }),
      await link({ account: "dev", ...DESK }),
    ];
    await front.clock.advance(1_000);
    const page = await open(opened.token);
    const list = () => perform(front.app.admin, sessionOperations.list, {}, NOURA);
    expect(await list()).toMatchObject([
      {
        ...{ id: opened.id, operator: "noura", person: "Finance desk", approval_id: id },
        ...{ account: "dev", is_opened: true, address: "nowhere", user_agent: "Mozilla/5.0" },
      },
      {
        ...{ id: unopened.id, operator: "noura", person: "Finance desk", approval_id: null },
        ...{ account: "dev", is_opened: false, address: "", user_agent: null },
      },
    ]);
    for (const one of [opened, unopened]) {
      const part = one.id.slice(-8);
      await perform(front.app.admin, sessionOperations.end, { id: part }, NOURA);
      const [entry] = await front.app.admin.audit.list({ limit: 1 });
      expect(entry).toMatchObject({
        ...{ operation: "operators end", target: one.id, outcome: "done" },
        ...{ state_before: { person: "Finance desk" }, state_after: null },
      });
    }
    expect((await decide(page, id)).status).toBe(401);
    expect((await explain(await trade(unopened.token)))[2]).toBe("This link is unknown");
    expect(await list()).toEqual([]);
  });

  test("is guessed slowly by an address", async () => {
    const more = "[operator]\nrequests_per_minute = 2\n";
    await using other = await startRuns({ more });
    const attempt = async (method: string, headers: Record<string, string>, body?: object) =>
      (
        await other.ask(method, SESSION, {
          key: null,
          headers: { origin: ORIGIN, ...headers },
          body,
        })
      ).status;
    const guess = () => attempt("POST", {}, { token: "wadi_approval_guess" });
    expect([await guess(), await guess(), await guess()]).toEqual([401, 401, 429]);
    expect(await attempt("GET", {})).toBe(429);
    await other.clock.advance(60_000);
    const { id } = await other.app.database.bind(installationStore).find();
    const cookie = `wadi_approvals_${id.slice(-8)}=wadi_approver_guess`;
    const read = () => attempt("GET", { cookie });
    expect([await read(), await read(), await read()]).toEqual([401, 401, 429]);
  });

  test("is read at most as often as the operator API is asked, and no cache keeps it", async () => {
    await using other = await startRuns({ more: "[operator]\nrequests_per_minute = 2\n" });
    await other.app.admin.operators.create({ name: "noura", role: "operator" });
    const request = { account: "dev", ...DESK };
    const attempt = (method: string, path: string, page: Record<string, string>, body?: object) =>
      other.ask(method, path, { key: null, headers: { origin: ORIGIN, ...page }, body });
    const enter = async () => {
      const made = await perform(other.app.admin, approvalLinkOperations.create, request, NOURA);
      const opened = await attempt("POST", SESSION, {}, { token: made.token });
      return { cookie: opened.headers.get("set-cookie")!.split(";", 1)[0]! };
    };
    const [one, two] = [await enter(), await enter()];
    const read = async (path = SESSION, page = one) => {
      const reply = await attempt("GET", path, page);
      return [reply.status, reply.headers.get("cache-control")];
    };
    const shown = [200, "no-store"];
    expect([await read(), await read(), (await read())[0]]).toEqual([shown, shown, 429]);
    // Links of one operator have counters of their own.
    const list = (page: typeof one) => read(`${API}/approvals`, page);
    expect([await list(one), await list(one), (await list(one))[0]]).toEqual([shown, shown, 429]);
    expect(await list(two)).toEqual(shown);
  });

  test("is noted once a minute", async () => {
    const page = await open((await link({ account: "dev", ...DESK })).token);
    const seen = async () => (await front.app.admin.sessionList.list())[0]!.last_seen_at;
    const at = await seen();
    await front.clock.advance(59_999);
    await call("GET", SESSION, page);
    expect(await seen()).toBe(at);
    await front.clock.advance(1);
    await call("GET", SESSION, page);
    expect(await seen()).toBe(front.clock.now());
  });
});

describe("the making of a link", () => {
  test("is logged without its secret, and so is its opening", async () => {
    const { id } = await ask();
    const made = await link({ id, ...DESK }, PAGE);
    await open(made.token);
    const [opening, making] = await front.app.admin.audit.list({ limit: 2 });
    expect(making).toMatchObject({
      ...{ actor: "noura", via: "console", operation: "approvals link", target: made.id },
      ...{ outcome: "done", state_before: null },
      state_after: { person: "Finance desk", approval_id: id, used_at: null },
    });
    expect(opening).toMatchObject({
      ...{ actor: "noura", via: "approval link", operation: "approvals link sign-in" },
      ...{ target: made.id, outcome: "done", state_after: { address: "nowhere" } },
      state_before: { id: made.id, address: "", used_at: null },
    });
    expect(JSON.stringify([making, opening])).not.toMatch(/wadi_appro|_hash/);
  });

  test("is for one approval or one account, a visible name, and 30 days at most", async () => {
    const { id } = await ask();
    await expect(link(DESK)).rejects.toThrow("one approval, or those of an account");
    await expect(link({ id, account: "dev", ...DESK })).rejects.toThrow("name either");
    await expect(link({ account: "dve", ...DESK })).rejects.toThrow('did you mean "dev"?');
    for (const name of [" ", "Fin\u202Eance", "a\nb", "a\u200Bb", "a\u2028b", "a\u2029b"]) {
      await expect(link({ id, for: name })).rejects.toThrow("a name of visible characters");
    }
    await expect(link({ id, for: "x".repeat(61) })).rejects.toThrow("for");
    const tooLong = { account: "dev", ...DESK, lifetime_ms: 30 * DAY_MS + 1 };
    await expect(link(tooLong)).rejects.toThrow("30 days");
    expect(await front.app.admin.approvalLinks.list()).toEqual([]);
  });

  test("is the operator's own, or a named one's by a user of the system", async () => {
    const { id } = await ask();
    const { admin } = front.app;
    await admin.operators.create({ name: "sami", role: "operator" });
    await expect(link({ id, ...DESK, as: "sami" })).rejects.toThrow("as itself only");
    await link({ id, ...DESK, as: "sami" }, USER);
    await link({ id, ...DESK }, USER);
    const names = (await admin.approvalLinks.list()).map(({ operator }) => operator);
    expect(names.toSorted()).toEqual(["root", "sami"]);
  });

  test("is for one approval only from a session, which it would outlive", async () => {
    await link({ id: (await ask()).id, ...DESK }, PAGE);
    await expect(link({ account: "dev", ...DESK }, PAGE)).rejects.toThrow("one approval only");
  });

  test("is refused to an approver and to a link", async () => {
    const { id } = await ask();
    const { token } = await front.app.admin.operators.create({ name: "ali", role: "approver" });
    const body = { id, ...DESK };
    const path = "/operator/v1/approvals/links";
    expect((await front.ask("POST", path, { key: token, body })).status).toBe(403);
    const page = await open((await link({ id, ...DESK })).token);
    const { scope } = (await front.app.admin.linkSessions.identify(page.cookie.split("=")[1]!))!;
    const actor = { ...NOURA, via: "approval link", scope } as const;
    await expect(link({ id, ...DESK }, actor)).rejects.toThrow("may not do this");
  });

  test("is not made while the operator API is switched off", async () => {
    await using other = await startRuns({ more: "[operator]\nenabled = false\n" });
    const request = { account: "dev", ...DESK };
    await expect(
      perform(other.app.admin, approvalLinkOperations.create, request, USER),
    ).rejects.toThrow("switched off by operator.enabled");
  });

  test("gives the address that the settings name for people", async () => {
    const { id } = await ask();
    expect((await link({ id, ...DESK })).url).toBeNull();
    const more = '[operator]\npublic_url = "https://wadi.internal/"\n';
    await using other = await startRuns({ more });
    await other.app.admin.operators.create({ name: "noura", role: "operator" });
    const { approval } = await bringTo(other, "pending");
    const request = { id: approval.id, ...DESK };
    const made = await perform(other.app.admin, approvalLinkOperations.create, request, NOURA);
    expect(made.url).toBe(`https://wadi.internal/console/a#${made.token}`);
  });
});

test("a sweep deletes links a day after their end", async () => {
  const { token } = await link({ account: "dev", ...DESK });
  const [sweep] = createApprovalLinkSweeps({ database: front.app.database });
  const run = () => sweep!.run(front.clock.now(), () => false);
  await front.clock.advance(2 * DAY_MS - 1);
  expect([await run(), (await explain(await trade(token)))[2]]).toEqual([
    ...[0, "This link has expired"],
  ]);
  await front.clock.advance(1);
  expect([await run(), (await explain(await trade(token)))[2]]).toEqual([
    1,
    "This link is unknown",
  ]);
});
