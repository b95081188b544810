// The watchdog: a thread that ends a process whose event loop hangs, and tells the next start why.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createSystemClock } from "../platform/clock.ts";
import { readTestVariable } from "../platform/failpoint.ts";
import { canWriteLine } from "../platform/libc.ts";
import { createLog, type Log } from "../platform/log.ts";
import { STDERR, writeText } from "../platform/process.ts";
import { HUNG_AFTER_MS } from "./times.ts";
import {
  type CurrentCall,
  MEMORY_BYTES,
  WatchdogMemory,
  WatchdogMemoryReader,
} from "./watchdog-memory.ts";

const BEAT_EVERY_MS = 500;
const CHECK_EVERY_MS = 500;
const NOTE_BYTES_MAX = 65_536;

export interface Activity {
  readonly hung: CurrentCall | null;
  enter(run_id: string): void;
  leave(run_id: string): void;
  /** Names the call that `work` belongs to, until `work` returns. */
  during<T>(call: CurrentCall, work: () => T): T;
}

export const UNWATCHED: Activity = {
  hung: null,
  enter() {},
  leave() {},
  during: (_call, work) => work(),
};

export interface WatchdogOptions {
  script: URL;
  file: string | null;
  log: Log;
  isForPeople: boolean;
}

interface ThreadOptions {
  memory: SharedArrayBuffer;
  file: string | null;
  isForPeople: boolean;
  pid: number;
  checkEveryMs: number;
  checksMax: number;
}

export class Watchdog implements Activity {
  readonly hung: CurrentCall | null;
  /** Left by the process before this one. */
  readonly note: Note | null;
  readonly #options: WatchdogOptions;
  readonly #shared = new SharedArrayBuffer(MEMORY_BYTES);
  readonly #memory = new WatchdogMemory(this.#shared);

  constructor(options: WatchdogOptions) {
    this.#options = options;
    const note = options.file === null ? null : readNote(options.file);
    this.note = note;
    this.hung = note?.hung ?? null;
    if (!note) return;
    options.log.warn("watchdog: the process before this one hung and was ended", {
      ...(note.hung && { run_id: note.hung.run_id, call: note.hung.call }),
      runs: note.runs.length,
    });
  }

  /** Call it after slow work of a start, such as a migration. */
  start(): void {
    const { script, file, isForPeople, log } = this.#options;
    const worker = new Worker(script, { smol: true });
    worker.unref();
    worker.onerror = ({ message }) => log.error("watchdog: it failed", { error: message });
    const silenceMs = Number(readTestVariable("WADI_SILENCE_MS") ?? HUNG_AFTER_MS);
    const options: ThreadOptions = {
      memory: this.#shared,
      file,
      isForPeople,
      pid: process.pid,
      checkEveryMs: CHECK_EVERY_MS,
      checksMax: Math.ceil(silenceMs / CHECK_EVERY_MS),
    };
    worker.postMessage(options);
    setInterval(() => this.#memory.beat(), BEAT_EVERY_MS).unref();
  }

  enter(run_id: string): void {
    this.#memory.enter(run_id);
  }

  leave(run_id: string): void {
    this.#memory.leave(run_id);
  }

  during<T>(call: CurrentCall, work: () => T): T {
    return this.#memory.during(call, work);
  }

  /** Removes the note: the start has succeeded. */
  removeNote(): void {
    if (this.#options.file !== null) rmSync(this.#options.file, { force: true });
  }
}

export function serveWatchdog(): void {
  const port = globalThis as unknown as { onmessage: (event: { data: ThreadOptions }) => void };
  port.onmessage = ({ data }) => watch(data);
}

/** Counts checks instead of time, so that a suspended machine raises no alarm. */
function watch(options: ThreadOptions): void {
  const reader = new WatchdogMemoryReader(options.memory);
  setInterval(() => {
    if (reader.checkSilence() < options.checksMax) return;
    try {
      report(options, reader);
    } finally {
      process.kill(options.pid, "SIGKILL");
    }
  }, options.checkEveryMs);
}

function report(options: ThreadOptions, reader: WatchdogMemoryReader): void {
  const clock = createSystemClock();
  const hung = reader.readCall();
  const at = new Date(clock.now()).toISOString();
  const note: Note = { at, hung, runs: reader.listRuns() };
  if (options.file !== null) writeFileSync(options.file, JSON.stringify(note), { mode: 0o600 });
  // A log without a reader would block this thread as well.
  if (!canWriteLine(STDERR)) return;
  const log = createLog(clock, (line) => writeText(STDERR, line), options.isForPeople);
  log.error("watchdog: the event loop hangs; the process is ended", {
    ...(hung && { run_id: hung.run_id, call: hung.call }),
    runs: note.runs.length,
    duration_ms: options.checksMax * options.checkEveryMs,
  });
}

export interface Note {
  at: string;
  hung: CurrentCall | null;
  runs: string[];
}

export function readNote(file: string): Note | null {
  try {
    const text = readFileSync(file, "utf8");
    if (text.length > NOTE_BYTES_MAX) return null;
    const { at, hung, runs } = JSON.parse(text) as Partial<Note>;
    if (typeof at !== "string" || !Array.isArray(runs)) return null;
    return { at, hung: isCall(hung) ? hung : null, runs };
  } catch {
    return null;
  }
}

function isCall(hung: Partial<CurrentCall> | null | undefined): hung is CurrentCall {
  return (
    typeof hung?.run_id === "string" &&
    typeof hung.call === "string" &&
    Number.isInteger(hung.epoch)
  );
}
