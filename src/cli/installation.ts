// The installation that a command or a server belongs to: its version, document and checks.
import { existsSync } from "node:fs";
import { type CheckRow, type Crash, checkInstallation, type Installation } from "../admin/index.ts";
import { openBackupDestination } from "../backup/index.ts";
import { type Note, readNote } from "../cluster/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { createLog } from "../platform/log.ts";
import { nameProgram, STDERR, writeText } from "../platform/process.ts";
import { defaultSettings, type Settings, SettingsError } from "../settings/index.ts";
import { type CommandInput, readText } from "./command.ts";
import {
  FILE,
  findUnusedDatabase,
  nameData,
  placeData,
  placeNote,
  placeSecretsKey,
  readGivenSettings,
  readNamedSettings,
} from "./settings.ts";
import { COMMIT, VERSION } from "./version.ts";

export function createInstallation(input: CommandInput): Installation {
  return {
    commands: { program: nameProgram(), needsServer: false },
    async readVersion() {
      const { readSqliteVersion } = await import("../database/index.ts");
      return { version: VERSION, commit: COMMIT, bun: Bun.version, sqlite: readSqliteVersion() };
    },
    readDocument: () => buildDocument(input),
    check: () => checkAll(input),
    readCrash() {
      const settings = readGivenSettings(input, { wantsApiKeys: false });
      return describeCrash(readNote(placeNote(settings)));
    },
  };
}

export function describeCrash(note: Note | null): Crash | null {
  if (!note) return null;
  const { at, hung, runs } = note;
  return { at, run_id: hung?.run_id ?? null, call: hung?.call ?? null, runs: runs.length };
}

async function buildDocument(input: CommandInput): Promise<Record<string, unknown>> {
  const { buildApp } = await import("../app.ts");
  const clock = createSystemClock();
  const app = await buildApp({
    settings: readNamedSettings(input) ?? defaultSettings(),
    place: { kind: "memory" },
    clock,
    ids: createSystemIds(),
    log: createLog(clock, (line) => writeText(STDERR, line), true),
    version: VERSION,
    secretsKeyFile: null,
    installation: createInstallation(input),
    onFatal: () => {},
  });
  const response = await app.server.answer(new Request("http://localhost/openapi.json"));
  const document = (await response.json()) as Record<string, unknown>;
  await app.stop(0);
  return document;
}

async function checkAll(input: CommandInput): Promise<CheckRow[]> {
  const settingsName = readText(input, "config") ?? (existsSync(FILE) ? FILE : `no ${FILE}`);
  let settings: Settings;
  try {
    settings = readGivenSettings(input);
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure;
    // Without settings, nothing else can be checked.
    return [{ status: "fail", what: "settings", name: settingsName, says: failure.message }];
  }
  return checkInstallation({
    settings,
    settingsName,
    place: placeData(settings),
    dataName: nameData(settings),
    secretsKeyFile: placeSecretsKey(settings),
    unusedFile: findUnusedDatabase(settings),
    checkBackups: () =>
      openBackupDestination(settings.backup, settings.server.data, createSystemClock()).check(),
    clock: createSystemClock(),
    ids: createSystemIds(),
  });
}
