// `wadi dev`: a local stub in memory with fixed keys; may record or replay model servers.
import { join } from "node:path";
import { DEV, loadRecorder, loadReplay, type OpenBackend } from "../admin/index.ts";
import type { DatabaseLocation } from "../database/index.ts";
import type { References } from "../docs/index.ts";
import { readDay } from "../platform/calendar.ts";
import { type Clock, createSystemClock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { SERVICES, type ServiceStandIn, type Settings } from "../settings/index.ts";
import {
  allowEgress,
  type Command,
  type CommandInput,
  portFlag,
  readText,
  UsageError,
} from "./command.ts";
import { linkConsole } from "./console.ts";
import { createInstallation } from "./installation.ts";
import type { Output } from "./output.ts";
import { DEV_KEY, writeOperatorToken } from "./remote.ts";
import { runServer } from "./server.ts";
import {
  DATABASE_FILE,
  openGivenSettings,
  placeNote,
  placeSecretsKey,
  readGivenSettings,
} from "./settings.ts";

/** Characters of a bearer token that need no quoting in a shell. */
const KEY = /^[A-Za-z0-9._~+/=-]{1,200}$/;
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{3})?)?Z)?$/;

export async function runDev(
  input: CommandInput,
  output: Output,
  references: References,
): Promise<number> {
  const first = readFirstKey(input);
  const clock = createSystemClock(readOffset(input));
  // Public keys must not be reachable from other machines.
  const fixed = { "server.host": "127.0.0.1" };
  const isOffline = isReplay(input);
  const standIn: ServiceStandIn = isOffline ? "offline" : "unnamed";
  const defaults = {
    "gateway.responses": true,
    "gateway.messages": true,
    "agents.mcp_server": true,
  };
  const reading = { fixed, wantsApiKeys: !isOffline, standIn, defaults };
  const { settings, file } = openGivenSettings(input, reading);
  const data = readText(input, "data");
  const offline = isOffline ? explainOffline(input, settings) : [];
  const { buildApp, WATCHDOG, WRITER } = await import("../app.ts");
  // Commands may change kept data, which only a writer notices.
  const place: DatabaseLocation =
    data === undefined
      ? { kind: "memory" }
      : { kind: "sqlite", file: join(data, DATABASE_FILE), writer: WRITER };
  const recording = await openRecording(input, settings, { clock, output });
  const installation = createInstallation(input);
  const commands = { ...installation.commands, needsServer: true };
  const serving = runServer({
    settings,
    file,
    clock,
    output,
    installation: { ...installation, commands },
    storage: data ?? "in memory, gone at exit",
    control: null,
    watchdog: { script: WATCHDOG, file: data === undefined ? null : placeNote(settings) },
    build: (deps) =>
      buildApp({
        place,
        writeCommands: references.writeCommands,
        secretsKeyFile: data === undefined ? null : placeSecretsKey(settings),
        openBackend: recording.open(deps.log),
        hasOpenMetrics: true,
        isLocalOnly: true,
        ...deps,
      }),
    async welcome(admin, url) {
      const others = await admin.createDevKeys(first);
      await admin.grantDevModels();
      const endings = others.map((key) => key.slice(first.length)).join(" ");
      const operator_token = writeOperatorToken(first);
      await admin.operators.createDevOperator(operator_token);
      const note =
        `keys      ${first}, and with these endings: ${endings}; ` +
        `operator token ${operator_token}`;
      const console_link = await linkConsole(admin, settings, { url, as: DEV });
      const notes = [note, ...recording.notes, ...offline];
      return { keys: [first, ...others], notes, operator_token, console_link };
    },
  });
  return serving.finally(recording.close);
}

/** A replay calls no service beside the models either. */
function explainOffline(input: CommandInput, settings: Settings): string[] {
  const named = readGivenSettings(input, { wantsApiKeys: false, standIn: "unnamed" });
  const off = SERVICES.filter((name) => named[name].kind !== settings[name].kind);
  if (off.length === 0) return [];
  return [`          ${off.join(" and ")} off: what the settings name is not asked either`];
}

function readFirstKey(input: CommandInput): string {
  const key = readText(input, "key") ?? DEV_KEY;
  if (KEY.test(key)) return key;
  throw new UsageError("--key takes 1 to 200 of A-Z, a-z, 0-9 and . _ ~ + / = -");
}

function readOffset(input: CommandInput): number {
  const text = readText(input, "now");
  if (text === undefined) return 0;
  const isDate = DATE.test(text) && readDay(text.slice(0, 10)) !== null;
  const now = isDate ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(now)) return now - createSystemClock().now();
  throw new UsageError(
    `--now takes a date such as 2027-01-05 or 2027-01-05T09:30Z, but is "${text}"`,
  );
}

interface Recording {
  notes: readonly string[];
  open(log: Log): OpenBackend | undefined;
  close(): Promise<void>;
}

const MODELS_SHOWN_MAX = 5;

function isReplay(input: CommandInput): boolean {
  if (readText(input, "replay") === undefined) return false;
  if (readText(input, "record") === undefined) return true;
  throw new UsageError("--record and --replay exclude each other: what is played is recorded");
}

/** Opens the recording of --record or --replay; the caller closes it. */
async function openRecording(
  input: CommandInput,
  settings: Settings,
  { clock, output }: { clock: Clock; output: Output },
): Promise<Recording> {
  const [to, from] = [readText(input, "record"), readText(input, "replay")];
  if (to !== undefined) {
    const { openRecorder } = await loadRecorder();
    const recorder = await openRecorder(to, clock);
    return { notes: [`recording ${to}, which will hold prompts and replies`], ...recorder };
  }
  if (from !== undefined) {
    const { openReplay } = await loadReplay();
    const { requests, models, open } = openReplay(from);
    const unknown = [...models.difference(new Set(settings.models.map(({ id }) => id)))];
    if (unknown.length > 0) output.say(explainUnknown(from, unknown));
    const count = `${requests} ${requests === 1 ? "request" : "requests"}`;
    return { notes: [`replaying ${from} (${count})`], open: () => open, async close() {} };
  }
  return { notes: [], open: () => undefined, async close() {} };
}

function explainUnknown(file: string, models: readonly string[]): string {
  const more = models.length > MODELS_SHOWN_MAX ? " …" : "";
  const shown = models.slice(0, MODELS_SHOWN_MAX).join(" ");
  return `${file} holds requests of models that the settings do not have: ${shown}${more}`;
}

export const commands: readonly Command[] = [
  {
    name: "dev",
    flags: {
      port: portFlag,
      key: { takes: "TEXT", help: "first key (default svc_sk_dev)" },
      record: { takes: "FILE", help: "new file to record the model servers' replies in" },
      replay: { takes: "FILE", help: "recording to answer from" },
      "allow-egress": allowEgress,
      now: { takes: "DATE", help: "date to start with, such as 2027-01-05" },
    },
    help: "Serve a local stub in memory with fixed keys",
    example: "wadi dev --port 8080",
    run: runDev,
  },
];
