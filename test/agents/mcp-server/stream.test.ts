// Streams that wait for a run whose reads fail, and for clients who have left before.
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import { answerByStream } from "../../../src/agents/mcp-server/stream.ts";
import type { RunPosition } from "../../../src/agents/runs/store/reads.ts";
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
