// `wadi serve`: serves with wadi.toml and a data directory or a database server until stopped.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Admin, needsGrant } from "../admin/index.ts";
import type { References } from "../docs/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createLog } from "../platform/log.ts";
import { isTerminal, STDOUT } from "../platform/process.ts";
import { createSupervisorNotifier } from "../platform/sd-notify.ts";
import type { Settings } from "../settings/index.ts";
import { placeControlSocket } from "../takeover/index.ts";
import {
  allowEgress,
  type Command,
  type CommandInput,
  hasFlag,
  portFlag,
  readNumber,
} from "./command.ts";
import { linkConsole } from "./console.ts";
import { createInstallation } from "./installation.ts";
import type { Output } from "./output.ts";
import { runServer, type Welcome } from "./server.ts";
import { nameData, openGivenSettings, placeData, placeNote, placeSecretsKey } from "./settings.ts";
import { ROLE } from "./supervised.ts";

const PAUSED_NOTE = [
  "paused    restored from a backup: nothing fires, runs or is delivered before `wadi resume`",
];
const FIRST_KEY_FILE = "first-key";
const CONSOLE_LINK_FILE = "console-link";
const FIRST_KEY_NOTE = "          of the new account default; it is shown only now";
const FIRST_KEY_FILE_NOTE = "          of the new account default; remove the file once it is kept";
const FIRST_KEY_RESCUE =
  "the first key was made and its secret is lost: `wadi keys list` shows its id, " +
  "`wadi keys rotate KEY_ID` gives it another";

export async function runServe(
  input: CommandInput,
  output: Output,
  references: References,
): Promise<number> {
  const { settings, file } = openGivenSettings(input);
  const count = readNumber(input, "processes") ?? 1;
  if (count > 1 && ROLE === null) return superviseServers(settings, count);
  const found = placeData(settings);
  const { buildApp, WATCHDOG, WRITER } = await import("../app.ts");
  const place = found.kind === "sqlite" ? { ...found, writer: WRITER } : found;
  const clock = createSystemClock();
  return runServer({
    settings,
    file,
    clock,
    output,
    installation: createInstallation(input),
    storage: nameData(settings),
    // Several servers would have one socket.
    control:
      ROLE === null
        ? {
            file: placeControlSocket(resolve(settings.server.data)),
            takesOver: hasFlag(input, "takeover"),
          }
        : null,
    watchdog: { script: WATCHDOG, file: placeNote(settings) },
    build: (deps) =>
      buildApp({
        place,
        writeCommands: references.writeCommands,
        secretsKeyFile: placeSecretsKey(settings),
        acceptsLoss: hasFlag(input, "accept-loss"),
        isCommon: ROLE !== null,
        ...deps,
      }),
    async welcome(admin, url) {
      if (ROLE === "next") return { keys: [], notes: [] };
      const first = await welcomeFirst(admin, settings);
      const link = await welcomeToConsole(admin, settings, url);
      return { ...first, ...link, notes: [...first.notes, ...link.notes] };
    },
  });
}

async function superviseServers(settings: Settings, count: number): Promise<number> {
  const { runSupervisor } = await import("./supervisor.ts");
  const clock = createSystemClock();
  const write = (line: string) => void process.stderr.write(line);
  return runSupervisor({
    ...{ settings, count, clock, args: process.argv.slice(2) },
    log: createLog(clock, write, process.stderr.isTTY === true),
    notifier: createSupervisorNotifier(clock),
  });
}

async function welcomeFirst(admin: Admin, settings: Settings): Promise<Welcome> {
  const { paused_at } = await admin.pause.readState();
  if (paused_at !== null) return { keys: [], notes: PAUSED_NOTE, is_paused: true };
  const key = await admin.createFirstKey();
  if (key === undefined) return { keys: [], notes: [] };
  const advice = adviseGrant(settings);
  const rescue = FIRST_KEY_RESCUE;
  if (isTerminal(STDOUT)) {
    return { keys: [key], notes: [`key       ${key}`, FIRST_KEY_NOTE, ...advice], rescue };
  }
  const key_file = keepKey(settings, key);
  const notes = [`key       in ${key_file}`, FIRST_KEY_FILE_NOTE, ...advice];
  return { keys: [], notes, key_file, rescue };
}

/** Makes a link to the console at each start; a server without one serves all the same. */
async function welcomeToConsole(
  admin: Admin,
  settings: Settings,
  url: string,
): Promise<Pick<Welcome, "notes" | "console_link" | "console_file">> {
  if (!settings.operator.enabled) return { notes: [] };
  try {
    const console_link = await linkConsole(admin, settings, { url });
    if (isTerminal(STDOUT)) return { notes: [], console_link };
    const console_file = keepSecret(settings, CONSOLE_LINK_FILE, console_link);
    return { notes: [`console   by the link in ${console_file}`], console_file };
  } catch (failure) {
    return { notes: [`console   no link: ${(failure as Error).message}`] };
  }
}

function keepKey(settings: Settings, key: string): string {
  try {
    return keepSecret(settings, FIRST_KEY_FILE, key);
  } catch (error) {
    (error as Error).message += `; ${FIRST_KEY_RESCUE}`;
    throw error;
  }
}

/**
 * Writes a secret to a file that only its owner can read, and returns its name. Anything but a
 * terminal may be a journal, which others read and keep.
 */
function keepSecret({ server }: Settings, name: string, secret: string): string {
  const file = join(server.data, name);
  mkdirSync(server.data, { recursive: true });
  // Replaces a file of an earlier start without following a link.
  rmSync(file, { force: true });
  writeFileSync(file, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
  return file;
}

/** Without a grant the printed command would be refused. */
function adviseGrant({ models, service }: Settings): string[] {
  const model = models.find(({ id }) => id === service.default_model);
  if (!model || !needsGrant(model)) return [];
  return [
    `          it may not call ${model.id} before \`wadi accounts grant default ${model.id}\``,
  ];
}

export const commands: readonly Command[] = [
  {
    name: "serve",
    flags: {
      host: { takes: "HOST", help: "address to listen on (default 127.0.0.1)" },
      port: portFlag,
      "allow-egress": allowEgress,
      processes: { takes: "N", help: "servers on one port, on PostgreSQL with Valkey (Linux)" },
      takeover: { help: "take the place of the server that runs on the data (Linux)" },
      "accept-loss": { help: "start on data that lacks commits, and report how many" },
    },
    help: "Serve with the settings file",
    example: "wadi serve --config wadi.toml",
    run: runServe,
  },
];
