// The memory that the event loop shares with its watchdog: beats, the runs under way, and the call
// that the loop is in.

const RUNS_MAX = 512;
const RUN_ID_BYTES = 36;
const CALL_BYTES = 256;

/** What the event loop works on between two awaits. */
export interface CurrentCall {
  run_id: string;
  /** The process, by its number. */
  epoch: number;
  /** A tool call's id, or a round of the model. */
  call: string;
}

export const MEMORY_BYTES = 8 + CALL_BYTES + RUNS_MAX * RUN_ID_BYTES;

function openViews(memory: SharedArrayBuffer) {
  return {
    /** Beats, and the length of the current call. */
    counters: new Int32Array(memory, 0, 2),
    call: Buffer.from(memory, 8, CALL_BYTES),
    runs: Buffer.from(memory, 8 + CALL_BYTES, RUNS_MAX * RUN_ID_BYTES),
  };
}

/** The event loop's side. */
export function createMemoryWriter(memory: SharedArrayBuffer) {
  const { counters, call, runs } = openViews(memory);
  const slots = new Map<string, number>();
  const free = Array.from({ length: RUNS_MAX }, (_, slot) => RUNS_MAX - 1 - slot);
  const writeCall = (current: CurrentCall | null) => {
    const bytes = current ? call.write(JSON.stringify(current)) : 0;
    Atomics.store(counters, 1, bytes);
  };
  let current: CurrentCall | null = null;
  return {
    beat: () => void Atomics.add(counters, 0, 1),
    /** Runs beyond the room of the memory are not listed. */
    enter(run_id: string) {
      const slot = slots.has(run_id) ? undefined : free.pop();
      if (slot === undefined) return;
      slots.set(run_id, slot);
      runs.write(run_id.slice(0, RUN_ID_BYTES).padEnd(RUN_ID_BYTES), slot * RUN_ID_BYTES);
    },
    leave(run_id: string) {
      const slot = slots.get(run_id);
      if (slot === undefined) return;
      slots.delete(run_id);
      free.push(slot);
      runs.fill(0, slot * RUN_ID_BYTES, (slot + 1) * RUN_ID_BYTES);
    },
    during<T>(next: CurrentCall, work: () => T): T {
      const before = current;
      current = next;
      writeCall(next);
      try {
        return work();
      } finally {
        current = before;
        writeCall(before);
      }
    },
  };
}

/** The watchdog's side. */
export function createMemoryReader(memory: SharedArrayBuffer) {
  const { counters, call, runs } = openViews(memory);
  return {
    countBeats: () => Atomics.load(counters, 0),
    /** null: the loop is in no call, or in one whose name is too long. */
    readCall(): CurrentCall | null {
      try {
        return JSON.parse(call.toString("utf8", 0, Atomics.load(counters, 1)));
      } catch {
        return null;
      }
    },
    listRuns(): string[] {
      const ids: string[] = [];
      for (let at = 0; at < runs.length; at += RUN_ID_BYTES) {
        if (runs[at] !== 0) ids.push(runs.toString("utf8", at, at + RUN_ID_BYTES).trimEnd());
      }
      return ids;
    },
  };
}
