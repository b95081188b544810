// Cases of the store of budgets, and of the limits in the rows of accounts and keys.
import { expect } from "bun:test";
import { findUse } from "../../src/gateway/budgets/amounts.ts";
import { makeSubject } from "../../src/gateway/budgets/excess.ts";
import { MINUTE_MS, type PeriodRange, QUARTER_MS } from "../../src/gateway/budgets/period.ts";
import type {
  LimitAlert,
  ReservationRow,
  RootRow,
  SettledRequest,
} from "../../src/gateway/budgets/store.ts";
import type { Case, Stores } from "./cases.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const MANY = 1_000;

function makeReservation(id: string, fields: Partial<ReservationRow> = {}): ReservationRow {
  const subjects = ["account a-1", "key k-1"];
  return { id, at: NOON, subjects, tokens: 100, cost: 500, ...fields };
}

function makeSettled(id: string, fields: Partial<SettledRequest> = {}): SettledRequest {
  return { id, requests: 1, estimated: 0, tokens: 30, cost: 150, ...fields };
}

const event = (id: string) => ({
  id,
  account_id: "a-1",
  type: "limit.reached" as const,
  at: NOON,
  data: { percent: 80 },
});

function makeAlert(id: string, fields: Partial<LimitAlert> = {}): LimitAlert {
  return {
    subject: "account a-1",
    name: "tokens_day",
    start: NOON,
    maximum: 100,
    percent: 80,
    event: event(id),
    ...fields,
  };
}

const reserve = async ({ budgets }: Stores, ...rows: ReservationRow[]) => {
  for (const row of rows) await budgets.reserve(row);
};
const sumOf = ({ budgets }: Stores, subject = "account a-1", span: number = QUARTER_MS) =>
  budgets.sum(subject, span, 0, Number.MAX_SAFE_INTEGER);
const NOTHING = { requests: 0, estimated: 0, tokens: 0, cost: 0 };

const DAY_MS = 86_400_000;
const MIDNIGHT = NOON - DAY_MS / 2;
const RANGES = {
  minute: { start: NOON, end: NOON + MINUTE_MS },
  day: { start: MIDNIGHT, end: MIDNIGHT + DAY_MS },
  month: { start: MIDNIGHT - DAY_MS, end: MIDNIGHT + DAY_MS },
};
const LIMITED = [
  makeSubject("account", "a-1", { tokens_day: 250, requests_minute: 9 }),
  makeSubject("key", "k-1", { tokens_month: 1_000 }),
];

/** Reserves beside other processes, as one of them. */
const reserveWithin = (
  { budgets }: Stores,
  id: string,
  fields: Partial<ReservationRow> = {},
  epoch = 1,
) => {
  const row = { ...makeReservation(id, fields), epoch };
  const limited = LIMITED.filter(({ name }) => row.subjects.includes(name));
  return budgets.reserveWithin("a-1", row, limited, RANGES);
};
const useOf = (roots: readonly RootRow[], range: PeriodRange = RANGES.day, at = 0) =>
  findUse(roots[at]!.uses, range);

const sharedCases: readonly Case[] = [
  {
    method: "budgets.reserveWithin",
    title: "reserves what has room in every limit, beside what is used and under way",
    async setup(stores) {
      await reserve(stores, makeReservation("used"), makeReservation("r-1", { tokens: 20 }));
      await stores.budgets.settle([makeSettled("used")], []);
    },
    act: (stores) => reserveWithin(stores, "r-2"),
    async check(answer, stores) {
      const { isReserved, roots } = answer as Reserved;
      expect(isReserved).toBe(true);
      expect(roots.map(({ subject }) => subject)).toEqual(["account a-1", "key k-1"]);
      const use = {
        used: { requests: 1, estimated: 0, tokens: 30, cost: 150 },
        reserved: { requests: 2, tokens: 120, cost: 1_000 },
      };
      const ranges = Object.values(RANGES);
      for (const range of ranges) expect(useOf(roots, range)).toEqual({ ...range, ...use });
      expect(useOf(roots, RANGES.month, 1)).toMatchObject(use);
      // 30 + 120 + 100 fit 250; one more does not, though the key has room.
      const more = await reserveWithin(stores, "r-3", { tokens: 101 });
      expect({ ...more, roots: useOf(more.roots)?.reserved.tokens }).toEqual({
        isReserved: false,
        roots: 120,
      });
      expect((await reserveWithin(stores, "r-4")).isReserved).toBe(true);
      const ids = (await stores.budgets.listReservations()).map(({ id }) => id);
      expect(ids).toEqual(["r-1", "r-2", "r-4"]);
    },
  },
  {
    method: "budgets.reserveWithin",
    title: "counts a request of the first moment of a minute in that minute alone",
    async setup(stores) {
      await reserve(stores, makeReservation("next", { at: RANGES.minute.end, tokens: 7 }));
    },
    act: (stores) => reserveWithin(stores, "r-1"),
    async check(answer, { budgets }) {
      expect(useOf((answer as Reserved).roots, RANGES.minute)?.reserved.requests).toBe(1);
      const { end } = RANGES.minute;
      const row = { ...makeReservation("r-2", { at: end, tokens: 1 }), epoch: 1 };
      const ranges = { ...RANGES, minute: { start: end, end: end + MINUTE_MS } };
      const { roots } = await budgets.reserveWithin("a-1", row, LIMITED, ranges);
      const requests = [RANGES.minute, ranges.minute].map(
        (range) => useOf(roots, range)?.reserved.requests,
      );
      expect(requests).toEqual([1, 2]);
    },
  },
  {
    method: "budgets.settleWithin",
    title: "turns reservations into use, once, and returns the use of their subjects then",
    async setup(stores) {
      for (const id of ["r-1", "r-2"]) await reserveWithin(stores, id);
    },
    act: ({ budgets }) => budgets.settleWithin("a-1", [makeSettled("r-1")], [makeAlert("e-1")]),
    async check(answer, stores) {
      const roots = answer as RootRow[];
      const one = { requests: 1, estimated: 0, tokens: 30, cost: 150 };
      const use = { used: one, reserved: { requests: 1, tokens: 100, cost: 500 } };
      for (const range of Object.values(RANGES)) expect(useOf(roots, range)).toMatchObject(use);
      expect(await stores.budgets.settleWithin("a-1", [makeSettled("r-1")], [])).toEqual([]);
      expect(await sumOf(stores)).toEqual(one);
      expect(await stores.outbox.list("a-1")).toMatchObject([{ id: "e-1" }]);
      const back = await stores.budgets.settleWithin("a-1", [{ id: "r-2", ...NOTHING }], []);
      expect(useOf(back)).toMatchObject({ used: one, reserved: { requests: 0, tokens: 0 } });
    },
  },
  {
    method: "budgets.readUses",
    title: "reads the use of each subject, also of one that nobody has asked for yet",
    async setup(stores) {
      await reserve(stores, makeReservation("old", { subjects: ["key k-2"] }));
      await reserveWithin(stores, "r-1");
      await stores.budgets.settleWithin("a-1", [makeSettled("r-1")], []);
    },
    act: ({ budgets }) => budgets.readUses(["account a-1", "key k-2"], RANGES),
    check(answer) {
      const roots = answer as RootRow[];
      expect(useOf(roots)).toMatchObject({ used: { tokens: 30 }, reserved: { tokens: 0 } });
      const other = { used: { tokens: 0 }, reserved: { requests: 1, tokens: 100, cost: 500 } };
      expect(useOf(roots, RANGES.minute, 1)).toMatchObject(other);
    },
  },
  {
    method: "budgets.listEpochs",
    title: "lists each process with requests under way once; 0 stands for one that was alone",
    async setup(stores) {
      await reserve(stores, makeReservation("r-1"));
      for (const id of ["r-2", "r-3"]) await reserveWithin(stores, id, { tokens: 1 }, 7);
    },
    act: ({ budgets }) => budgets.listEpochs(),
    check: (answer) => expect((answer as number[]).toSorted()).toEqual([0, 7]),
  },
  {
    method: "budgets.recoverEpoch",
    title: "charges what this process has reserved in full, and leaves that of others",
    async setup(stores) {
      await reserveWithin(stores, "r-1", {}, 1);
      await reserveWithin(stores, "r-2", {}, 2);
    },
    act: ({ budgets }) => budgets.recoverEpoch(1),
    async check(answer, stores) {
      expect(answer).toBe(1);
      expect(await stores.budgets.listReservations()).toMatchObject([{ id: "r-2" }]);
      const charged = { requests: 1, estimated: 1, tokens: 100, cost: 500 };
      expect(await sumOf(stores)).toEqual(charged);
      const roots = await stores.budgets.readUses(["account a-1"], RANGES);
      expect(useOf(roots)).toMatchObject({ used: charged, reserved: { requests: 1 } });
      expect(await stores.budgets.recoverEpoch(1)).toBe(0);
    },
  },
  {
    method: "budgets.forgetUses",
    title: "lets the next request find what a lone process has used since",
    async setup(stores) {
      await reserveWithin(stores, "r-1");
      await reserve(stores, makeReservation("alone"));
      await stores.budgets.settle([makeSettled("alone", { tokens: 90 })], []);
    },
    act: ({ budgets }) => budgets.forgetUses(),
    async check(_, stores) {
      const { isReserved, roots } = await reserveWithin(stores, "r-2");
      expect(isReserved).toBe(false);
      expect(useOf(roots)).toMatchObject({ used: { tokens: 90 } });
      expect((await reserveWithin(stores, "r-3", { tokens: 60 })).isReserved).toBe(true);
    },
  },
];

type Reserved = Awaited<ReturnType<Stores["budgets"]["reserveWithin"]>>;

export const budgetCases: readonly Case[] = [
  {
    method: "budgets.reserve",
    title: "stores what a request may use",
    act: (stores) => reserve(stores, makeReservation("r-1")),
    async check(_, stores) {
      expect(await stores.budgets.listReservations()).toEqual([makeReservation("r-1")]);
      expect(await sumOf(stores)).toEqual(NOTHING);
    },
  },
  {
    method: "budgets.listReservations",
    title: "lists them in the order of their ids",
    setup: (stores) => reserve(stores, makeReservation("r-2"), makeReservation("r-1")),
    act: ({ budgets }) => budgets.listReservations(),
    check: (answer) => expect(answer).toMatchObject([{ id: "r-1" }, { id: "r-2" }]),
  },
  {
    method: "budgets.settle",
    title: "turns reservations into use of their subjects and spans, once",
    setup: (stores) =>
      reserve(
        stores,
        makeReservation("r-1"),
        makeReservation("r-2", { subjects: ["key k-1"], at: NOON + MINUTE_MS }),
        makeReservation("r-3"),
      ),
    act: ({ budgets }) =>
      budgets.settle([makeSettled("r-1"), makeSettled("r-2", { estimated: 1 })], []),
    async check(_, stores) {
      await stores.budgets.settle([makeSettled("r-1")], []);
      expect(await stores.budgets.listReservations()).toMatchObject([{ id: "r-3" }]);
      const one = { requests: 1, estimated: 0, tokens: 30, cost: 150 };
      expect(await sumOf(stores)).toEqual(one);
      const both = { requests: 2, estimated: 1, tokens: 60, cost: 300 };
      expect(await sumOf(stores, "key k-1")).toEqual(both);
      expect(await sumOf(stores, "key k-1", MINUTE_MS)).toEqual(both);
      const { budgets } = stores;
      expect(await budgets.sum("key k-1", MINUTE_MS, NOON, NOON + MINUTE_MS)).toEqual(one);
    },
  },
  {
    method: "budgets.settle",
    title: "gives back what was not used",
    setup: (stores) => reserve(stores, makeReservation("r-1")),
    act: ({ budgets }) =>
      budgets.settle([makeSettled("r-1", { requests: 0, tokens: 0, cost: 0 })], []),
    async check(_, stores) {
      expect(await stores.budgets.listReservations()).toEqual([]);
      expect(await sumOf(stores)).toEqual(NOTHING);
    },
  },
  {
    method: "budgets.settle",
    title: "writes the event of an alert once for each limit, period, amount and share",
    act: ({ budgets }) => budgets.settle([], [makeAlert("e-1"), makeAlert("e-2")]),
    async check(_, { budgets, outbox }) {
      const others = [{ percent: 100 }, { maximum: 200 }, { start: NOON + 1 }];
      const alerts = others.map((fields, n) => makeAlert(`e-${n + 3}`, fields));
      await budgets.settle([], [makeAlert("e-9"), ...alerts]);
      const events = await outbox.list("a-1");
      expect(events.map(({ id }) => id)).toEqual(["e-1", "e-3", "e-4", "e-5"]);
      expect(events[0]).toMatchObject({ type: "limit.reached", data: '{"percent":80}' });
    },
  },
  {
    method: "budgets.recover",
    title: "charges every reservation in full, as an estimate",
    setup: (stores) => reserve(stores, makeReservation("r-1"), makeReservation("r-2")),
    act: ({ budgets }) => budgets.recover(Number.MAX_SAFE_INTEGER),
    async check(answer, stores) {
      expect(answer).toBe(2);
      expect(await sumOf(stores)).toEqual({ requests: 2, estimated: 2, tokens: 200, cost: 1_000 });
      expect(await stores.budgets.recover(Number.MAX_SAFE_INTEGER)).toBe(0);
      // A late settlement of the dead process counts nothing twice.
      await stores.budgets.settle([makeSettled("r-1")], []);
      expect(await sumOf(stores)).toMatchObject({ requests: 2 });
    },
  },
  {
    method: "budgets.recover",
    title: "leaves what was reserved from then on, and charges nothing of it",
    setup: (stores) =>
      reserve(
        stores,
        makeReservation("r-1", { at: NOON - 1 }),
        makeReservation("r-2", { at: NOON }),
      ),
    act: ({ budgets }) => budgets.recover(NOON),
    async check(answer, { budgets }) {
      expect(answer).toBe(1);
      expect((await budgets.listReservations()).map(({ id }) => id)).toEqual(["r-2"]);
      const all = budgets.sum("key k-1", QUARTER_MS, NOON - QUARTER_MS, NOON + QUARTER_MS);
      expect(await all).toMatchObject({ requests: 1, tokens: 100 });
    },
  },
  ...sharedCases,
  {
    method: "budgets.sum",
    title: "sums the spans that begin within the range, and other subjects' not",
    async setup(stores) {
      const days = [NOON - QUARTER_MS, NOON, NOON + QUARTER_MS];
      const rows = days.map((at, n) => makeReservation(`r-${n}`, { at, subjects: ["key k-1"] }));
      await reserve(stores, ...rows, makeReservation("other", { subjects: ["key k-2"] }));
      await stores.budgets.recover(Number.MAX_SAFE_INTEGER);
    },
    act: ({ budgets }) => budgets.sum("key k-1", QUARTER_MS, NOON, NOON + QUARTER_MS),
    async check(answer, { budgets }) {
      expect(answer).toEqual({ requests: 1, estimated: 1, tokens: 100, cost: 500 });
      const all = budgets.sum("key k-1", QUARTER_MS, NOON - QUARTER_MS, NOON + 2 * QUARTER_MS);
      expect(await all).toMatchObject({ requests: 3 });
      expect(await budgets.sum("key k-3", QUARTER_MS, 0, NOON)).toEqual(NOTHING);
    },
  },
  {
    method: "budgets.sweepUse",
    title: "deletes old spans of one length up to a limit",
    async setup(stores) {
      const rows = [0, 1, 2].map((n) =>
        makeReservation(`r-${n}`, { at: NOON + n * QUARTER_MS, subjects: ["key k-1"] }),
      );
      await reserve(stores, ...rows);
      await stores.budgets.recover(Number.MAX_SAFE_INTEGER);
    },
    act: ({ budgets }) => budgets.sweepUse(QUARTER_MS, NOON + 2 * QUARTER_MS, 1),
    async check(answer, stores) {
      expect(answer).toBe(1);
      expect(await sumOf(stores, "key k-1")).toMatchObject({ requests: 2 });
      const until = NOON + 2 * QUARTER_MS;
      expect(await stores.budgets.sweepUse(QUARTER_MS, until, MANY)).toBe(1);
      expect(await sumOf(stores, "key k-1")).toMatchObject({ requests: 1 });
      expect(await sumOf(stores, "key k-1", MINUTE_MS)).toMatchObject({ requests: 3 });
    },
  },
  {
    method: "budgets.sweepAlerts",
    title: "deletes alerts of old periods up to a limit",
    setup: ({ budgets }) =>
      budgets.settle(
        [],
        [0, 1, 2].map((n) => makeAlert(`e-${n}`, { start: NOON + n })),
      ),
    act: ({ budgets }) => budgets.sweepAlerts(NOON + 2, 1),
    async check(answer, { budgets }) {
      expect(answer).toBe(1);
      expect(await budgets.sweepAlerts(NOON + 2, MANY)).toBe(1);
      expect(await budgets.sweepAlerts(NOON + 2, MANY)).toBe(0);
    },
  },
];

const OWNER = { id: "a-1", name: "owner", created_at: NOON };
const KEY = {
  ...{ id: "k-1", account_id: OWNER.id, name: null, kind: "ordinary" as const, scopes: [] },
  ...{ models: null, max_output_tokens: null, created_at: NOON, expires_at: null },
  revoked_at: null,
};
const SECRET = {
  ...{ hash: "hash", key_id: KEY.id, created_at: NOON, expires_at: null },
  ends_in: null,
};
const addKey = async ({ accounts, keys }: Stores) => {
  await accounts.create(OWNER);
  await keys.create(KEY, SECRET);
};

export const limitCases: readonly Case[] = [
  {
    method: "accounts.limit",
    title: "changes the named limits, which its keys are found with",
    setup: addKey,
    act: ({ accounts }) => accounts.limit(OWNER.id, { tokens_day: 100, cost_month: 5_000_000 }),
    async check(answer, { accounts, keys }) {
      expect(answer).toEqual({ tokens_day: 100, cost_month: 5_000_000 });
      expect(await keys.find("hash")).toMatchObject({ account_limits: answer, limits: null });
      expect(await keys.findById(KEY.id)).toMatchObject({ account_limits: answer, limits: null });
      expect(await accounts.limit(OWNER.id, { tokens_day: null, requests_minute: 0 })).toEqual({
        ...{ cost_month: 5_000_000, requests_minute: 0 },
      });
      const none = { cost_month: null, requests_minute: null };
      expect(await accounts.limit(OWNER.id, none)).toBeNull();
      expect(await keys.find("hash")).toMatchObject({ account_limits: null, limits: null });
    },
  },
  {
    method: "accounts.findLimits",
    title: "returns the limits, or null",
    setup: addKey,
    act: ({ accounts }) => accounts.findLimits(OWNER.id),
    async check(answer, { accounts }) {
      expect(answer).toBeNull();
      await accounts.limit(OWNER.id, { requests_day: 7 });
      expect(await accounts.findLimits(OWNER.id)).toEqual({ requests_day: 7 });
      expect(await accounts.findLimits("a-2")).toBeNull();
    },
  },
  {
    method: "keys.limit",
    title: "changes the limits of the key alone",
    setup: addKey,
    act: ({ keys }) => keys.limit(KEY.id, { requests_month: 10 }),
    async check(answer, { keys, accounts }) {
      expect(answer).toEqual({ requests_month: 10 });
      expect(await keys.find("hash")).toMatchObject({ limits: answer, account_limits: null });
      expect(await accounts.findLimits(OWNER.id)).toBeNull();
    },
  },
];
