// Writes entries in groups, one write at a time, and keeps each until it is committed.

import type { Bound } from "../../database/index.ts";
import type { Cancel, Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { createDoubts } from "./doubts.ts";
import { type LogEntry, writeEntries } from "./entry.ts";
import type { requestLogStore } from "./store.ts";

/**
 * Least time between the beginnings of two writes: the first entry behind a pause goes at once, and
 * others share a commit. A `kill -9` loses what came in that time and during the commits under way.
 */
const GATHER_MS = 25;
/** So many go in one write, and so many do not wait for more. */
const ENTRIES_A_WRITE = 256;
/** After a write that failed the next is tried this much later, and twice as late each time. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;
/** What a database that is away for long may cost in memory: some 60 MB. */
const ENTRIES_MAX = 100_000;
/** The oldest go together: to take one off a long list costs as much as to take a thousand. */
const DROPPED_AT_ONCE = 1_000;
const COMPLAIN_EVERY_MS = 60_000;

export function createEntryWriter(
  store: Pick<Bound<typeof requestLogStore>, "add">,
  clock: Clock,
  log: Log,
) {
  const complaint = createComplaint(clock, log);
  const doubts = createDoubts();
  let waiting: LogEntry[] = [];
  /** When the last write began. */
  let begun_at = Number.NEGATIVE_INFINITY;
  /** How many are being written. */
  let writing = 0;
  /** 0: the last write succeeded. */
  let retryMs = 0;
  let cancel: Cancel | null = null;
  let lost = 0;
  /** Called when nothing waits any more; there: each entry is written at once. */
  let onDone: (() => void) | null = null;
  let isOver = false;

  const plan = (delay_ms: number) => {
    cancel ??= clock.after(delay_ms, write);
  };
  const write = () => {
    cancel?.();
    cancel = null;
    begun_at = clock.monotonic();
    const group = waiting.splice(0, doubts.limit(ENTRIES_A_WRITE));
    writing = group.length;
    store.add(writeEntries(group), doubts.mayBeWritten(group)).then(
      () => {
        retryMs = 0;
        doubts.succeed();
        goOn();
      },
      (failure) => {
        // They keep their ids: if it was the answer that got lost, none is counted twice.
        const lot = doubts.fail(group);
        if (lot === "front") waiting = group.concat(waiting);
        else if (lot === "behind") waiting.push(...group);
        else lost += complaint.giveUp(group);
        retryMs = Math.min(Math.max(RETRY_MS, 2 * retryMs), RETRY_MS_MAX);
        complaint.say(failure);
        goOn();
      },
    );
  };
  const findDelay = () => Math.max(0, begun_at + GATHER_MS - clock.monotonic());
  const goOn = () => {
    writing = 0;
    if (isOver) return;
    if (waiting.length === 0) return onDone?.();
    if (retryMs > 0) return plan(retryMs);
    const isDue = onDone !== null || waiting.length >= ENTRIES_A_WRITE;
    return isDue || findDelay() === 0 ? write() : plan(findDelay());
  };
  return {
    add(entry: LogEntry): void {
      waiting.push(entry);
      if (waiting.length > ENTRIES_MAX) {
        waiting.splice(0, DROPPED_AT_ONCE);
        lost += DROPPED_AT_ONCE;
        complaint.drop(DROPPED_AT_ONCE);
      }
      // Behind a write comes the next by itself.
      if (writing > 0 || isOver) return;
      if (retryMs === 0 && waiting.length >= ENTRIES_A_WRITE) write();
      // In a turn of its own: the caller's answer goes first.
      else plan(findDelay());
    },
    look: () => ({ unwritten: waiting.length + writing, lost }),
    /** Resolves when all is written or the time is over, with how many are not. */
    async finish(deadline_ms: number): Promise<number> {
      const done = Promise.withResolvers<void>();
      onDone = done.resolve;
      const cancelDeadline = clock.after(deadline_ms, done.resolve);
      if (writing === 0 && waiting.length > 0) write();
      if (writing > 0) await done.promise;
      cancelDeadline();
      cancel?.();
      isOver = true;
      return waiting.length + writing;
    },
  };
}

/** Says that writing fails, and what that has cost, once in a while: it may fail for long. */
function createComplaint(clock: Clock, log: Log) {
  let saidAt = Number.NEGATIVE_INFINITY;
  let dropped = 0;
  const say = (error?: unknown) => {
    const now = clock.monotonic();
    if (now - saidAt < COMPLAIN_EVERY_MS) return;
    saidAt = now;
    const loss = dropped === 0 ? "its entries wait" : `${dropped} entries are lost`;
    // What is lost is told whatever the reason.
    log.error(`the ledger cannot be written: ${loss}`, dropped === 0 ? { error } : {});
    dropped = 0;
  };
  return {
    say,
    /** Each by its name: nobody else will ever know of it. */
    giveUp(group: readonly LogEntry[]): number {
      for (const { request_id, key_id } of group) {
        log.error("an entry of the ledger cannot be written, and is lost", { request_id, key_id });
      }
      return group.length;
    },
    drop(count: number) {
      dropped += count;
      say();
    },
  };
}
