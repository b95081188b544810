// Makes backups on a timer inside a server, in small steps, and deletes the oldest ones.
import type { Database, DatabaseLocation, TransferPlace } from "../database/index.ts";
import { installationStore } from "../installation/index.ts";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { Settings } from "../settings/index.ts";
import { makeBackup } from "./backup.ts";
import { DRAFT_END } from "./file.ts";
import { type BackupFolder, openBackupFolder } from "./folder.ts";

export interface BackupTimerOptions {
  place: TransferPlace;
  folder: BackupFolder;
  program: string;
  /** Identity in the names, by which a copy never deletes backups of its original. */
  readId(): Promise<string>;
  everyMs: number;
  keep: number;
  clock: Clock;
  log: Log;
}

const RETRY_MS = 60_000;
const CHECK_EVERY_MAX_MS = 3_600_000;
const ID_CHARACTERS = 8;
const STAMP = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/;

export class BackupTimer implements Service {
  readonly name = "backups";
  readonly #options: BackupTimerOptions;
  readonly #loop: WorkerLoop;
  /** Monotonic time of the next backup; null before the folder was looked at. */
  #dueAt: number | null = null;

  constructor(options: BackupTimerOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: (stopping) => this.#work(stopping),
      onError: (error) => log.error("backup: no backup was made; it is tried again", { error }),
    });
  }

  start(): void {
    this.#loop.wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    await settlesWithin(this.#options.clock, deadlineMs, this.#loop.stop());
  }

  async #work(stopping: AbortSignal): Promise<NextPass> {
    const { clock, everyMs } = this.#options;
    const prefix = `wadi-${(await this.#options.readId()).slice(0, ID_CHARACTERS)}-`;
    this.#dueAt ??= await this.#findDue(prefix);
    const waitMs = this.#dueAt - clock.monotonic();
    if (waitMs > 0) return { inMs: Math.min(waitMs, CHECK_EVERY_MAX_MS) };
    await this.#make(prefix, stopping);
    this.#dueAt = clock.monotonic() + everyMs;
    return { inMs: Math.min(everyMs, CHECK_EVERY_MAX_MS) };
  }

  /** A backup with a later time was made while the clock was wrong, and counts as made now. */
  async #findDue(prefix: string): Promise<number> {
    const { clock, everyMs } = this.#options;
    const newest = (await this.#list(prefix)).at(-1);
    if (newest === undefined) return clock.monotonic();
    const sinceMs = Math.max(clock.now() - readTime(newest), 0);
    return clock.monotonic() + everyMs - sinceMs;
  }

  async #make(prefix: string, stopping: AbortSignal): Promise<void> {
    const { folder, place, program, clock, log, keep } = this.#options;
    const startedAt = clock.monotonic();
    const name = `${prefix}${writeStamp(clock.now())}.backup`;
    try {
      const { rows } = await makeBackup({
        ...{ place, program, clock, secretsKeyFile: null, signal: stopping },
        open: () => folder.create(name),
      });
      const duration_ms = Math.round(clock.monotonic() - startedAt);
      log.info("backup: made", { what: name, rows, duration_ms });
    } catch (failure) {
      if (stopping.aborted) return;
      throw failure;
    }
    for (const old of (await this.#list(prefix)).slice(0, -keep)) await folder.remove(old);
    await this.#removeDrafts(prefix);
  }

  /** Removes what killed backups have left; one timer writes one backup at a time. */
  async #removeDrafts(prefix: string): Promise<void> {
    const { folder } = this.#options;
    const isDraft = (name: string) => name.startsWith(prefix) && name.endsWith(DRAFT_END);
    for (const draft of (await folder.list()).filter(isDraft)) await folder.remove(draft);
  }

  async #list(prefix: string): Promise<string[]> {
    const names = await this.#options.folder.list();
    return names.filter((name) => name.startsWith(prefix) && STAMP.test(name)).sort();
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

/** Creates the timer that the settings ask for; data in memory have none. */
export function createBackupTimers(options: BackupServiceOptions): BackupTimer[] {
  const { settings, place, database, version: program, clock, log } = options;
  const { every_ms: everyMs, keep } = settings.backup;
  if (everyMs === 0 || place.kind === "memory") return [];
  const installation = database.bind(installationStore);
  const readId = async () => (await installation.find()).id;
  const folder = openBackupFolder(settings.backup, settings.server.data, clock);
  return [new BackupTimer({ place, folder, program, readId, everyMs, keep, clock, log })];
}

/** Writes a time such as `20261125T120500Z`. */
export const writeStamp = (at: number) => new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, "");

function readTime(name: string): number {
  const [, year, month, day, hour, minute, second] = STAMP.exec(name)!.map(Number);
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!);
}
