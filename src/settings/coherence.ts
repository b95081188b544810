// Rules between settings, and the values that keys and addresses outside the file give them.
import { readCertificate } from "./certificate.ts";
import { ADDRESS, FORMATS } from "./formats.ts";
import { findNearest } from "./nearest.ts";
import { type Environment, type Problems, quote } from "./problem.ts";
import {
  type BackupSettings,
  listAliases,
  type ModelSettings,
  type OpenaiUpstreamSettings,
  type Settings,
  type StartSettings,
  type TelemetrySettings,
} from "./settings.ts";
import { joinPath } from "./toml.ts";

export type ReadText = (path: string) => string;

export interface SettingsContext {
  env: Environment;
  readText: ReadText;
  problems: Problems;
  /** Requires keys of model servers and the metrics token, which otherwise stay null. */
  wantsApiKeys: boolean;
}

export type Mutable<T> = { -readonly [F in keyof T]: T[F] };

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_LINE = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e]*)$/;
const API_KEY = /^[\x21-\x7e]+$/;
/** Headers of the connection, and those that the gateway writes. */
const RESERVED_HEADERS = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "transfer-encoding",
  "x-request-id",
]);
/** Fields that the gateway writes: a setting of that name would be lost or break the request. */
const RESERVED_BODY_FIELDS = [
  "max_tokens",
  "messages",
  "model",
  "stream",
  "stream_options",
  "tool_choice",
  "tools",
];

const HEALTH_EVERY_MIN_MS = 1_000;
const BACKUP_EVERY_MIN_MS = 60_000;
const BUCKET = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/(?!.*\.\.)[\w./-]*)?$/;
/** Minimum retention of runs: the daily limit and idempotency keys depend on them. */
const RUNS_KEPT_MIN_MS = 24 * 3_600_000;

/** Completes settings that are valid one by one; adds what does not fit to `problems`. */
export function completeSettings(settings: Settings, context: SettingsContext): void {
  const { problems } = context;
  const ids = settings.models.map((model) => model.id);
  completeServer(settings.server, context);
  completeMetrics(settings.server, context);
  completeTelemetry(settings.telemetry, context);
  completeBackup(settings.backup, context);
  completeDefaultModel(settings.service, ids, problems);
  const { runs } = settings.retention;
  if (runs !== null && runs < RUNS_KEPT_MIN_MS) {
    problems.add("retention.runs", 'must be "forever" or at least 24h');
  }
  for (const [index, model] of settings.models.entries()) {
    const path = `models[${index}]`;
    if (ids.indexOf(model.id) < index) problems.add(`${path}.id`, "is the id of an earlier model");
    // The alias always means the default model (gateway.does.4), so no other may carry its name.
    if (listAliases(settings.service.alias).includes(model.id)) {
      problems.add(`${path}.id`, `must not be the alias of the default model, "${model.id}"`);
    }
    completeModel(model, path, problems);
    if (model.upstream.kind === "openai") {
      completeUpstream(model.upstream, model.id, `${path}.upstream`, context);
    }
  }
  validateStarts(settings.models, problems);
}

function completeServer(server: Mutable<Settings["server"]>, context: SettingsContext) {
  const { env, problems } = context;
  server.certificate = readCertificate(server.tls, context);
  // Paths are appended to the address.
  server.public_url = server.public_url.replace(/\/+$/, "");
  completeAddress(server, "database", "postgres://…", { env, problems });
  completeAddress(server, "database_pooler", "postgres://…", { env, problems });
  completeAddress(server, "valkey", "redis://…", { env, problems });
  if (server.database !== "") return;
  for (const name of ["database_pooler", "valkey"] as const) {
    if (server[name] === "") continue;
    problems.add(`server.${name}`, "needs a PostgreSQL server in server.database");
  }
}

/** Sets the address that a variable holds: it may have a password. */
function completeAddress(
  server: Mutable<Settings["server"]>,
  name: "database" | "database_pooler" | "valkey",
  example: string,
  { env, problems }: Pick<SettingsContext, "env" | "problems">,
) {
  const variable = server[`${name}_env`];
  if (variable === "") return;
  const path = `server.${name}_env`;
  const address = findVariable(env, variable);
  if (server[name] !== "") problems.add(path, `cannot stand beside server.${name}`);
  else if (!address) problems.add(path, "names an environment variable that is not set");
  else {
    try {
      server[name] = FORMATS[name === "valkey" ? name : "database"](address);
    } catch {
      problems.add(path, `names an environment variable that holds no "${example}" address`);
    }
  }
}

function completeMetrics(server: Mutable<Settings["server"]>, context: SettingsContext) {
  const { env, problems, wantsApiKeys } = context;
  server.metrics_token = null;
  if (server.metrics_token_env === "" || !wantsApiKeys) return;
  const token = findVariable(env, server.metrics_token_env);
  const path = "server.metrics_token_env";
  if (!token) problems.add(path, "names an environment variable that is not set");
  else if (!API_KEY.test(token)) problems.add(path, "names a variable that holds no word of ASCII");
  else server.metrics_token = token;
}

function completeTelemetry(
  telemetry: Mutable<TelemetrySettings>,
  { readText, problems, wantsApiKeys }: SettingsContext,
) {
  telemetry.headers = {};
  const { headers_file } = telemetry;
  if (headers_file === "" || !wantsApiKeys) return;
  const path = "telemetry.headers_file";
  let text: string;
  try {
    text = readText(headers_file);
  } catch {
    problems.add(path, "names a file that cannot be read");
    return;
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => HEADER_LINE.exec(line.trim()));
  // The file holds secrets, so the message quotes none of it.
  const at = pairs.findIndex((pair) => !pair || RESERVED_HEADERS.has(pair[1]!.toLowerCase()));
  if (at !== -1)
    problems.add(path, `names a file whose line ${at + 1} is no header for a collector`);
  else telemetry.headers = Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]));
}

const NO_DESTINATION =
  'must be a folder, or "s3://BUCKET/PREFIX": the bucket has 3 to 63 lower-case letters, digits, ' +
  '"." and "-", the prefix letters, digits, "_", ".", "-" and "/"';

function completeBackup(backup: Mutable<BackupSettings>, context: SettingsContext) {
  const { env, readText, problems, wantsApiKeys } = context;
  const { every_ms, to, access_key_id, secret_access_key_env, secret_access_key_file } = backup;
  backup.secret_access_key = null;
  const isEarly = every_ms > 0 && every_ms < BACKUP_EVERY_MIN_MS;
  problems.addEach("backup", [[isEarly, "every", "must be 0s or at least 1m"]]);
  if (!ADDRESS.test(to)) return;
  const hasVariable = secret_access_key_env !== "";
  const hasOne = hasVariable !== (secret_access_key_file !== "");
  problems.addEach("backup", [
    [!BUCKET.test(to), "to", NO_DESTINATION],
    [access_key_id === "", "access_key_id", "is needed for a bucket"],
    [!hasOne, "secret_access_key_env", "or secret_access_key_file, one of them, must be set"],
  ]);
  if (!wantsApiKeys || !hasOne) return;
  const path = hasVariable ? "backup.secret_access_key_env" : "backup.secret_access_key_file";
  try {
    const secret = hasVariable
      ? findVariable(env, secret_access_key_env)
      : readText(secret_access_key_file).trim();
    if (secret && API_KEY.test(secret)) backup.secret_access_key = secret;
    else problems.add(path, "names a place that holds no secret in one line of ASCII");
  } catch {
    problems.add(path, "names a file that cannot be read");
  }
}

function completeDefaultModel(
  service: Mutable<Settings["service"]>,
  ids: readonly string[],
  problems: Problems,
) {
  if (service.default_model === "") service.default_model = ids[0] ?? "";
  if (ids.includes(service.default_model)) return;
  const nearest = findNearest(service.default_model, ids);
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  const message = `must be the id of a model, but is ${quote(service.default_model)}${hint}`;
  problems.add("service.default_model", message);
}

function completeModel(model: Mutable<ModelSettings>, path: string, problems: Problems) {
  model.default_max_tokens = Math.min(model.default_max_tokens, model.max_output_tokens);
  if (model.context_window === null || model.default_max_tokens < model.context_window) return;
  // Otherwise no request without max_tokens would fit.
  problems.add(`${path}.default_max_tokens`, "must be less than context_window");
}

function completeUpstream(
  upstream: Mutable<OpenaiUpstreamSettings>,
  id: string,
  path: string,
  context: SettingsContext,
) {
  const { problems } = context;
  if (upstream.model === "") upstream.model = id;
  validateHealthEvery(upstream.health_every_ms, path, problems);
  upstream.api_key = findApiKey(upstream, path, context);
  validateHeaders(upstream.headers, path, problems);
  for (const table of ["reasoning_on", "reasoning_off"] as const) {
    const name = RESERVED_BODY_FIELDS.find((one) => Object.hasOwn(upstream[table], one));
    if (name) problems.add(joinPath(`${path}.${table}`, name), "is set by the gateway itself");
  }
}

export function validateHealthEvery(everyMs: number, path: string, problems: Problems): void {
  if (everyMs === 0 || everyMs >= HEALTH_EVERY_MIN_MS) return;
  problems.add(`${path}.health_every`, "must be 0s or at least 1s");
}

export function validateHeaders(
  headers: Readonly<Record<string, string>>,
  path: string,
  problems: Problems,
): void {
  for (const name of Object.keys(headers)) {
    const message = explainHeader(name.toLowerCase());
    if (message) problems.add(joinPath(`${path}.headers`, name), message);
  }
}

function explainHeader(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "is no name of a header";
  if (name === "authorization") return "cannot be set; use api_key_env or api_key_file";
  return RESERVED_HEADERS.has(name) ? "is set by the gateway itself" : undefined;
}

export function findApiKey(
  { api_key_env, api_key_file }: Pick<OpenaiUpstreamSettings, "api_key_env" | "api_key_file">,
  path: string,
  { env, readText, problems, wantsApiKeys }: SettingsContext,
): string | null {
  if (api_key_env === "" && api_key_file === "") return null;
  const refuse = (message: string) => {
    const field = api_key_env === "" ? "api_key_file" : "api_key_env";
    problems.add(`${path}.${field}`, message);
    return null;
  };
  if (api_key_env !== "" && api_key_file !== "") return refuse("cannot stand beside api_key_file");
  if (!wantsApiKeys) return null;
  let key: string | undefined;
  if (api_key_env !== "") {
    key = findVariable(env, api_key_env);
    if (!key) return refuse("names an environment variable that is not set");
  } else {
    try {
      key = readText(api_key_file).trim();
    } catch {
      return refuse("names a file that cannot be read");
    }
  }
  // The key goes into a header; the message must not show it.
  return API_KEY.test(key) ? key : refuse("names a place that holds no key in one line of ASCII");
}

/** Ignores inherited names such as `constructor`. */
function findVariable(env: Environment, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

/** Models whose servers are started in the same way must agree on all of it. */
function validateStarts(models: readonly ModelSettings[], problems: Problems): void {
  const known = new Map<string, { path: string; start: StartSettings }>();
  for (const [index, { upstream }] of models.entries()) {
    if (upstream.kind !== "openai" || !upstream.start) continue;
    const { start } = upstream;
    const path = `models[${index}].upstream.start`;
    validateStart(start, path, problems);
    const name = nameUnit(start);
    const other = known.get(name);
    if (!other) known.set(name, { path, start });
    else if (!Bun.deepEquals(other.start, start)) {
      problems.add(path, `is the same unit as ${other.path}, so all of it must be the same`);
    }
  }
}

/** Names a server by how it is started and where it is found; models of one name share it. */
export function nameUnit({ request, command, health }: StartSettings): string {
  return JSON.stringify([request, command, health]);
}

function validateStart(start: StartSettings, path: string, problems: Problems): void {
  const { request, command, stop, stop_command, idle_stop_ms } = start;
  const isStarted = request !== "" || command.length > 0;
  const isStopped = stop !== "" || stop_command.length > 0;
  const stopField = stop === "" ? "stop_command" : "stop";
  const unstartable = "needs request or command: nothing would start it again";
  problems.addEach(path, [
    [request !== "" && command.length > 0, "command", "cannot stand beside request"],
    [stop !== "" && stop_command.length > 0, "stop_command", "cannot stand beside stop"],
    [isStopped && !isStarted, stopField, unstartable],
    [idle_stop_ms > 0 && !isStopped, "idle_stop", "needs stop or stop_command"],
  ]);
}
