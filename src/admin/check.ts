// Checks whether an installation would serve: data, key, model servers, services, clock. It changes
// nothing and disturbs no running server.
import { explainKeyFile, readKeyFile } from "../crypto/index.ts";
import {
  type DatabaseLocation,
  DatabaseUnusable,
  findDamage,
  inspectDatabase,
} from "../database/index.ts";
import {
  checkReplica,
  isServerUp,
  isWatched,
  nameHealth,
  probeServer,
  type ReplicaCheck,
} from "../models/index.ts";
import { createTrustedEgress, type TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import { formatDuration } from "../platform/duration.ts";
import type { Ids } from "../platform/ids.ts";
import type { ModelSettings, Settings } from "../settings/index.ts";
import { readFreeBytes } from "../storage/index.ts";
import { listHints } from "./hints.ts";
import type { CheckRow } from "./installation.ts";
import { listServiceChecks, loadServiceOpeners, type ServiceOpeners } from "./service-checks.ts";

export interface CheckOptions {
  settings: Settings;
  settingsName: string;
  place: Exclude<DatabaseLocation, { kind: "memory" }>;
  dataName: string;
  secretsKeyFile: string;
  clock: Clock;
  ids: Ids;
  openers?: ServiceOpeners;
  /** Throws why no backup could be made on the timer of the settings. */
  checkBackups(): Promise<void>;
  /** File of a SQLite database that the settings do not use. */
  unusedFile: string | null;
}

const SERVERS_AT_ONCE_MAX = 8;
/** Maximum clock difference: a Date header has whole seconds, and replies take time. */
const APART_MS_MAX = 60_000;

export async function checkInstallation(options: CheckOptions): Promise<CheckRow[]> {
  const { settings, settingsName: name } = options;
  const { models, service } = settings;
  const many = models.length === 1 ? "1 model" : `${models.length} models`;
  const says = `${many}, ${service.default_model} by default`;
  const egress = createTrustedEgress(options);
  try {
    const { row: data, key_id } = await checkData(options);
    const openers = options.openers ?? (await loadServiceOpeners());
    const checks = [
      ...settings.models.flatMap((model) => [
        ...listChecks(model, options, egress),
        () => checkCapabilities(model, options, egress),
      ]),
      ...listServiceChecks({ ...options, openers, egress }),
    ];
    const found = await mapBounded(checks, SERVERS_AT_ONCE_MAX, (check) => check());
    const servers = found.filter((row) => row !== null);
    return [
      { status: "ok", what: "settings", name, says },
      ...listHints({ ...options, now: options.clock.now() }).map(
        (hint): CheckRow => ({ status: "warn", name, ...hint }),
      ),
      data,
      ...checkDisk(options),
      checkSecretsKey(options.secretsKeyFile, key_id),
      ...(await checkBackups(options)),
      ...servers,
      ...checkClock(servers),
    ];
  } finally {
    egress.close();
  }
}

/** `key_id` names the key of its secrets, where it is known. */
async function checkData({ place, dataName: name }: CheckOptions) {
  const row = (status: CheckRow["status"], says: string): CheckRow => {
    return { status, what: "data", name, says };
  };
  try {
    const { schema, key_id, is_paused } = await inspectDatabase(place);
    const damage = place.kind === "sqlite" && schema !== "absent" ? findDamage(place.file) : null;
    if (damage !== null) return { row: row("fail", damage), key_id };
    const says = {
      absent: "there is no database yet: the next start makes it",
      older: "its schema is older: the next start brings it forward",
      current: "its schema is this program's",
    };
    const pause = "; it is paused since its restore: `wadi resume` starts what waits";
    return {
      row: is_paused ? row("warn", says[schema] + pause) : row("ok", says[schema]),
      key_id,
    };
  } catch (failure) {
    if (!(failure instanceof DatabaseUnusable)) throw failure;
    return { row: row("fail", failure.message), key_id: null };
  }
}

/** Skipped for data on another machine, and before the first start. */
function checkDisk({ place, dataName: name, settings }: CheckOptions): CheckRow[] {
  const free = readFreeBytes(place);
  if (free === null) return [];
  const { free_disk_bytes } = settings.limits;
  const [room, bound] = [writeMegabytes(free), writeMegabytes(free_disk_bytes)];
  const says = `${room} free; nothing new is accepted below ${bound} (limits.free_disk_bytes)`;
  return [{ status: free < free_disk_bytes ? "fail" : "ok", what: "disk", name, says }];
}

/** Skipped without backups on a timer. */
async function checkBackups({ settings, checkBackups }: CheckOptions): Promise<CheckRow[]> {
  const { every_ms, to } = settings.backup;
  if (every_ms === 0) return [];
  const row = { what: "backups", name: to === "" ? "backups" : to } as const;
  try {
    await checkBackups();
    return [{ ...row, status: "ok", says: `one is made every ${formatDuration(every_ms)}` }];
  } catch (failure) {
    return [{ ...row, status: "fail", says: (failure as Error).message }];
  }
}

const writeMegabytes = (bytes: number) => `${Math.floor(bytes / 1_048_576)} MB`;

function checkSecretsKey(name: string, sealed_with: string | null): CheckRow {
  const row = (status: CheckRow["status"], says: string): CheckRow => {
    return { status, what: "secrets key", name, says };
  };
  const warnings: string[] = [];
  try {
    const keys = readKeyFile(name, (message) => warnings.push(message));
    if (sealed_with !== null && !keys?.some(({ id }) => id === sealed_with)) {
      const what = keys ? "it is another than that of the stored secrets" : "it is missing";
      return row("fail", `${what}: put back the file with which they were sealed`);
    }
    if (keys?.length === 2) {
      const says = "it holds two keys: `wadi secrets rotate` ends a rotation that was cut off";
      return row("warn", says);
    }
    if (warnings.length > 0) return row("warn", warnings[0]!);
    return row("ok", keys ? "it can be read" : "there is none yet: the next start makes it");
  } catch (failure) {
    const what = `it cannot be used (${explainKeyFile(failure)})`;
    if (sealed_with !== null) return row("fail", `${what}, and the stored secrets need it`);
    return row("warn", `${what}: hashes in the log hold for one run`);
  }
}

function listChecks(
  model: ModelSettings,
  { clock, ids }: CheckOptions,
  egress: TrustedEgress,
): (() => Promise<CheckRow>)[] {
  const { id, upstream } = model;
  if (upstream.kind === "stub") {
    return [async () => ({ status: "ok", what: "model", name: id, says: "the model inside" })];
  }
  const { start } = upstream;
  const result: ReplicaResult = {
    model: upstream.model,
    route: nameHealth(upstream),
    isWatched: isWatched(model),
  };
  return upstream.urls.map((url) => async () => {
    // A check starts nothing, and a sleeping server is fine.
    if (start && !(await isServerUp(start, { egress, clock }))) {
      const says = "its unit does not run; the first request starts it";
      return { status: "ok", what: "model", name: id, url, says };
    }
    const sight = await checkReplica({ upstream, url, egress, clock, ids });
    const { status, says } = classifyReplica(sight, result);
    return { status, what: "model", name: id, url, says, sight };
  });
}

const CAPABILITIES = ["tools", "streaming", "reasoning", "vision", "structured_outputs"] as const;

/** Finds what the model's first server can do and its settings leave out. */
async function checkCapabilities(
  { id, upstream, capabilities }: ModelSettings,
  { clock }: CheckOptions,
  egress: TrustedEgress,
): Promise<CheckRow | null> {
  const missing = CAPABILITIES.filter((name) => !capabilities.includes(name));
  if (upstream.kind === "stub" || missing.length === 0) return null;
  const { start, model, api_key, headers } = upstream;
  const url = upstream.urls[0]!;
  if (start && !(await isServerUp(start, { egress, clock }))) return null;
  const probed = await probeServer({ url, model, api_key, headers, egress, clock });
  const also = missing.filter((name) => probed.ok && probed.report[name] === true);
  if (also.length === 0) return null;
  const says = `its server also does ${also.join(", ")}, which \`capabilities\` lacks`;
  return { status: "warn", what: "model", name: id, url, says };
}

interface ReplicaResult {
  model: string;
  route: string;
  /** The gateway does not call it while it is unhealthy. */
  isWatched: boolean;
}

function classifyReplica(
  sight: ReplicaCheck,
  { model, route, isWatched }: ReplicaResult,
): Pick<CheckRow, "status" | "says"> {
  const { reason, answered_ms, is_listed, is_healthy, counts_tokens } = sight;
  const doubts = [
    ...(is_listed === false ? [`its list does not name "${model}"`] : []),
    ...(is_healthy === false ? [`its ${route} says that it is not well`] : []),
  ];
  if (reason !== null) return { status: "fail", says: [reason, ...doubts].join(", ") };
  const seen = [
    `one token in ${answered_ms} ms`,
    ...doubts,
    ...(is_listed === null ? ["lists no models"] : is_listed ? ["listed"] : []),
    ...(is_healthy === null ? ["no health route"] : is_healthy ? ["healthy"] : []),
    counts_tokens ? "counts tokens" : "counts no tokens",
  ];
  if (isWatched && is_healthy === false) return { status: "fail", says: seen.join(", ") };
  return { status: doubts.length > 0 ? "warn" : "ok", says: seen.join(", ") };
}

/** A wrong clock ends keys early or late. */
function checkClock(servers: readonly CheckRow[]): CheckRow[] {
  const known = servers.filter(({ sight }) => typeof sight?.aheadMs === "number");
  if (known.length === 0) return [];
  const apart = known.filter(({ sight }) => Math.abs(sight!.aheadMs!) > APART_MS_MAX);
  if (apart.length === 0) {
    const says = "agrees with the servers' within a minute";
    return [{ status: "ok", what: "clock", name: "ours", says }];
  }
  const says = [...new Set(apart.map(({ url, sight }) => sayApart(url!, sight!.aheadMs!)))];
  return [{ status: "warn", what: "clock", name: "ours", says: says.join(", ") }];
}

function sayApart(url: string, aheadMs: number): string {
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  const apart = formatDuration(minutes * 60_000);
  return `${new URL(url).host} is ${apart} ${aheadMs > 0 ? "ahead of" : "behind"} it`;
}

async function mapBounded<T, R>(
  items: readonly T[],
  atOnceMax: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const walk = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, walk));
  return results;
}
