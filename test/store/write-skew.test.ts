// Writes that PostgreSQL does not serialise: two of them in two sessions, the first held before
// each of its statements, leave what one after the other would leave.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeSubject } from "../../src/gateway/budgets/excess.ts";
import { MINUTE_MS } from "../../src/gateway/budgets/period.ts";
import { stores as allStores } from "../../src/stores.ts";
import {
  type Ground,
  openServer,
  openTestDatabase,
  type TestDatabase,
} from "../support/database.ts";
import { Interleaver, type NamedWrite } from "../support/interleave.ts";
import {
  BEGIN,
  FREE,
  makeApproval,
  makePreparedRun,
  makeRecord,
  makeStep,
} from "../support/runs.ts";
import { emptyTables } from "../support/trial.ts";
import { bindStores, type Stores } from "./cases.ts";
import { claimRuns, ended, finding, startMany } from "./run-acts.ts";

const address = process.env.WADI_TEST_POSTGRES;
if (address) describe("held before each statement,", () => testSkew(address));
else test.skip("write skew: skipped, since WADI_TEST_POSTGRES names no server", () => {});

interface Pair {
  title: string;
  setup?(stores: Stores): Promise<unknown>;
  first: NamedWrite;
  second: NamedWrite;
}

const start = (id: string, ...more: [object?, object?]): NamedWrite => [
  "runs.start",
  makePreparedRun(id, ...more),
];
const claim = (epoch: number, runsMax = 5): NamedWrite => [
  "runs.claim",
  epoch,
  [{ account_id: "a-1", runsMax }],
  BEGIN + 5,
];
const fresh = (name: string) => Array.from({ length: 6 }, (_, n) => `${name} ${n}`);
const cancel = (id: string): NamedWrite => ["runs.cancel", id, "a-1", fresh(`of ${id}`), BEGIN + 9];
const finish = (id: string, epoch = 1): NamedWrite => [
  "runs.finish",
  makeRecord(id, { epoch }),
  ended("succeeded", `event of ${id}`),
];
const reclaim = (...ids: string[]): NamedWrite => [
  "runs.reclaim",
  ids.map((id) => finding(id)),
  [1],
  BEGIN + 20,
];
const asking = (id: string) => [{ approval: makeApproval(id, "r-1"), event_id: `asks ${id}` }];
const decide = (id: string): NamedWrite => [
  "runs.decide",
  {
    ...{ approval_id: id, account_id: "a-1", decision: "approved", reason: null },
    decided_by: { kind: "key", id: "k-2" },
    ...{ step_id: `step ${id}`, event_id: `event ${id}`, now: BEGIN + 50 },
  },
];
const record = (name: string, id: string): NamedWrite => [
  `runs.${name}`,
  makeRecord("r-1", { steps: [makeStep(id)] }),
  [],
];
const intend: NamedWrite = [
  "runs.intend",
  makeRecord("r-1", { steps: [makeStep("s")] }),
  "a-1",
  [],
];
const wait: NamedWrite = ["runs.wait", "r-1", 1, 9];
const release: NamedWrite = ["runs.release", 1, "r-1", 9];

const hasTwoProcesses = async ({ processes }: Stores) => {
  for (let n = 0; n < 2; n++) await processes.register(BEGIN);
};
const isQueued = async (stores: Stores) => {
  await hasTwoProcesses(stores);
  await startMany(stores, ["r-1", "r-2"]);
};
const isHeld = async (stores: Stores) => {
  await startMany(stores, ["r-1", "r-2"]);
  await claimRuns(stores);
};
const hasAsked = async (stores: Stores) => {
  await isHeld(stores);
  for (const id of ["p-1", "p-2"]) await stores.runs.plan(makeRecord("r-1"), asking(id));
};
const waits = async (stores: Stores) => {
  await hasAsked(stores);
  await stores.runs.wait("r-1", 1, 9);
};

const ACCOUNT = makeSubject("account", "a-1", { tokens_day: 150 });
const RANGES = {
  minute: { start: BEGIN, end: BEGIN + MINUTE_MS },
  day: { start: BEGIN, end: BEGIN + 86_400_000 },
  month: { start: BEGIN - 86_400_000, end: BEGIN + 86_400_000 },
};
const reserve = (id: string): Parameters<Stores["budgets"]["reserveWithin"]> => {
  const row = { id, at: BEGIN, subjects: [ACCOUNT.name], tokens: 100, cost: 1, epoch: 1 };
  return ["a-1", row, [ACCOUNT], RANGES];
};
const reserving = (id: string): NamedWrite => ["budgets.reserveWithin", ...reserve(id)];
const settling = (id: string): NamedWrite => [
  "budgets.settleWithin",
  "a-1",
  [{ id, requests: 1, estimated: 0, tokens: 60, cost: 1 }],
  [],
];
const hasReserved = async ({ budgets }: Stores) => {
  await budgets.reserveWithin(...reserve("b-0"));
};

const PAIRS: readonly Pair[] = [
  { title: "two starts of one account", first: start("r-1"), second: start("r-2") },
  {
    title: "two starts where one more run may be active",
    first: start("r-1", {}, { limits: { ...FREE, active_runs: 1 } }),
    second: start("r-2", {}, { limits: { ...FREE, active_runs: 1 } }),
  },
  {
    title: "two starts with one idempotency key",
    first: start("r-1", {}, { idempotency: { key: "once", body_hash: "h" } }),
    second: start("r-2", {}, { idempotency: { key: "once", body_hash: "h" } }),
  },
  {
    title: "a start and an end at the limit of active runs",
    setup: isHeld,
    first: start("r-3", {}, { limits: { ...FREE, active_runs: 2 } }),
    second: finish("r-1"),
  },
  {
    title: "an end and a start at that limit",
    setup: isHeld,
    first: finish("r-1"),
    second: start("r-3", {}, { limits: { ...FREE, active_runs: 2 } }),
  },
  { title: "two claims", setup: isQueued, first: claim(1), second: claim(2) },
  { title: "two claims of one run each", setup: isQueued, first: claim(1, 1), second: claim(2, 1) },
  { title: "a claim and a cancel", setup: isQueued, first: claim(1), second: cancel("r-1") },
  { title: "a cancel and a claim", setup: isQueued, first: cancel("r-1"), second: claim(1) },
  {
    title: "a claim and the end of its process",
    setup: isQueued,
    first: claim(1),
    second: ["processes.end", 1, BEGIN + 6],
  },
  { title: "a release and a claim", setup: isHeld, first: release, second: claim(1) },
  { title: "a release and a reclaim", setup: isHeld, first: release, second: reclaim("r-1") },
  {
    title: "a plan and a cancel",
    setup: isHeld,
    first: record("plan", "s-1"),
    second: cancel("r-1"),
  },
  {
    title: "a plan and a reclaim",
    setup: isHeld,
    first: record("plan", "s-1"),
    second: reclaim("r-1"),
  },
  { title: "an intent and a cancel", setup: isHeld, first: intend, second: cancel("r-1") },
  { title: "a cancel and an intent", setup: isHeld, first: cancel("r-1"), second: intend },
  { title: "an intent and a reclaim", setup: isHeld, first: intend, second: reclaim("r-1") },
  {
    title: "a result and a cancel",
    setup: isHeld,
    first: record("settle", "s-1"),
    second: cancel("r-1"),
  },
  {
    title: "a result and a decision",
    setup: hasAsked,
    first: record("settle", "s-1"),
    second: decide("p-1"),
  },
  {
    title: "a note and a decision",
    setup: hasAsked,
    first: record("note", "s-1"),
    second: decide("p-1"),
  },
  {
    title: "a note and a reclaim",
    setup: isHeld,
    first: record("note", "s-1"),
    second: reclaim("r-1"),
  },
  { title: "a wait and a decision", setup: hasAsked, first: wait, second: decide("p-1") },
  { title: "a decision and a wait", setup: hasAsked, first: decide("p-1"), second: wait },
  { title: "a wait and a cancel", setup: hasAsked, first: wait, second: cancel("r-1") },
  { title: "two decisions of a run", setup: waits, first: decide("p-1"), second: decide("p-2") },
  { title: "two ends of an account", setup: isHeld, first: finish("r-1"), second: finish("r-2") },
  { title: "an end and a cancel", setup: isHeld, first: finish("r-1"), second: cancel("r-1") },
  { title: "an end and a reclaim", setup: isHeld, first: finish("r-1"), second: reclaim("r-1") },
  { title: "two reservations of an account", first: reserving("b-1"), second: reserving("b-2") },
  {
    title: "a reservation and the end of another request",
    setup: hasReserved,
    first: reserving("b-1"),
    second: settling("b-0"),
  },
  {
    title: "the end of a request and a reservation",
    setup: hasReserved,
    first: settling("b-0"),
    second: reserving("b-1"),
  },
  {
    title: "the end of a request and its charge as a dead process's",
    setup: hasReserved,
    first: settling("b-0"),
    second: ["budgets.recoverEpoch", 1],
  },
  {
    title: "a reservation and the loss of what is known of its account",
    setup: hasReserved,
    first: reserving("b-1"),
    second: ["budgets.forgetUses"],
  },
];

function testSkew(server: string): void {
  let ground: Ground;
  let database: TestDatabase;
  let interleaver: Interleaver;
  beforeAll(async () => {
    ground = openServer(server);
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    database = await openTestDatabase(place);
    interleaver = new Interleaver(place.url);
  });
  afterAll(async () => {
    await interleaver.close();
    await database.close();
    await ground.release();
  });
  const prepare = async ({ setup }: Pair) => {
    await emptyTables(database);
    await setup?.(bindStores(database));
  };

  test("every write with a root row is the first of a pair", () => {
    // Counters have one root row, which each write locks first; their times are the server's.
    const rooted = allStores.flatMap((store) =>
      "roots" in store && store.name !== "counters"
        ? Object.keys(store.roots as object).map((method) => `${store.name}.${method}`)
        : [],
    );
    expect(new Set(PAIRS.map(({ first: [name] }) => name))).toEqual(
      new Set([...rooted, "runs.cancel", "runs.decide"]),
    );
  });

  for (const pair of PAIRS) {
    test(`${pair.title} leave what one after the other would`, async () => {
      const { first, second } = pair;
      await prepare(pair);
      const inOrder = await interleaver.runInTurn(first, second);
      await prepare(pair);
      const reversed = await interleaver.runInTurn(second, first);
      const serial = [
        { answers: inOrder.answers, rows: inOrder.rows },
        { answers: reversed.answers.toReversed(), rows: reversed.rows },
      ];
      let points = 0;
      for (; ; points++) {
        await prepare(pair);
        const found = await interleaver.hold(first, points, second);
        if (!found) break;
        const { answers, rows, collisions } = found;
        const isSerial = serial.some((one) => Bun.deepEquals(one, { answers, rows }));
        if (!isSerial) expect({ points, answers, rows, collisions }).toEqual(serial[0] as never);
      }
      expect(points).toBeGreaterThan(0);
    });
  }
}
