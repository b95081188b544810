// Streams that wait for a run whose reads fail, and for clients who have left before.
import { expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Caller } from "../../../src/access/index.ts";
import { createCalls } from "../../../src/agents/mcp-server/calls.ts";
import { readCall } from "../../../src/agents/mcp-server/protocol.ts";
import { answerByStream } from "../../../src/agents/mcp-server/stream.ts";
import { READS } from "../../../src/agents/mcp-server/tools.ts";
import type { RunPosition } from "../../../src/agents/runs/store/reads.ts";
import type { Idempotency } from "../../../src/agents/runs/store/start.ts";
import { hasEnded, RunWaits } from "../../../src/agents/runs/waits.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";

const RUNNING: RunPosition = { status: "running", last_seq: 1, started_at: 1 };

function open(findPosition: () => Promise<RunPosition>, signal = new AbortController().signal) {
  const clock = createManualClock();
  const entries: string[] = [];
  const log = createLog(clock, (line) => void entries.push(line), false);
  const waits = new RunWaits({
    ...{ name: "waits", runs: { findPosition }, database: { listen: () => () => {} } },
    ...{ findCaller: async () => ({}) as Caller, clock, log },
  });
  const response = answerByStream(
    { waits, clock, log },
    {
      ...{ key_id: "key", run_id: "run", signal, request_id: "req", timeoutMs: 1_000 },
      ...{ isOver: hasEnded, writeProgress: null, writeAnswer: async () => "{}" },
    },
  );
  return { response, waits, clock, entries };
}

test("a run that cannot be read ends its stream without an answer, and is read no more", async () => {
  let reads = 0;
  const { response, waits, clock, entries } = open(async () => {
    reads += 1;
    throw new Error("the database is gone");
  });
  expect(await response.text()).toBe("");
  await clock.advance(60_000);
  expect([reads, entries.length, waits.count("key"), clock.pending()]).toEqual([1, 1, 0, 0]);
});

test("a client who left while its run was started keeps no place of its key", async () => {
  const { waits, clock } = open(async () => RUNNING, AbortSignal.abort());
  await clock.advance(0);
  expect([waits.count("key"), clock.pending()]).toEqual([0, 0]);
});

test("a key without a place gets no stream, of which nothing is left", () => {
  const clock = createManualClock();
  const waits = {
    requirePlace() {
      throw new Error("there is no place");
    },
    follow: async () => false,
  };
  const asked = {
    ...{ key_id: "key", run_id: "run", signal: new AbortController().signal, request_id: "req" },
    ...{ timeoutMs: 1_000, isOver: hasEnded, writeProgress: null, writeAnswer: async () => "{}" },
  };
  const answer = () => answerByStream({ waits, clock, log: { error() {} } }, asked);
  expect(answer).toThrow("there is no place");
  expect(clock.pending()).toBe(0);
});

test("a call holds the place of its wait while its run is started, and no longer", async () => {
  let taken = 0;
  const seen: number[] = [];
  const deps = {
    database: { bind: () => ({ findExposed: async () => ({ id: "agent" }) }) },
    waits: {
      takePlace() {
        taken++;
        return () => void taken--;
      },
    },
    starter: {
      async start() {
        seen.push(taken);
        throw new Error("it cannot start");
      },
    },
  };
  const exchange = {
    call: { params: { name: "free", arguments: { message: "Hi" } } },
    ...{ form: { hasTasks: false }, caller: { account_id: "a-1", key_id: "key", scopes: [] } },
    request: new Request("http://localhost/mcp"),
  };
  const calling = createCalls(deps as never).call(exchange as never);
  expect(calling).rejects.toThrow("it cannot start");
  await calling.catch(() => {});
  expect([seen, taken]).toEqual([[1], 0]);
});

test("a call waits ten minutes at most, of twenty calls that wait, and its header's key goes first", async () => {
  const seen: unknown[] = [];
  const waiting = {
    status: "waiting_approval",
    account_id: "a-1",
    id: "run",
    cost: { total: null },
  };
  const stores = {
    findExposed: async () => ({ id: "agent" }),
    list: async ({ limit }: { limit: number }) => {
      seen.push(limit);
      return [];
    },
  };
  const deps = {
    ...{ clock: createManualClock(), findRun: async () => waiting },
    database: { bind: () => stores },
    waits: {
      ...{ takePlace: () => () => {}, requirePlace() {} },
      async follow({ timeoutMs }: { timeoutMs: number }) {
        seen.push(timeoutMs);
        return true;
      },
    },
    starter: {
      async start(...[, , , idempotency]: unknown[]) {
        seen.push((idempotency as Idempotency).key);
        return { run: waiting };
      },
    },
  };
  const params = { name: "free", arguments: { message: "Hi" }, _meta: { "idempotency-key": "b" } };
  const exchange = {
    ...{ call: { params }, form: { hasTasks: false }, write: JSON.stringify },
    caller: { account_id: "a-1", key_id: "key", scopes: [] },
    request: new Request("http://localhost/mcp", { headers: { "idempotency-key": "a" } }),
  };
  const answer = await createCalls(deps as never).call(exchange as never);
  await (answer as Response).text();
  expect(seen).toEqual(["a", 600_000, 20]);
});

test("a client with more than 16 KiB unread misses progress, and gets the answer", async () => {
  const clock = createManualClock();
  let isRead = false;
  const frameOf = (text: string) => `data: ${text}\n\n`;
  const waits = {
    requirePlace() {},
    async follow({ onPosition }: { onPosition?(position: RunPosition): void }) {
      for (const last_seq of [1, 2, 3, 4]) onPosition?.({ ...RUNNING, last_seq });
      isRead = true;
      return true;
    },
  };
  const size = 16 * 1_024 - frameOf("").length;
  const response = answerByStream({ waits, clock, log: { error() {} } } as never, {
    ...{ key_id: "key", run_id: "run", signal: new AbortController().signal, request_id: "req" },
    ...{ timeoutMs: 1_000, isOver: hasEnded, writeAnswer: async () => "{}" },
    writeProgress: (count) => (count === 1 ? "x".repeat(size) : `${count}`),
  });
  while (!isRead) await clock.advance(0);
  const frames = (await response.text()).split("\n\n").map((frame) => frame.slice(0, 8));
  expect(frames).toEqual(["data: xx", "data: 2", "data: {}", ""]);
});

test("a method has 128 characters at most, and an id 256", () => {
  const read = (fields: object) => {
    try {
      return readCall({ jsonrpc: "2.0", id: 1, method: "ping", ...fields }) !== null;
    } catch {
      return false;
    }
  };
  expect([128, 129].map((size) => read({ method: "m".repeat(size) }))).toEqual([true, false]);
  expect([256, 257].map((size) => read({ id: "i".repeat(size) }))).toEqual([true, false]);
  expect([2 ** 53 - 1, 2 ** 53].map((id) => read({ id }))).toEqual([true, false]);
});

test("at most 50 runs are listed, and a run is waited for 50 seconds", () => {
  const fits = (schema: TSchema, value: unknown) => Value.Check(schema, value);
  const list = [0, 1, 50, 51].map((limit) => fits(READS.list_runs.input.properties.limit, limit));
  expect(list).toEqual([false, true, true, false]);
  const { wait_seconds } = READS.get_run.input.properties;
  expect([-1, 0, 50, 51].map((seconds) => fits(wait_seconds, seconds))).toEqual(list);
});
