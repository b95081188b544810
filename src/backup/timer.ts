// Makes backups on a timer inside a server, in small steps, and deletes the oldest ones.
import {
  type Database,
  type DatabaseLocation,
  DatabaseUnusable,
  type TransferPlace,
} from "../database/index.ts";
import { installationStore } from "../installation/index.ts";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log, LogFields } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { Settings } from "../settings/index.ts";
import { makeBackup } from "./backup.ts";
import { type BackupDestination, openBackupDestination } from "./destination.ts";
import { BackupError } from "./format.ts";

export interface BackupTimerOptions {
  place: TransferPlace;
  destination: BackupDestination;
  program: string;
  /** Identity in the names, by which a copy never deletes backups of its original. */
  readId(): Promise<string>;
  everyMs: number;
  keep: number;
  clock: Clock;
  log: Log;
}

/** Backups as this process knows them. */
export interface BackupState {
  /** Time of the newest; null: none is there, or the destination did not answer yet. */
  made_at: number | null;
  /** Why the last try made none; null: it made one, or there was none yet. */
  failure: string | null;
}

const RETRY_MS = 60_000;
const CHECK_EVERY_MAX_MS = 3_600_000;
/** A destination that does not answer may not delay a takeover or a stop. */
const END_MS_MAX = 5_000;
const ID_CHARACTERS = 8;
const STAMP = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/;

export class BackupTimer implements Service {
  readonly name = "backups";
  readonly #options: BackupTimerOptions;
  readonly #loop: WorkerLoop;
  /** Monotonic time of the next backup; null: found by the newest one that is there. */
  #dueAt: number | null = null;
  #pausing = new AbortController();
  #state: BackupState = { made_at: null, failure: null };

  constructor(options: BackupTimerOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: (stopping) => this.#work(stopping),
      onError: (error) => {
        const failure = error instanceof Error ? error.message : String(error);
        this.#state = { ...this.#state, failure };
        log.error("backup: no backup was made; it is tried again", describe(error));
      },
    });
  }

  readState(): BackupState {
    return this.#state;
  }

  show(metrics: Metrics): void {
    metrics.gauge(
      {
        name: "wadi_backup_last_made_timestamp_seconds",
        help: "Time of the newest backup in seconds since 1970; 0: there is none.",
      },
      (set) => {
        const { made_at, failure } = this.#state;
        // Until the destination has answered or failed, nothing is known.
        if (made_at !== null || failure !== null) set((made_at ?? 0) / 1_000);
      },
    );
    metrics.gauge(
      { name: "wadi_backup_interval_seconds", help: "Seconds between backups: backup.every." },
      (set) => set(this.#options.everyMs / 1_000),
    );
  }

  start(): void {
    this.#loop.wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    const withinMs = Math.min(deadlineMs, END_MS_MAX);
    await settlesWithin(this.#options.clock, withinMs, this.#loop.stop());
  }

  /** Ends the backup under way, which the end of the process would cut; the next one makes it. */
  async pause(): Promise<void> {
    this.#pausing.abort();
    await settlesWithin(this.#options.clock, END_MS_MAX, this.#loop.pause());
  }

  resume(): void {
    this.#pausing = new AbortController();
    // The other process may have made some.
    this.#dueAt = null;
    this.#loop.resume();
  }

  async #work(stopping: AbortSignal): Promise<NextPass> {
    const { clock, everyMs } = this.#options;
    const signal = AbortSignal.any([stopping, this.#pausing.signal]);
    const prefix = `wadi-${shortenId(await this.#options.readId())}-`;
    this.#dueAt ??= await this.#findDue(prefix);
    const waitMs = this.#dueAt - clock.monotonic();
    if (waitMs > 0) return { inMs: Math.min(waitMs, CHECK_EVERY_MAX_MS) };
    if (!(await this.#make(prefix, signal))) return "on_wake";
    this.#dueAt = clock.monotonic() + everyMs;
    await this.#removeOld(prefix);
    return { inMs: Math.min(everyMs, CHECK_EVERY_MAX_MS) };
  }

  /** A backup with a later time was made while the clock was wrong, and counts as made now. */
  async #findDue(prefix: string): Promise<number> {
    const { clock, everyMs } = this.#options;
    const newest = (await this.#list(prefix)).at(-1);
    if (newest === undefined) return clock.monotonic();
    const made_at = Math.min(readTime(newest), clock.now());
    this.#state = { ...this.#state, made_at };
    const sinceMs = clock.now() - made_at;
    return clock.monotonic() + everyMs - sinceMs;
  }

  /** Returns false where the signal has ended it. */
  async #make(prefix: string, signal: AbortSignal): Promise<boolean> {
    const { destination, place, program, clock, log } = this.#options;
    const startedAt = clock.monotonic();
    const made_at = clock.now();
    const name = `${prefix}${writeStamp(made_at)}.backup`;
    try {
      const { rows } = await makeBackup({
        ...{ place, program, clock, secretsKeyFile: null, signal },
        open: () => destination.create(prefix, name),
      });
      const duration_ms = Math.round(clock.monotonic() - startedAt);
      this.#state = { made_at, failure: null };
      log.info("backup: made", { what: name, rows, duration_ms });
      return true;
    } catch (failure) {
      if (signal.aborted) return false;
      throw failure;
    }
  }

  /** A failure is no reason to make the backup again. */
  async #removeOld(prefix: string): Promise<void> {
    const { destination, keep, log } = this.#options;
    try {
      for (const old of (await this.#list(prefix)).slice(0, -keep)) await destination.remove(old);
    } catch (failure) {
      log.error("backup: old backups were not removed", describe(failure));
    }
  }

  async #list(prefix: string): Promise<string[]> {
    const names = await this.#options.destination.list(prefix);
    return names.filter((name) => STAMP.test(name)).sort();
  }
}

export interface BackupServiceOptions {
  settings: Pick<Settings, "backup" | "server">;
  place: DatabaseLocation;
  database: Database;
  version: string;
  clock: Clock;
  log: Log;
}

export interface Backups {
  timers: readonly BackupTimer[];
  /** Returns null without a timer. */
  readState(): BackupState | null;
}

export function openBackups(options: BackupServiceOptions): Backups {
  const timers = createTimers(options);
  return { timers, readState: () => timers[0]?.readState() ?? null };
}

/** Creates the timer that the settings ask for; data in memory have none. */
function createTimers(options: BackupServiceOptions): BackupTimer[] {
  const { settings, place, database, version: program, clock, log } = options;
  const { every_ms: everyMs, keep } = settings.backup;
  if (everyMs === 0 || place.kind === "memory") return [];
  const installation = database.bind(installationStore);
  const readId = async () => (await installation.find()).id;
  const destination = openBackupDestination(settings.backup, settings.server.data, clock);
  return [new BackupTimer({ place, destination, program, readId, everyMs, keep, clock, log })];
}

/** Describes a failure by its sentence; only a bug keeps its stack. */
function describe(failure: unknown): LogFields {
  const isExplained = failure instanceof BackupError || failure instanceof DatabaseUnusable;
  return isExplained ? { reason: failure.message } : { error: failure };
}

/** Shortens the id of an installation for names of backups. */
export const shortenId = (id: string) => id.slice(0, ID_CHARACTERS);

/** Writes a time such as `20261125T120500Z`. */
export const writeStamp = (at: number) => new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, "");

function readTime(name: string): number {
  const [, year, month, day, hour, minute, second] = STAMP.exec(name)!.map(Number);
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!);
}
