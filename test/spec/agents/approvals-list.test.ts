// Lists of approvals: pages, filters, cursors and ownership.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ApprovalRow } from "../../../src/agents/approvals/approval.ts";
import { KEY } from "../../support/app.ts";
import { decided } from "./approvals-front.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { makeApproval } from "./runs-approval.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

const OTHER = `${KEY}-other`;

let front: RunsFront;
/** In order of request, the oldest first: three runs of two agents. */
const made: Json[] = [];
const runs: Json[] = [];
beforeAll(async () => {
  front = await startRuns();
  const second = await front.createAgent();
  const agents = [front.agent, second, front.agent];
  for (const [i, count] of [4, 3, 4].entries()) {
    runs.push(await front.begin({}, agents[i]));
    made.push(...(await ask(front, runs[i]!, count)));
    // Approvals of one run are requested in the same millisecond.
    await front.clock.advance(1_000);
  }
  made[1] = await decided(front, made[1]!.id, "approve");
  made[5] = await decided(front, made[5]!.id, "reject");
  made[8] = await decided(front, made[8]!.id, "approve");
});
afterAll(() => front.app.stop(0));

/** Creates this many approvals of a waiting run, with `fields` each. */
async function ask(app: RunsFront, run: Json, count: number, fields: Partial<ApprovalRow> = {}) {
  const epoch = await app.claim();
  const requested = Array.from({ length: count }, () => makeApproval(app, run)).map((one) => {
    const approval = { ...one.request.approval, ...fields };
    return { ...one, request: { ...one.request, approval } };
  });
  const record = app.record(run, epoch, { steps: requested.map(({ step }) => step) });
  await app.store.plan(
    record,
    requested.map(({ request }) => request),
  );
  await app.store.wait(run.id, epoch, 0);
  // Within one millisecond they are listed by id.
  const ids = requested.map(({ request }) => request.approval.id).toSorted();
  return Promise.all(ids.map((id) => app.read(`/v1/approvals/${id}`)));
}

const newest = (wanted: (one: Json) => boolean = () => true) => made.filter(wanted).toReversed();
const list = (query = "") => front.read(`/v1/approvals?${query}`);

/** All pages of a list, each of which must be led to by the one before. */
async function walk(query: string, limit: number): Promise<Json[]> {
  const seen: Json[] = [];
  for (let before = ""; ; ) {
    const page: Json = await list(`${query}&limit=${limit}${before}`);
    expect(Object.keys(page)).toEqual(["data", "next_before"]);
    expect(page.data.length).toBeLessThanOrEqual(limit);
    seen.push(...page.data);
    if (page.next_before === null) return seen;
    expect(page.data).toHaveLength(limit);
    before = `&before=${page.next_before}`;
  }
}

describe("GET /v1/approvals", () => {
  test("agents.endpoints.approvals.v1_approvals_and_v1: lists the account's approvals newest first, each as its own route returns it", async () => {
    expect(await list()).toEqual({ data: newest(), next_before: null });
    for (const one of made) expect(await front.read(`/v1/approvals/${one.id}`)).toEqual(one);
    const upper = await front.read(`/v1/approvals/${made[0]!.id.toUpperCase()}`);
    expect(upper).toEqual(made[0]!);
  });

  test("agents.endpoints.approvals.v1_approvals_and_v1: pages of every size continue one another without gap or repeat", async () => {
    for (const limit of [1, 2, 3, 4, 10, 11, 12, 200]) {
      expect(await walk("", limit)).toEqual(newest());
      expect(await walk("status=pending", limit)).toEqual(
        newest(({ status }) => status === "pending"),
      );
    }
  });

  test("agents.endpoints.approvals.v1_approvals_and_v1: filters narrow the list, alone and combined", async () => {
    const filters: [query: string, wanted: (one: Json) => boolean][] = [
      ...["pending", "approved", "rejected", "expired", "closed"].map(
        (status): [string, (one: Json) => boolean] => [
          `status=${status}`,
          (one) => one.status === status,
        ],
      ),
      ...runs.map(({ id }): [string, (one: Json) => boolean] => [
        `run_id=${id}`,
        (one) => one.run_id === id,
      ]),
      [`agent_id=${front.agent.id}`, (one) => one.agent_id === front.agent.id],
      [
        `agent_id=${front.agent.id.toUpperCase()}&status=approved`,
        (one) => one.agent_id === front.agent.id && one.status === "approved",
      ],
      // The run of one agent with another agent's filter: no result.
      [`agent_id=${front.agent.id}&run_id=${runs[1]!.id}`, () => false],
      [
        `run_id=${runs[0]!.id.toUpperCase()}&status=pending&agent_id=${front.agent.id}`,
        (one) => one.run_id === runs[0]!.id && one.status === "pending",
      ],
    ];
    for (const [query, wanted] of filters) {
      expect([query, (await list(query)).data]).toEqual([query, newest(wanted)]);
    }
  });

  test("a decision between two pages does not shift the later ones", async () => {
    await using own = await startRuns();
    const requested = (await ask(own, await own.begin(), 6)).toReversed();
    const first = await own.read("/v1/approvals?status=pending&limit=2");
    await decided(own, requested[1]!.id, "approve");
    await decided(own, requested[3]!.id, "approve");
    const path = `/v1/approvals?status=pending&limit=2&before=${first.next_before}`;
    const second = await own.read(path);
    expect(second.data.map(({ id }: Json) => id)).toEqual([requested[2]!.id, requested[4]!.id]);
  });

  test("agents.errors.p9: a page has 1 to 200 approvals, and 50 by default", async () => {
    await using own = await startRuns();
    const run = await own.begin();
    await ask(own, run, 250);
    const page = await own.read("/v1/approvals");
    expect(page.data).toHaveLength(50);
    const long = await own.read("/v1/approvals?limit=200");
    expect(long.data).toHaveLength(200);
    expect(long.data.slice(0, 50)).toEqual(page.data);
    const rest = await own.read(`/v1/approvals?limit=200&before=${long.next_before}`);
    expect([rest.data.length, rest.next_before]).toEqual([50, null]);
    for (const limit of ["0", "201", "-1", "1.5", "x", "", "1e2"]) {
      const reply = await own.get(`/v1/approvals?limit=${limit}`);
      await expectRefusal(reply, 400, undefined, "limit");
    }
  });

  test("a page with long arguments is sent in chunks, with the same content", async () => {
    await using own = await startRuns();
    const text = "x".repeat(100_000);
    await ask(own, await own.begin(), 25, { arguments: { text } });
    const reply = await own.get("/v1/approvals?limit=24");
    expect(reply.headers.get("content-type")).toBe("application/json");
    const page = (await reply.json()) as Json;
    expect(page.data.map((one: Json) => one.arguments.text === text)).toEqual(
      new Array(24).fill(true),
    );
    const { data } = await own.read(`/v1/approvals?before=${page.next_before}`);
    expect(data).toHaveLength(1);
  });
});

describe("its refusals", () => {
  test("agents.errors.p9: refuses an invalid cursor, and one of another filter or another account", async () => {
    const { next_before } = await list("limit=2");
    const { next_before: ofPending } = await list("limit=2&status=pending");
    const { next_before: ofRuns } = await front.read("/v1/runs?limit=1");
    const wrong = [
      ...["", "x", "AAAA", `${next_before}x`, next_before.slice(1), next_before.toUpperCase()],
      ...[ofPending, ofRuns, made[3]!.id, "x".repeat(129)],
    ];
    for (const before of wrong) {
      const reply = await front.get(`/v1/approvals?before=${encodeURIComponent(before)}`);
      await expectRefusal(reply, 400, undefined, "before");
    }
    for (const query of [`status=approved`, `run_id=${runs[0]!.id}`]) {
      const reply = await front.get(`/v1/approvals?${query}&before=${next_before}`);
      await expectRefusal(reply, 400, undefined, "before");
    }
    const theirs = await front.get(`/v1/approvals?before=${next_before}`, { key: OTHER });
    await expectRefusal(theirs, 400, undefined, "before");
  });

  test("agents.errors.p9 agents.errors.p5: refuses unknown fields and unknown values, by their name", async () => {
    const wrong: [query: string, param: string][] = [
      ["status=done", "status"],
      ["status=", "status"],
      ["status=pending&status=pending", "status"],
      ["run_id=mine", "run_id"],
      ["agent_id=mine", "agent_id"],
      ["tool=calculator", "tool"],
      ["after=x", "after"],
    ];
    for (const [query, param] of wrong) {
      await expectRefusal(await front.get(`/v1/approvals?${query}`), 400, undefined, param);
    }
    const one = await front.get(`/v1/approvals/${made[0]!.id}?status=pending`);
    await expectRefusal(one, 400, undefined, "status");
  });

  test("agents.authentication.6 agents.errors.approval_not_found: another account's approval is not found, in the path and in the query", async () => {
    for (const id of [made[0]!.id, NOWHERE]) {
      const reply = await front.get(`/v1/approvals/${id}`, { key: OTHER });
      await expectRefusal(reply, 404, "approval_not_found");
    }
    for (const [query, code] of [
      [`run_id=${runs[0]!.id}`, "run_not_found"],
      [`agent_id=${front.agent.id}`, "agent_not_found"],
      // Other faults do not matter: the first in declared order is reported.
      [`agent_id=${front.agent.id}&run_id=${runs[0]!.id}`, "agent_not_found"],
    ] as const) {
      const theirs = await front.get(`/v1/approvals?${query}`, { key: OTHER });
      await expectRefusal(theirs, 404, code);
      const nobodys = query.replaceAll(/[0-9a-f-]{36}/g, NOWHERE);
      await expectRefusal(await front.get(`/v1/approvals?${nobodys}`), 404, code);
    }
    expect(await front.read("/v1/approvals", { key: OTHER })).toEqual({
      ...{ data: [], next_before: null },
    });
    expect(await front.read("/v1/approvals", { key: `${KEY}-ownerless` })).toEqual({
      ...{ data: [], next_before: null },
    });
  });
});
