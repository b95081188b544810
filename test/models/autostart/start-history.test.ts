// Tests what a process notes of a managed server's state, and reads of others' notes.
import { expect, test } from "bun:test";
import { StartHistory, type StartHistoryStore } from "../../../src/models/autostart/store.ts";
import { createManualClock } from "../../support/clock.ts";

function open() {
  const gates: (() => void)[] = [];
  const notes: unknown[][] = [];
  const state = { reads: 0, row: { is_put_down: true, recent_starts_ms: [7] } };
  const store = {
    async find() {
      state.reads += 1;
      return state.row;
    },
    async note(...row: unknown[]) {
      await new Promise<void>((resolve) => gates.push(resolve));
      notes.push(row);
    },
    async learn() {},
  } as unknown as StartHistoryStore;
  const clock = createManualClock();
  const failures: unknown[] = [];
  const history = new StartHistory("unit-1", store, clock, (failure) => failures.push(failure));
  return { history, clock, gates, notes, state };
}

test("a note has the state of its own time, and follows the one before", async () => {
  const { history, clock, gates, notes } = open();
  const now = clock.now();
  history.isStoppedByUs = true;
  void history.note("stopping");
  history.isStoppedByUs = false;
  await clock.advance(1_000);
  const second = history.note("asleep");
  expect(gates).toHaveLength(1);
  gates[0]!();
  await clock.advance(0);
  gates[1]!();
  await second;
  expect(notes).toEqual([
    ["unit-1", "stopping", true, now],
    ["unit-1", "asleep", false, now + 1_000],
  ]);
});

test("it is read once, or again behind the notes of this process", async () => {
  const { history, clock, gates, state } = open();
  await Promise.all([history.recall(false), history.recall(false)]);
  expect([state.reads, history.isStoppedByUs, history.learn(9)]).toEqual([1, true, 9]);
  void history.note("up");
  const again = history.recall(true);
  await clock.advance(0);
  expect([state.reads, gates.length]).toEqual([1, 1]);
  state.row = { is_put_down: false, recent_starts_ms: [] };
  gates[0]!();
  await again;
  expect([state.reads, history.isStoppedByUs]).toEqual([2, false]);
});
