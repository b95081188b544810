// Reloads settings while the server runs, on a signal or a changed file: as a whole or not at all.
import { listHints, listStandIns } from "../admin/index.ts";
import type { Clock } from "../platform/clock.ts";
import { FileWatch, isPipe } from "../platform/file-watch.ts";
import type { Log } from "../platform/log.ts";
import { shorten } from "../platform/text.ts";
import { applySettings, describeChange, type Settings, SettingsError } from "../settings/index.ts";
import { findUnusedDatabase, type SettingsFile } from "./settings.ts";

const FAULT_CHARACTERS_MAX = 500;

export interface SettingsTarget {
  /** Returns false where the certificate before stays in force, which the log explains. */
  change(settings: Settings): Promise<boolean>;
}

export interface SettingsReloadOptions {
  file: SettingsFile | null;
  settings: Settings;
  clock: Clock;
  log: Log;
}

export class SettingsReload {
  readonly #file: SettingsFile | null;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #watch: FileWatch | null;
  #settings: Settings;
  #target: SettingsTarget | null = null;
  #isWanted = false;
  #running: Promise<void> | null = null;
  /** Why the file was refused when it was last read. */
  fault: string | null = null;

  constructor({ file, settings, clock, log }: SettingsReloadOptions) {
    this.#file = file;
    this.#clock = clock;
    this.#settings = settings;
    this.#log = log;
    const onChange = () => void this.reload();
    this.#watch = file && new FileWatch({ path: file.path, stamp: file.stamp, clock, onChange });
  }

  get settings(): Settings {
    return this.#settings;
  }

  /** Reads the file now, or once more after the reload under way; ends when it was read. */
  async reload(): Promise<void> {
    if (!this.#file) {
      this.#log.info("settings: nothing to reload, since the start found no file");
      return;
    }
    this.#isWanted = true;
    await this.#run();
  }

  /** Begins with a reload that was asked for before. */
  start(target: SettingsTarget): void {
    this.#target = target;
    this.#warnOfSettings();
    this.#watch?.start();
    void this.#run();
  }

  stop(): void {
    this.#target = null;
    this.#watch?.stop();
  }

  async #run(): Promise<void> {
    if (this.#isWanted && this.#target) this.#running ??= this.#readWanted();
    await this.#running;
  }

  async #readWanted(): Promise<void> {
    while (this.#file && this.#target && this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.#readFile(this.#file, this.#target);
        this.fault = null;
      } catch (error) {
        const fields = error instanceof SettingsError ? { reason: error.message } : { error };
        this.fault = shorten((error as Error).message, FAULT_CHARACTERS_MAX);
        this.#log.error("settings: refused, the old ones stay", fields);
      }
    }
    this.#running = null;
  }

  async #readFile(file: SettingsFile, target: SettingsTarget): Promise<void> {
    const log = this.#log;
    this.#watch?.note();
    if (isPipe(file.path)) {
      throw new SettingsError(`${file.path} is a pipe: put a file there, and reload`);
    }
    const { settings: next, pending } = applySettings(this.#settings, file.read());
    const before = this.#settings;
    const hasCertificate = await target.change(next);
    const change = describeChange(before, hasCertificate ? next : keepCertificate(next, before));
    this.#settings = next;
    this.#warnOfSettings();
    if (change) log.info("settings: reloaded", { what: change });
    if (pending.length > 0) {
      log.warn("settings: old values stay until a restart", { what: pending.join(", ") });
    }
    if (!change && hasCertificate && pending.length === 0)
      log.info("settings: reloaded, nothing has changed");
  }

  #warnOfSettings(): void {
    for (const name of listStandIns(this.#settings)) {
      const message = "settings: a stub answers beside real models; do not store its replies";
      this.#log.warn(message, { service: name });
    }
    const unusedFile = findUnusedDatabase(this.#settings);
    const now = this.#clock.now();
    for (const { says } of listHints({ settings: this.#settings, unusedFile, now })) {
      this.#log.warn(`settings: ${says}`);
    }
  }
}

function keepCertificate(settings: Settings, { server }: Settings): Settings {
  return { ...settings, server: { ...settings.server, certificate: server.certificate } };
}
