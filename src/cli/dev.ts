// `wadi dev`: everything on, in memory, on loopback, with fixed keys: a stub to develop against.
import { join } from "node:path";
import { createSystemClock } from "../platform/clock.ts";
import type { Place } from "../platform/database/index.ts";
import { createSystemIds } from "../platform/ids.ts";
import { SERVICES, type Settings, type StandIn } from "../platform/settings/index.ts";
import { listen } from "./listening.ts";
import type { Output } from "./output.ts";
import { isReplay, openRecording } from "./recording.ts";
import {
  DATABASE_FILE,
  openGivenSettings,
  placeNote,
  placeSecretsKey,
  readGivenSettings,
} from "./settings.ts";
import { type Given, readText, UsageProblem } from "./verb.ts";
import { VERSION } from "./version.ts";

const FIRST_KEY = "svc_sk_dev";
/** What may stand behind `Bearer`; it also needs no quoting in a shell. */
const KEY = /^[A-Za-z0-9._~+/=-]{1,200}$/;
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{3})?)?Z)?$/;

export async function runDev(given: Given, output: Output): Promise<number> {
  const first = readFirstKey(given);
  const clock = createSystemClock(readOffset(given));
  // Everybody knows its keys, so no other machine may reach it, whatever the settings say.
  const fixed = { "server.host": "127.0.0.1" };
  const isOffline = isReplay(given);
  const stand_in: StandIn = isOffline ? "offline" : "unnamed";
  const reading = { fixed, wants_api_keys: !isOffline, stand_in };
  const { settings, file } = openGivenSettings(given, reading);
  const data = readText(given, "data");
  const offline = isOffline ? explainOffline(given, settings) : [];
  const { buildApp, WATCHDOG, WRITER } = await import("../app.ts");
  // Kept data may be administered from beside: only with a writer is that heard of.
  const place: Place =
    data === undefined
      ? { kind: "memory" }
      : { kind: "sqlite", file: join(data, DATABASE_FILE), writer: WRITER };
  const recording = await openRecording(given, settings, { clock, output });
  const serving = listen({
    settings,
    file,
    clock,
    output,
    storage: data ?? "in memory, gone at exit",
    watchdog: { script: WATCHDOG, file: data === undefined ? null : placeNote(settings) },
    build: (around) =>
      buildApp({
        settings,
        place,
        ids: createSystemIds(),
        version: VERSION,
        secrets_key_file: data === undefined ? null : placeSecretsKey(settings),
        openSupply: recording.open(around.log),
        has_open_metrics: true,
        is_local_only: true,
        ...around,
      }),
    async welcome(operator) {
      const others = await operator.createDevKeys(first);
      await operator.grantDevModels();
      const endings = others.map((key) => key.slice(first.length)).join(" ");
      const note = `keys      ${first}, and with these endings: ${endings}`;
      const notes = [note, ...recording.notes, ...offline];
      return { keys: [first, ...others], notes };
    },
  });
  return serving.finally(recording.close);
}

/** Of a replay: what the settings name beside the models is not asked either. */
function explainOffline(given: Given, settings: Settings): string[] {
  const named = readGivenSettings(given, { wants_api_keys: false, stand_in: "unnamed" });
  const off = SERVICES.filter((name) => named[name].kind !== settings[name].kind);
  if (off.length === 0) return [];
  return [`          ${off.join(" and ")} off: what the settings name is not asked either`];
}

function readFirstKey(given: Given): string {
  const key = readText(given, "key") ?? FIRST_KEY;
  if (KEY.test(key)) return key;
  throw new UsageProblem("--key takes 1 to 200 of A-Z, a-z, 0-9 and . _ ~ + / = -");
}

/** How far the program's wall clock is ahead, so that callers can see what a date brings. */
function readOffset(given: Given): number {
  const text = readText(given, "now");
  if (text === undefined) return 0;
  const now = DATE.test(text) ? Date.parse(text) : Number.NaN;
  // 30 February would be read as 2 March.
  const isDay = !Number.isNaN(now) && new Date(now).toISOString().startsWith(text.slice(0, 10));
  if (isDay) return now - createSystemClock().now();
  throw new UsageProblem(
    `--now takes a date such as 2027-01-05 or 2027-01-05T09:30Z, but is "${text}"`,
  );
}
