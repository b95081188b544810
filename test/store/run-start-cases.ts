// Cases of the start of a run.
import { expect } from "bun:test";
import type { RunRow } from "../../src/agents/runs/run.ts";
import type { PreparedRun } from "../../src/agents/runs/store/start.ts";
import { BEGIN, FREE, makeMessage, makeRun } from "../support/runs.ts";
import type { Case } from "./cases.ts";
import { claimRuns, codeOf, DAY_MS, EVERY, end, start, startMany } from "./run-acts.ts";

const again = (body_hash = "h-1", key = "once"): Partial<PreparedRun> => ({
  idempotency: { key, body_hash },
});

const ONE_A_DAY = { ...FREE, daily_runs: 1 };

export const runStartCases: Case[] = [
  {
    method: "runs.start",
    title: "accepts a run with its thread, its message and its number",
    act: (stores) => start(stores, "r-1", {}, again()),
    async check(answer, { runs, ran }) {
      const run = makeRun("r-1", { number: 1, message_seq: 1 });
      expect(answer).toEqual({ run, isNew: true });
      expect(await runs.find("r-1", "a-1")).toEqual(run);
      expect(await ran.counts()).toEqual([{ account_id: "a-1", started: 1, active: 1 }]);
      const { thread_id } = run;
      expect(await ran.threads()).toMatchObject([{ id: thread_id, title: null, agent_id: "g-1" }]);
      expect(await ran.messages(thread_id)).toMatchObject([
        { id: "message of r-1", seq: 1, run_id: "r-1", role: "user", content: "question of r-1" },
      ]);
      expect(await runs.listWaiting()).toEqual(["a-1"]);
    },
  },
  {
    method: "runs.start",
    title: "appends to an idle thread, with its taint",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      await end(stores, "r-1");
      await start(stores, "r-2", { external_content: true });
      await claimRuns(stores);
      await end(stores, "r-2");
    },
    act: (stores) => start(stores, "r-3", {}, { thread_id: "thread of r-1" }),
    async check(answer, stores) {
      const run = { thread_id: "thread of r-1", message_seq: 2, number: 3 };
      expect(answer).toMatchObject({ run: { ...run, external_content: false } });
      expect(await stores.ran.threads()).toHaveLength(2);
      const marked = await start(stores, "r-4", {}, { thread_id: "thread of r-2" });
      expect(marked.run.external_content).toBe(true);
    },
  },
  {
    method: "runs.start",
    title: "puts a hook's body before the run's input, as external content",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      await end(stores, "r-1");
    },
    async act(stores) {
      const input = { message: "Look.", hook: { a: 'ü "\u0000"', b: null } };
      const fields = { input, external_content: true };
      const more = { hook_message_id: "h-2" };
      const { run } = await start(stores, "r-2", fields, more);
      const later = { ...more, thread_id: "thread of r-1", hook_message_id: "h-3" };
      return [
        run,
        (await start(stores, "r-3", { ...fields, input: { ...input, hook: null } }, later)).run,
      ];
    },
    async check(answer, { runs, ran, threads }) {
      const [first, second] = answer as RunRow[];
      // The existing thread is tainted from its first message.
      for (const { thread_id, external_content } of [first!, second!]) {
        const thread = await threads.find(thread_id, "a-1");
        expect([external_content, thread!.external_content]).toEqual([true, true]);
      }
      expect([first!.message_seq, second!.message_seq]).toEqual([2, 3]);
      expect(await runs.find("r-2", "a-1")).toEqual(first!);
      const text = '{"a":"ü \\"\\u0000\\"","b":null}';
      expect(await ran.messages("thread of r-2")).toMatchObject([
        { id: "h-2", seq: 1, role: "user", content: text, external: true },
        { id: "message of r-2", seq: 2, role: "user", content: "Look.", external: false },
      ]);
      expect((await ran.messages("thread of r-1")).slice(1)).toMatchObject([
        { id: "h-3", seq: 2, run_id: "r-3", content: "null", external: true },
        { id: "message of r-3", seq: 3, content: "Look.", external: false },
      ]);
    },
  },
  {
    method: "runs.start",
    title: "begins a rerun's thread with a copy of another one's messages and summary",
    async act(stores) {
      const copied = {
        ...makeMessage("m-9"),
        run_id: "r-9",
        thread_id: "other",
        created_at: 5,
        parts: null,
      };
      const history = { messages: [{ ...copied, seq: 1 }], summary: "So far.", external: true };
      const rerun = { rerun_of: "r-9", rerun_tools: "recorded", rerun_from_round: 2 } as const;
      return (await start(stores, "r-1", { ...rerun, external_content: true }, { history })).run;
    },
    async check(answer, { runs, ran, threads }) {
      const run = answer as RunRow;
      expect(await runs.find("r-1", "a-1")).toEqual(run);
      expect(run).toMatchObject({ message_seq: 2, rerun_of: "r-9", rerun_from_round: 2 });
      const { thread_id } = run;
      expect(await ran.messages(thread_id)).toMatchObject([
        { id: "m-9", seq: 1, run_id: "r-9", created_at: 5 },
        { id: "message of r-1", seq: 2, run_id: "r-1" },
      ]);
      expect((await threads.find(thread_id, "a-1"))!.external_content).toBe(true);
      expect(await runs.load(run)).toMatchObject({ summary: "So far.", summarisedTo: 0 });
    },
  },
  {
    method: "runs.start",
    title: "refuses a thread that is missing, busy, another account's or another agent's",
    async setup(stores) {
      await start(stores, "r-1");
      await start(stores, "r-2", { agent_id: "g-2" });
      await start(stores, "r-3", { account_id: "a-2" });
    },
    act: (stores) =>
      Promise.all(
        ["nowhere", "thread of r-3", "thread of r-2", "thread of r-1"].map((thread_id, i) =>
          codeOf(start(stores, `r-1${i}`, {}, { thread_id })),
        ),
      ),
    async check(answer, { ran }) {
      const missing = ["thread_not_found", "thread_not_found"];
      expect(answer).toEqual([...missing, "thread_agent_mismatch", "thread_busy"]);
      const one = { started: 1, active: 1 };
      expect(await ran.counts()).toEqual([
        { account_id: "a-1", started: 2, active: 2 },
        { account_id: "a-2", ...one },
      ]);
    },
  },
  {
    method: "runs.start",
    title: "gives an idle thread to one of many concurrent starts",
    async setup(stores) {
      await start(stores, "r-0");
      await claimRuns(stores);
      await end(stores, "r-0");
    },
    act: (stores) =>
      Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          codeOf(start(stores, `r-${i + 1}`, {}, { thread_id: "thread of r-0" })),
        ),
      ),
    async check(answer, { ran }) {
      expect((answer as string[]).toSorted()).toEqual([
        "accepted",
        ...Array.from({ length: 11 }, () => "thread_busy"),
      ]);
      expect(await ran.counts()).toMatchObject([{ started: 2, active: 1 }]);
      expect(await ran.messages("thread of r-0")).toHaveLength(2);
    },
  },
  {
    method: "runs.start",
    title: "numbers concurrent starts without a gap",
    act: (stores) =>
      Promise.all(
        Array.from({ length: 24 }, (_, i) => start(stores, `r-${i}`, { account_id: `a-${i % 2}` })),
      ),
    async check(answer, { ran }) {
      const started = answer as { run: { number: number } }[];
      const numbers = started.map(({ run }) => run.number).sort((one, other) => one - other);
      expect(numbers).toEqual(Array.from({ length: 24 }, (_, i) => 1 + Math.floor(i / 2)));
      const counts = { started: 12, active: 12 };
      expect(await ran.counts()).toMatchObject([counts, counts]);
    },
  },
  {
    method: "runs.start",
    title: "returns the first run for an identical request, for a day",
    setup: (stores) => start(stores, "r-1", {}, again()),
    act: (stores) => start(stores, "r-2", { created_at: BEGIN + DAY_MS - 1 }, again()),
    async check(answer, stores) {
      expect(answer).toMatchObject({ run: { id: "r-1", number: 1 }, isNew: false });
      const late = { created_at: BEGIN + DAY_MS };
      expect(await codeOf(start(stores, "r-3", {}, again("h-2")))).toBe("idempotency_conflict");
      // Another agent or account makes it a different request.
      expect(await start(stores, "r-4", { agent_id: "g-2" }, again("h-2"))).toMatchObject({
        isNew: true,
      });
      expect(await start(stores, "r-5", { account_id: "a-2" }, again("h-2"))).toMatchObject({
        isNew: true,
      });
      expect(await start(stores, "r-6", late, again("h-2"))).toMatchObject({ isNew: true });
      expect(await start(stores, "r-7", late, again("h-2"))).toMatchObject({ run: { id: "r-6" } });
    },
  },
  {
    method: "runs.start",
    title: "accepts one of many identical concurrent requests, and returns it to all",
    act: (stores) =>
      Promise.all(Array.from({ length: 12 }, (_, i) => start(stores, `r-${i}`, {}, again()))),
    async check(answer, { ran }) {
      const started = answer as { run: { id: string }; isNew: boolean }[];
      expect(new Set(started.map(({ run }) => run.id)).size).toBe(1);
      expect(started.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(await ran.counts()).toMatchObject([{ started: 1, active: 1 }]);
    },
  },
  {
    method: "runs.start",
    title: "returns the first run of a repeated request, though it keeps its thread busy",
    async setup(stores) {
      await start(stores, "r-0");
      await claimRuns(stores);
      await end(stores, "r-0");
    },
    act: (stores) =>
      Promise.all(
        ["r-1", "r-2"].map((id) =>
          start(stores, id, {}, { ...again(), thread_id: "thread of r-0" }),
        ),
      ),
    async check(answer, { ran }) {
      // PostgreSQL may serve either of the two first.
      const started = answer as { run: { id: string }; isNew: boolean }[];
      expect(new Set(started.map(({ run }) => run.id)).size).toBe(1);
      expect(started.map(({ isNew }) => isNew).sort()).toEqual([false, true]);
      expect(await ran.messages("thread of r-0")).toHaveLength(2);
    },
  },
  {
    method: "runs.start",
    title: "refuses for the thread first, then for storage, active runs and runs of a day",
    setup: (stores) => start(stores, "r-1"),
    async act(stores) {
      const limits = { active_runs: 1, daily_runs: 1, stored_bytes: 1 };
      const busy = { thread_id: "thread of r-1" };
      const room = { ...limits, stored_bytes: FREE.stored_bytes };
      return [
        await codeOf(start(stores, "r-2", {}, { ...busy, limits })),
        await codeOf(start(stores, "r-2", {}, { limits })),
        await codeOf(start(stores, "r-2", {}, { limits: room })),
        await codeOf(start(stores, "r-2", {}, { limits: { ...room, active_runs: 2 } })),
      ];
    },
    check: (answer) =>
      expect(answer).toEqual([
        ...["thread_busy", "storage_limit_reached", "active_runs_limit", "daily_runs_limit"],
      ]),
  },
  {
    method: "runs.start",
    title: "needs room for the run and its thread, to the byte, also of an account's first run",
    async act(stores) {
      const first = async (stored_bytes: number) =>
        codeOf(start(stores, "r-1", {}, { limits: { ...FREE, stored_bytes } }));
      await start(stores, "r-9", { account_id: "a-2" });
      const each = await stores.storage.find("a-2");
      const codes = [await first(each - 1), await first(each)];
      const stored_bytes = 2 * each;
      const more = (bytes: number) =>
        codeOf(start(stores, "r-2", {}, { limits: { ...FREE, stored_bytes: bytes } }));
      return [...codes, await more(stored_bytes - 1), await more(stored_bytes)];
    },
    check: (answer) =>
      expect(answer).toEqual([
        ...["storage_limit_reached", "accepted", "storage_limit_reached", "accepted"],
      ]),
  },
  {
    method: "runs.start",
    title: "refuses a run above the limit of active runs, and stores nothing of it",
    setup: (stores) => startMany(stores, ["r-1", "r-2"]),
    act: (stores) => codeOf(start(stores, "r-3", {}, { limits: { ...FREE, active_runs: 2 } })),
    async check(answer, stores) {
      expect(answer).toBe("active_runs_limit");
      expect(await stores.runs.find("r-3", null)).toBeUndefined();
      expect(await stores.ran.threads()).toHaveLength(2);
      await claimRuns(stores);
      await end(stores, "r-1");
      const limits = { ...FREE, active_runs: 2 };
      expect(await codeOf(start(stores, "r-4", {}, { limits }))).toBe("accepted");
    },
  },
  {
    method: "runs.start",
    title: "counts a window of 24 hours to the millisecond, and returns when the next may start",
    async setup(stores) {
      await start(stores, "r-1", { created_at: BEGIN });
      await start(stores, "r-2", { created_at: BEGIN + 60_000 });
    },
    async act(stores) {
      const limits = { ...FREE, daily_runs: 2 };
      const at = (id: string, ms: number) =>
        start(stores, id, { created_at: BEGIN + ms }, { limits });
      const refused = await at("r-3", DAY_MS - 1).catch((failure) => failure);
      const early = await at("r-3", 90_000).catch((failure) => failure);
      const accepted = await codeOf(at("r-4", DAY_MS));
      return [refused, early, accepted, await codeOf(at("r-5", DAY_MS + 59_999))];
    },
    check(answer) {
      const [refused, early, ...rest] = answer as unknown[];
      const say = (seconds: string) => ({
        code: "daily_runs_limit",
        details: { headers: { "retry-after": seconds } },
      });
      expect(refused).toMatchObject(say("1"));
      expect(early).toMatchObject(say("86310"));
      expect(rest).toEqual(["accepted", "daily_runs_limit"]);
    },
  },
  {
    method: "runs.start",
    title: "counts runs up to an hour ahead of a corrected clock, and none further ahead",
    async setup(stores) {
      await start(stores, "r-1", { created_at: BEGIN + 3_600_000 });
      await start(stores, "r-2", { account_id: "a-2", created_at: BEGIN + 3_600_001 });
    },
    act: (stores) =>
      Promise.all(
        ["a-1", "a-2"].map((account_id) =>
          codeOf(start(stores, `of ${account_id}`, { account_id }, { limits: ONE_A_DAY })),
        ),
      ),
    check: (answer) => expect(answer).toEqual(["daily_runs_limit", "accepted"]),
  },
  {
    method: "runs.start",
    title: "keeps the order of numbers and times when the clock is set back",
    setup: (stores) => start(stores, "r-1", { created_at: BEGIN + 60_000 }),
    act: (stores) => start(stores, "r-2", { created_at: BEGIN }),
    async check(answer, { runs }) {
      expect(answer).toMatchObject({ run: { number: 2, created_at: BEGIN + 60_000 } });
      const listed = await runs.list({ ...EVERY, created_after: BEGIN + 60_000 });
      expect(listed.map(({ id }) => id)).toEqual(["r-2", "r-1"]);
    },
  },
  {
    method: "runs.start",
    title: "remembers requests by the current clock, and none from a clock far ahead",
    async setup(stores) {
      await start(stores, "r-1", { created_at: BEGIN + 366 * DAY_MS }, again("h-0", "k-1"));
      await start(stores, "r-2", { created_at: BEGIN + 3_600_001 }, again("h", "k-2"));
      await start(stores, "r-3", { created_at: BEGIN + 3_600_000 }, again("h", "k-3"));
    },
    async act(stores) {
      const at = async (id: string, body_hash: string, key: string, created_at = BEGIN) =>
        (await start(stores, id, { created_at }, again(body_hash, key))).run.id;
      const ids = [await at("r-4", "h-1", "k-1"), await at("r-5", "h-1", "k-1", BEGIN + 60_000)];
      return [...ids, await at("r-6", "h", "k-2"), await at("r-7", "h", "k-3")];
    },
    check(answer) {
      expect(answer).toEqual(["r-4", "r-4", "r-6", "r-3"]);
    },
  },
  {
    method: "runs.start",
    title: "stores a message that a column cannot hold directly",
    act: (stores) => start(stores, "r-1", { input: { message: "a\0b\ud800c" } }),
    async check(answer, { runs, ran }) {
      expect((answer as { isNew: boolean }).isNew).toBe(true);
      expect((await runs.find("r-1", "a-1"))!.input.message).toBeString();
      const [message] = await ran.messages("thread of r-1");
      expect(message!.content).toBe("a\ufffdb\ufffdc");
    },
  },
];
