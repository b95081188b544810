// Performs the operations of a command on local data, or through the API of a server.
import { statSync } from "node:fs";
import type { Static, TObject } from "@sinclair/typebox";
import {
  type Admin,
  AdminError,
  nameLocalActor,
  type Operation,
  openAdmin,
  type PerformOperation,
  perform,
} from "../admin/index.ts";
import { backUpBeforeMigration } from "../backup/index.ts";
import { hasDatabase, type TransferPlace } from "../database/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { STDERR, writeText } from "../platform/process.ts";
import type { CommandInput } from "./command.ts";
import { createInstallation } from "./installation.ts";
import { createLiveReader } from "./live.ts";
import { findServer, isServing, openRemote, warnOfClearText } from "./remote.ts";
import {
  nameData,
  placeData,
  placeSecretsKey,
  placeServer,
  readGivenSettings,
} from "./settings.ts";
import { VERSION } from "./version.ts";

interface CallOptions {
  /** Creates the database where there is none. */
  begins?: boolean;
}

export function call<I extends TObject, R>(
  input: CommandInput,
  operation: Operation<I, R>,
  request: Static<I>,
  options?: CallOptions,
): Promise<R> {
  return operate(input, (perform) => perform(operation, request), options);
}

/** Performs an operation at the server, or by `local`, which needs no database. */
export async function callWithoutData<I extends TObject, R>(
  input: CommandInput,
  operation: Operation<I, R>,
  request: Static<I>,
  local: () => R | Promise<R>,
): Promise<R> {
  return findServer(input) ? call(input, operation, request) : local();
}

/** Calls `work` with what performs its operations, one after another. */
export async function operate<T>(
  input: CommandInput,
  work: (call: PerformOperation) => Promise<T>,
  options: CallOptions = {},
): Promise<T> {
  const server = findServer(input);
  if (server) {
    warnOfClearText(server.url, { say: (line) => writeText(STDERR, `${line}\n`) });
    return work(openRemote(server));
  }
  const actor = nameLocalActor();
  return administer(input, options, (admin) =>
    work(async (operation, request) => toJson(await perform(admin, operation, request, actor))),
  );
}

/** Gives a local reply the values that a remote one has. */
function toJson<R>(reply: R): R {
  return JSON.parse(JSON.stringify(reply)) as R;
}

/** Opens the data for one command, beside a server that may be running on it. */
async function administer<T>(
  input: CommandInput,
  { begins = false }: CallOptions,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  // A key must be revocable also from a shell that has none of the server's secrets.
  const settings = readGivenSettings(input, { wantsApiKeys: false });
  const place = placeData(settings);
  // A mistyped directory must not become a new one.
  if (!begins && (await isMissing(place))) {
    const other = place.kind === "sqlite" ? "name its directory with --data, or " : "";
    const url = placeServer(settings);
    if (await isServing(url)) {
      throw new AdminError(
        `there is no database in ${nameData(settings)}, but a server runs at ${url}: ` +
          `add --server ${url}, or ${other}begin one with \`wadi serve\``,
      );
    }
    throw new AdminError(
      `there is no database in ${nameData(settings)}: ${other}` +
        "begin one with `wadi serve` or `wadi accounts create`",
    );
  }
  const clock = createSystemClock();
  const live = createLiveReader(settings.server.data);
  const warn = (message: string) => writeText(STDERR, `wadi: ${message}\n`);
  const opened = await openAdmin({
    settings,
    place,
    clock,
    ids: createSystemIds(),
    secretsKeyFile: placeSecretsKey(settings),
    installation: createInstallation(input),
    readLive: live.read,
    beforeMigration: backUpBeforeMigration({
      ...{ settings, place, program: VERSION, clock, say: warn },
    }),
    warn,
  });
  try {
    return await work(opened.admin);
  } finally {
    live.close();
    await opened.close();
  }
}

async function isMissing(place: TransferPlace): Promise<boolean> {
  if (place.kind === "postgres") return !(await hasDatabase(place));
  try {
    return statSync(place.file, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Opening an unreadable file explains the fault.
    return false;
  }
}
