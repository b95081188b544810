// Settings that change while the server runs: read again when a signal or a changed file asks for
// it, and taken over whole or not at all.
import { listStandIns } from "../admin/index.ts";
import type { Clock } from "../platform/clock.ts";
import { isPipe, watchFile } from "../platform/file-watch.ts";
import type { Log } from "../platform/log.ts";
import { applySettings, describeChange, type Settings, SettingsError } from "../settings/index.ts";
import type { SettingsFile } from "./settings.ts";

/** What takes other settings over. */
export interface SettingsTarget {
  change(settings: Settings): Promise<void>;
}

export interface ReloadingOptions {
  /** null where the start read none: nothing reloads. */
  file: SettingsFile | null;
  settings: Settings;
  clock: Clock;
  log: Log;
}

export interface Reloading {
  /** What is in force. */
  readonly settings: Settings;
  /** Reads again, at once or, where that is under way, once more afterwards. */
  reload(): void;
  /** From now on there is somebody to take settings over; what was asked for before is done now. */
  start(app: SettingsTarget): void;
  stop(): void;
}

export function createReloading({ file, settings, clock, log }: ReloadingOptions): Reloading {
  let in_force = settings;
  let app: SettingsTarget | null = null;
  let isWanted = false;
  let isRunning = false;

  const readAgain = async (file: SettingsFile, app: SettingsTarget) => {
    watch?.note();
    if (isPipe(file.path)) {
      throw new SettingsError(`${file.path} is a pipe: put a file there, and reload`);
    }
    const { settings: next, pending } = applySettings(in_force, file.read());
    const change = describeChange(in_force, next);
    await app.change(next);
    in_force = next;
    warnOfStandIns();
    if (change) log.info(`settings reloaded: ${change}`);
    if (pending.length > 0) {
      log.warn(`a restart is needed for ${pending.join(", ")}: until then the old values stay`);
    }
    if (!change && pending.length === 0) log.info("settings read again: nothing has changed");
  };
  const warnOfStandIns = () => {
    for (const name of listStandIns(in_force)) {
      log.warn(`the stub answers ${name} beside real models: nobody should keep what it says`);
    }
  };
  const refuse = (failure: unknown) => {
    const says = "settings refused, the old ones stay";
    if (failure instanceof SettingsError) log.error(`${says}: ${failure.message}`);
    else log.error(says, { error: failure });
  };
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    while (file && app && isWanted) {
      isWanted = false;
      await readAgain(file, app).catch(refuse);
    }
    isRunning = false;
  };
  const reload = () => {
    isWanted = true;
    void run();
  };
  const watch = file && watchFile({ path: file.path, stamp: file.stamp, clock, onChange: reload });

  return {
    get settings() {
      return in_force;
    },
    reload() {
      if (file) reload();
      else log.info("there is nothing to reload: the start found no settings file");
    },
    start(serving) {
      app = serving;
      warnOfStandIns();
      watch?.start();
      void run();
    },
    stop() {
      app = null;
      watch?.stop();
    },
  };
}
