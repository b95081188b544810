// `wadi backup`, `wadi restore` and `wadi move`: whole databases, on the machine that has them.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  createBackupFile,
  findBackupKey,
  makeBackup,
  moveData,
  prepareKeyFile,
  readKeys,
  restoreBackup,
  sumRows,
} from "../backup/index.ts";
import { readKeyFile } from "../crypto/index.ts";
import { inspectDatabase, type TransferPlace } from "../database/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { FORMATS, type Settings } from "../settings/index.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { interruptible } from "./interruption.ts";
import type { Output } from "./output.ts";
import { createProgressBar } from "./progress.ts";
import { nameData, placeData, placeSecretsKey, readGivenSettings } from "./settings.ts";
import { writeBytes } from "./status.ts";
import { VERSION } from "./version.ts";

const RESUME =
  "it is paused: nothing runs, fires or is delivered; `wadi serve` answers reads and chats, " +
  "`wadi resume` starts what waits";

function readLocalSettings(input: CommandInput): Settings {
  if (readText(input, "server") !== undefined) {
    throw new UsageError("this command works on the data of this machine: drop --server");
  }
  const settings = readGivenSettings(input, { wantsApiKeys: false });
  // Otherwise a restore into a named directory would replace the data on PostgreSQL.
  if (readText(input, "data") !== undefined && settings.server.database !== "") {
    throw new UsageError(
      `--data names a directory, but the data are on ${nameData(settings)}: drop --data, ` +
        "or name settings without `database` by --config; until a move is over, leave its " +
        "new place out of the settings",
    );
  }
  return settings;
}

function readFile({ args: [file = ""] }: CommandInput): string {
  if (file !== "" && !file.endsWith("/")) return file;
  throw new UsageError(`FILE is the name of a file, but is "${file}"`);
}

async function backup(input: CommandInput, output: Output, signal: AbortSignal): Promise<number> {
  const settings = readLocalSettings(input);
  const file = readFile(input);
  const bar = createProgressBar("backup");
  const withKey = hasFlag(input, "with-key");
  const { bytes, rows, manifest } = await makeBackup({
    place: placeData(settings),
    program: VERSION,
    clock: createSystemClock(),
    secretsKeyFile: withKey ? placeSecretsKey(settings) : null,
    open: () => createBackupFile(file),
    onProgress: bar.show,
    signal,
  }).finally(bar.end);
  const { secrets_key: _, ...described } = manifest;
  if (!withKey && manifest.key_id !== null) {
    output.say(`the secrets in it stay sealed: keep ${placeSecretsKey(settings)} elsewhere`);
  }
  output.print(
    { file, bytes, rows, has_secrets_key: withKey, ...described },
    `${file}: ${rows} rows, ${writeBytes(bytes)}\n`,
  );
  return 0;
}

async function restore(input: CommandInput, output: Output, signal: AbortSignal): Promise<number> {
  const settings = readLocalSettings(input);
  const file = readFile(input);
  const bar = createProgressBar("restore");
  const place = placeData(settings);
  const placeName = nameData(settings);
  const keyFile = placeSecretsKey(settings);
  const withKey = hasFlag(input, "with-key");
  const manifest = await restoreBackup({
    ...{ file, place, placeName },
    replaces: hasFlag(input, "yes"),
    secretsKeyFile: withKey ? keyFile : undefined,
    clock: createSystemClock(),
    ids: createSystemIds(),
    onProgress: bar.show,
    signal,
  }).finally(bar.end);
  const isInBackup = !withKey && findBackupKey(manifest) !== undefined;
  const hint = isInBackup ? "; this backup holds it, for --with-key" : "";
  const has_secrets_key = await reportKey(place, keyFile, output, hint);
  const rows = sumRows(manifest);
  output.say(RESUME);
  output.print(
    { file, place: placeName, rows, is_paused: true, has_secrets_key },
    `${placeName}: ${rows} rows of ${manifest.created_at}\n`,
  );
  return 0;
}

/** Says where a place's secrets lack their key; then returns false. */
async function reportKey(place: TransferPlace, file: string, output: Output, hint = "") {
  const { key_id } = await inspectDatabase(place);
  const isThere = hasKey(file, key_id);
  if (!isThere) {
    output.say(
      `the key of its secrets (${key_id}) is not in ${file}: put the file there, or what ` +
        `needs a secret is refused${hint}`,
    );
  }
  return isThere;
}

function hasKey(file: string, key_id: string | null): boolean {
  if (key_id === null) return true;
  try {
    return readKeyFile(file, () => {})?.some(({ id }) => id === key_id) ?? false;
  } catch {
    return false;
  }
}

async function move(input: CommandInput, output: Output, signal: AbortSignal): Promise<number> {
  const settings = readLocalSettings(input);
  const moved = { ...settings, server: readTarget(input, settings) };
  const isServer = moved.server.database !== "";
  const keyFile = placeSecretsKey(moved);
  const keys = isServer ? undefined : readKeys(placeSecretsKey(settings));
  const writeKey = keys && prepareKeyFile(keys, keyFile);
  const target = placeData(moved);
  const bar = createProgressBar("move");
  const targetName = nameData(moved);
  const result = await moveData({
    ...{ source: placeData(settings), sourceName: nameData(settings) },
    ...{ target, targetName },
    replaces: hasFlag(input, "yes"),
    clock: createSystemClock(),
    onProgress: bar.show,
    say(line) {
      bar.end();
      output.say(line);
    },
    beforeEnd: () => writeKey?.(),
    signal,
  })
    .finally(bar.end)
    .catch((failure) => {
      if (signal.aborted)
        output.say("the move is not over: run the same command again to continue");
      throw failure;
    });
  const has_secrets_key = await reportKey(target, keyFile, output);
  const key = has_secrets_key && existsSync(keyFile) ? `; the secrets key is ${keyFile}` : "";
  output.say(
    isServer
      ? `name it as \`database\` in \`[server]\`, or by \`database_env\`${key}`
      : `name it as \`data\` in \`[server]\`, without \`database\`${key}`,
  );
  output.print(
    { place: targetName, ...result, has_secrets_key },
    `${targetName}: ${result.rows} rows\n`,
  );
  return 0;
}

/** Reads where to move; a variable keeps a password out of the list of processes. */
function readTarget(input: CommandInput, { server }: Settings): Settings["server"] {
  const [to, variable] = [readText(input, "to"), readText(input, "to-env")];
  if ((to === undefined) === (variable === undefined)) {
    throw new UsageError("move needs --to or --to-env: postgres://… or a directory");
  }
  const target = to ?? process.env[variable!];
  if (!target) throw new UsageError(`--to-env: the variable ${variable} is not set`);
  try {
    if (/^postgres(ql)?:/i.test(target)) return { ...server, database: FORMATS.database(target) };
    const data = resolve(FORMATS.directory(target));
    return { ...server, database: "", data, secrets_key_file: "" };
  } catch {
    // The target may hold a password.
    throw new UsageError(
      `${to === undefined ? `--to-env: the variable ${variable}` : "--to"} holds neither an ` +
        'address postgres://… nor a directory; write "./" before a directory with a colon',
    );
  }
}

export const commands: readonly Command[] = [
  {
    name: "backup",
    args: ["FILE"],
    flags: { "with-key": { help: "secrets key in the file, which then opens all secrets" } },
    help: "Write all data to one file, also while a server runs",
    example: "wadi backup wadi-2027-01-05.backup",
    run: interruptible(backup),
  },
  {
    name: "restore",
    args: ["FILE"],
    flags: {
      yes: { help: "replace data that is there" },
      "with-key": { help: "also write the secrets key that the file holds" },
    },
    help: "Restore a backup as a copy that is paused until `wadi resume`",
    example: "wadi restore wadi-2027-01-05.backup --data ./copy",
    isUnsuggested: true,
    run: interruptible(restore),
  },
  {
    name: "move",
    flags: {
      to: { takes: "PLACE", help: "postgres:// address or directory" },
      "to-env": { takes: "NAME", help: "variable that holds it, with its password" },
      yes: { help: "replace data that is there" },
    },
    help: "Move all data to PostgreSQL or to a directory; the server is stopped",
    example: "wadi move --to postgres://wadi@db.example/wadi",
    isUnsuggested: true,
    run: interruptible(move),
  },
];
