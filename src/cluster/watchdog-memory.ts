// Memory that the event loop shares with its watchdog: heartbeats, runs, and the current call.

const RUNS_MAX = 512;
const RUN_ID_BYTES = 36;
const CALL_BYTES = 256;

/** Work of the event loop between two awaits. */
export interface CurrentCall {
  run_id: string;
  epoch: number;
  /** A tool call's id, or a round of the model. */
  call: string;
}

export const MEMORY_BYTES = 8 + CALL_BYTES + RUNS_MAX * RUN_ID_BYTES;

class MemoryViews {
  readonly counters: Int32Array;
  readonly call: Buffer;
  readonly runs: Buffer;

  constructor(memory: SharedArrayBuffer) {
    this.counters = new Int32Array(memory, 0, 2);
    this.call = Buffer.from(memory, 8, CALL_BYTES);
    this.runs = Buffer.from(memory, 8 + CALL_BYTES, RUNS_MAX * RUN_ID_BYTES);
  }
}

export class WatchdogMemory {
  readonly #views: MemoryViews;
  readonly #slots = new Map<string, number>();
  readonly #free = Array.from({ length: RUNS_MAX }, (_, slot) => RUNS_MAX - 1 - slot);
  #current: CurrentCall | null = null;

  constructor(memory: SharedArrayBuffer) {
    this.#views = new MemoryViews(memory);
  }

  beat(): void {
    Atomics.add(this.#views.counters, 0, 1);
  }

  /** Runs beyond the size of the memory are not listed. */
  enter(run_id: string): void {
    const slot = this.#slots.has(run_id) ? undefined : this.#free.pop();
    if (slot === undefined) return;
    this.#slots.set(run_id, slot);
    const id = run_id.slice(0, RUN_ID_BYTES).padEnd(RUN_ID_BYTES);
    this.#views.runs.write(id, slot * RUN_ID_BYTES);
  }

  leave(run_id: string): void {
    const slot = this.#slots.get(run_id);
    if (slot === undefined) return;
    this.#slots.delete(run_id);
    this.#free.push(slot);
    this.#views.runs.fill(0, slot * RUN_ID_BYTES, (slot + 1) * RUN_ID_BYTES);
  }

  during<T>(call: CurrentCall, work: () => T): T {
    const before = this.#current;
    this.#setCurrent(call);
    try {
      return work();
    } finally {
      this.#setCurrent(before);
    }
  }

  #setCurrent(call: CurrentCall | null): void {
    this.#current = call;
    const bytes = call ? this.#views.call.write(JSON.stringify(call)) : 0;
    Atomics.store(this.#views.counters, 1, bytes);
  }
}

export class WatchdogMemoryReader {
  readonly #views: MemoryViews;
  #seenBeats: number;
  #silentChecks = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#views = new MemoryViews(memory);
    this.#seenBeats = this.countBeats();
  }

  /** Returns how many checks in a row, this one included, found no new heartbeat. */
  checkSilence(): number {
    const beats = this.countBeats();
    this.#silentChecks = beats === this.#seenBeats ? this.#silentChecks + 1 : 0;
    this.#seenBeats = beats;
    return this.#silentChecks;
  }

  countBeats(): number {
    return Atomics.load(this.#views.counters, 0);
  }

  readCall(): CurrentCall | null {
    const { call, counters } = this.#views;
    try {
      return JSON.parse(call.toString("utf8", 0, Atomics.load(counters, 1)));
    } catch {
      return null;
    }
  }

  listRuns(): string[] {
    const { runs } = this.#views;
    const ids: string[] = [];
    for (let at = 0; at < runs.length; at += RUN_ID_BYTES) {
      if (runs[at] !== 0) ids.push(runs.toString("utf8", at, at + RUN_ID_BYTES).trimEnd());
    }
    return ids;
  }
}
