// Lists of runs: pages, filters and ownership.
import { expect, test } from "bun:test";
import { encodeCursor } from "../../../src/http/index.ts";
import { allow } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const numberOf = (run: Json) => Number(run.input.message);

/** Runs whose messages count from 1, one second apart. */
async function beginMany(front: RunsFront, count: number, agent = front.agent): Promise<Json[]> {
  const runs: Json[] = [];
  for (let i = 1; i <= count; i++) {
    runs.push(await front.begin({ input: { message: String(i) } }, agent));
    await front.clock.advance(1_000);
  }
  return runs;
}
const MANY = { limits: "active_runs = 1000" };

test("agents.endpoints.runs.get_runs, agents.endpoints.runs.get_agents_id_runs, agents.resources.p6: pages are newest first, and continue one another without gap or repeat", async () => {
  await using front = await startRuns(MANY);
  const runs = await beginMany(front, 7);
  const other = await front.createAgent();
  await front.begin({ input: { message: "8" } }, other);
  for (const [path, first] of [
    ["/v1/runs?", 8],
    [`/v1/agents/${front.agent.id}/runs?`, 7],
    [`/v1/runs?agent_id=${front.agent.id.toUpperCase()}&`, 7],
  ] as const) {
    const seen: number[] = [];
    let before: string | null = "";
    for (let pages = 0; before !== null; pages++) {
      expect(pages).toBeLessThan(5);
      const page: Json = await front.read(`${path}limit=3${before && `&before=${before}`}`);
      expect(Object.keys(page)).toEqual(["data", "next_before"]);
      expect(page.data.length).toBeLessThanOrEqual(3);
      seen.push(...page.data.map(numberOf));
      before = page.next_before;
    }
    expect(seen).toEqual(Array.from({ length: first }, (_, i) => first - i));
  }
  const whole = await front.read(`/v1/agents/${front.agent.id}/runs`);
  expect(whole).toEqual({ data: runs.toReversed(), next_before: null });
  const exact = await front.read(`/v1/agents/${front.agent.id}/runs?limit=7`);
  expect(exact.next_before).toBeNull();
});

test("agents.limits.runs_page: a page has 50 runs by default, and 1 to 200 on request", async () => {
  await using front = await startRuns(MANY);
  await beginMany(front, 51);
  expect((await front.read("/v1/runs")).data).toHaveLength(50);
  for (const limit of [51, 200]) {
    const { data, next_before } = await front.read(`/v1/runs?limit=${limit}`);
    expect([data.length, next_before]).toEqual([51, null]);
  }
  expect((await front.read("/v1/runs?limit=1")).data).toHaveLength(1);
  for (const limit of ["0", "201", "1.5", "x", ""]) {
    await expectRefusal(await front.get(`/v1/runs?limit=${limit}`), 400, undefined, "limit");
  }
});

test("agents.authentication.6: a forged cursor reads nothing, whatever it contains", async () => {
  await using front = await startRuns();
  await front.begin();
  const { key, account_id } = await allow(front, "others", { scopes: ["agents"] });
  // The checksum keeps no secret: each of these has the right one.
  const injected = { strings: ["0 OR 1=1"], values: [] };
  for (const place of [[injected], [[1]], [null], [true], ["x"], [1.5], [2 ** 60], [1, 2], []]) {
    const before = encodeCursor(`runs of ${account_id}`, place as never);
    const response = await front.get(`/v1/runs?before=${before}`, { key });
    await expectRefusal(response, 400, undefined, "before");
  }
});

test("agents.endpoints.runs.get_runs: a cursor that is not this list's next_before is refused", async () => {
  await using front = await startRuns();
  await beginMany(front, 2);
  const { next_before } = await front.read("/v1/runs?limit=1");
  expect(next_before.length).toBeLessThanOrEqual(128);
  const ofAgent = `/v1/agents/${front.agent.id}/runs`;
  for (const [path, before] of [
    ["/v1/runs", "1"],
    ["/v1/runs", ""],
    ["/v1/runs", `${next_before.slice(0, -1)}x`],
    ["/v1/runs", "x".repeat(129)],
    [ofAgent, next_before],
    [`/v1/runs?agent_id=${front.agent.id}`, next_before],
  ]) {
    const link = path!.includes("?") ? "&" : "?";
    const response = await front.get(`${path}${link}before=${before}`);
    await expectRefusal(response, 400, undefined, "before");
  }
  const { key } = await allow(front, "rival", { scopes: ["agents"] });
  const theirs = await front.get(`/v1/runs?before=${next_before}`, { key });
  await expectRefusal(theirs, 400, undefined, "before");
});

test("agents.endpoints.runs.p1, agents.endpoints.runs.p2, agents.states.p1, agents.states.p2: runs are filtered by status and by trigger; reserved values find none", async () => {
  await using front = await startRuns();
  const runs = await beginMany(front, 4);
  await front.post(`/v1/runs/${runs[0]!.id}/cancel`, undefined);
  const epoch = await front.claim();
  for (const [i, status] of (["succeeded", "failed"] as const).entries()) {
    const error = status === "failed" ? { code: "x", message: "It broke." } : null;
    const ending = { status, error, event_id: crypto.randomUUID(), fresh: [] };
    await front.store.finish(front.record(runs[i + 1]!, epoch), ending);
  }
  const queued = await front.begin({ input: { message: "5" } });
  const found: Record<string, number[]> = {};
  for (const status of [
    ...["queued", "running", "waiting_approval", "waiting_input", "sleeping"],
    ...["succeeded", "failed", "budget_exceeded", "cancelled"],
  ]) {
    const { data } = await front.read(`/v1/runs?status=${status}`);
    found[status] = data.map(numberOf);
  }
  expect(found).toEqual({
    ...{ queued: [numberOf(queued)], running: [4], waiting_approval: [], waiting_input: [] },
    ...{ sleeping: [], succeeded: [2], failed: [3], budget_exceeded: [], cancelled: [1] },
  });
  const ofAgent = `/v1/agents/${front.agent.id}/runs`;
  expect((await front.read(`${ofAgent}?status=running`)).data.map(numberOf)).toEqual([4]);
  expect((await front.read("/v1/runs?trigger_kind=manual")).data).toHaveLength(5);
  expect((await front.read("/v1/runs?trigger_kind=cron")).data).toEqual([]);
  expect((await front.read(`${ofAgent}?trigger_kind=webhook&status=failed`)).data).toEqual([]);
  await expectRefusal(await front.get("/v1/runs?status=done"), 400, undefined, "status");
  await expectRefusal(await front.get("/v1/runs?trigger_kind=x"), 400, undefined, "trigger_kind");
});

test("agents.limits.runs_page: a page of 200 equals four of 50, whatever its chunks", async () => {
  await using front = await startRuns(MANY);
  await beginMany(front, 203);
  const page: Json = await front.read("/v1/runs?limit=200");
  expect(page.data.map(numberOf)).toEqual(Array.from({ length: 200 }, (_, i) => 203 - i));
  const rest: Json = await front.read(`/v1/runs?limit=200&before=${page.next_before}`);
  expect([rest.data.map(numberOf), rest.next_before]).toEqual([[3, 2, 1], null]);
  for (const limit of [51, 100, 101]) {
    const other: Json = await front.read(`/v1/runs?limit=${limit}`);
    expect(other.data).toEqual(page.data.slice(0, limit));
    const { data } = await front.read(`/v1/runs?limit=1&before=${other.next_before}`);
    expect(data.map(numberOf)).toEqual([203 - limit]);
  }
  const early: Json = await front.read(
    `/v1/runs?limit=200&created_before=${page.data[100].created_at}`,
  );
  expect([early.data.length, early.next_before]).toEqual([102, null]);
});

test("runs are filtered by thread and by time", async () => {
  await using front = await startRuns();
  const runs = await beginMany(front, 5);
  const at = (seconds: number) => `2026-11-20T12:00:0${seconds}.000Z`;
  const find = async (query: string) => (await front.read(`/v1/runs?${query}`)).data.map(numberOf);
  expect(await find(`thread_id=${runs[2]!.thread_id}`)).toEqual([3]);
  expect(await find(`created_after=${at(3)}`)).toEqual([5, 4]);
  expect(await find(`created_before=${at(2)}`)).toEqual([2, 1]);
  expect(await find(`created_after=${at(1)}&created_before=${at(4)}`)).toEqual([4, 3, 2]);
  expect(await find("created_after=2026-11-20T13:00:01%2B01:00&limit=2")).toEqual([5, 4]);
  expect(await find(`created_after=${at(9)}`)).toEqual([]);
  for (const text of ["yesterday", "2026-02-30T00:00:00Z", "2026-11-20", "2026-11-20T24:00:00Z"]) {
    for (const param of ["created_after", "created_before"]) {
      const response = await front.get(`/v1/runs?${param}=${text}`);
      await expectRefusal(response, 400, "invalid_request", param);
    }
  }
});

test("runs are filtered by their metadata, across pages and beside other filters", async () => {
  await using front = await startRuns(MANY);
  for (let i = 1; i <= 7; i++) {
    const metadata = { ticket: i % 2 ? "A-17" : "B-1", "order no": String(i) };
    await front.begin({ input: { message: String(i) }, metadata });
  }
  const odd = "metadata[ticket]=A-17";
  const find = async (query: string) => (await front.read(`/v1/runs?${query}`)).data.map(numberOf);
  expect(await find(odd)).toEqual([7, 5, 3, 1]);
  expect(await find(`metadata%5Bticket%5D=B-1&agent_id=${front.agent.id}`)).toEqual([6, 4, 2]);
  expect(await find(`${odd}&metadata[order+no]=3`)).toEqual([3]);
  expect(await find(`${odd}&status=succeeded`)).toEqual([]);
  expect(await find("metadata[__proto__]=x")).toEqual([]);
  expect(await find("metadata[none]=x")).toEqual([]);
  const { data, next_before } = await front.read(`/v1/runs?${odd}&limit=3`);
  expect(data.map(numberOf)).toEqual([7, 5, 3]);
  expect(await find(`${odd}&limit=3&before=${next_before}`)).toEqual([1]);
  const ofAgent = `/v1/agents/${front.agent.id}/runs?${odd}`;
  expect((await front.read(ofAgent)).next_before).toBeNull();
});

test("a filter by metadata is bounded, and may name a text once", async () => {
  await using front = await startRuns();
  const tooMany = Array.from({ length: 17 }, (_, i) => `metadata[n${i}]=x`).join("&");
  for (const [query, param] of [
    ["metadata=x", "metadata"],
    [tooMany, "metadata"],
    [`metadata[a]=${"x".repeat(513)}`, "metadata"],
    [`metadata[${"n".repeat(65)}]=x`, "metadata"],
    ["metadata[a]=x&metadata[a]=y", "metadata[a]"],
    ["status[a]=x", "status[a]"],
    ["other[a]=x", "other[a]"],
  ] as const) {
    await expectRefusal(await front.get(`/v1/runs?${query}`), 400, undefined, param);
  }
});

test("agents.authentication.6, agents.errors.run_not_found: another account finds no run, and its ids are unknown, in path and query", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const { key } = await allow(front, "rival", { scopes: ["agents"] });
  expect(await front.read("/v1/runs", { key })).toEqual({ data: [], next_before: null });
  for (const [method, path] of [
    ["GET", "/v1/runs/ID"],
    ["GET", "/v1/runs/ID/steps"],
    ["GET", "/v1/runs/ID/events"],
    ["POST", "/v1/runs/ID/cancel"],
    ["GET", "/v1/agents/ID/runs"],
    ["GET", "/v1/runs?agent_id=ID"],
    ["GET", "/v1/runs?thread_id=ID"],
  ] as const) {
    const [, kind] = /(agent|thread)/.exec(path) ?? [null, "run"];
    const id = { agent: front.agent.id, thread: run.thread_id, run: run.id }[kind!]!;
    const foreign = await front.ask(method, path.replace("ID", id), { key });
    const unknown = await front.ask(method, path.replace("ID", UNKNOWN), { key });
    expect(await foreign.text()).toBe(await unknown.clone().text());
    await expectRefusal(unknown, 404, `${kind}_not_found`);
    if (path.startsWith("/v1/runs?")) continue;
    const wrong = await front.ask(method, path.replace("ID", "7"), { key });
    await expectRefusal(wrong, 400, undefined, "id");
  }
  expect(await front.read(`/v1/runs/${run.id}`)).toEqual(run);
});

test("agents.errors.p9: an unknown query parameter is refused", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  for (const path of ["/v1/runs", `/v1/agents/${front.agent.id}/runs`, `/v1/runs/${run.id}`]) {
    await expectRefusal(await front.get(`${path}?page=2`), 400, undefined, "page");
  }
  const ofAgent = `/v1/agents/${front.agent.id}/runs?agent_id=${front.agent.id}`;
  await expectRefusal(await front.get(ofAgent), 400, undefined, "agent_id");
});
