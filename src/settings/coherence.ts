// What settings must be to each other, and what they name outside: keys, the database's address.
import { FORMATS } from "./formats.ts";
import { joinPath } from "./key-lines.ts";
import { findNearest } from "./nearest.ts";
import type { Environment } from "./overrides.ts";
import { type Problems, quote } from "./problem.ts";
import {
  listAliases,
  type ModelSettings,
  type OpenaiUpstreamSettings,
  type Settings,
} from "./settings.ts";
import { judgeStarts } from "./starts.ts";

/** The text of a file; throws where it cannot be read. */
export type ReadText = (path: string) => string;

export interface SettingsContext {
  env: Environment;
  readText: ReadText;
  problems: Problems;
  /** False: keys of model servers and the metrics token stay null, and need not be at hand. */
  wants_api_keys: boolean;
}

/** Still being put together; what leaves this folder is frozen. */
export type Mutable<T> = { -readonly [F in keyof T]: T[F] };

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const API_KEY = /^[\x21-\x7e]+$/;
/** These belong to the connection or to the request that the gateway writes. */
const HEADERS_OF_OURS = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "transfer-encoding",
  "x-request-id",
]);

/** More often would be a load of its own. */
export const HEALTH_EVERY_MIN_MS = 1_000;

/** What the request itself says: a setting of that name would be lost or would break it. */
const BODY_FIELDS_OF_OURS = new Set([
  "max_tokens",
  "messages",
  "model",
  "stream",
  "stream_options",
  "tool_choice",
  "tools",
]);

/** Completes settings that are right one by one; what does not fit goes to `problems`. */
export function completeSettings(settings: Settings, surroundings: SettingsContext) {
  const { problems } = surroundings;
  const ids = settings.models.map((model) => model.id);
  completeServer(settings.server, surroundings);
  completeMetrics(settings.server, surroundings);
  completeService(settings.service, ids, problems);
  judgeRetention(settings.retention, problems);
  for (const [index, model] of settings.models.entries()) {
    const path = `models[${index}]`;
    if (ids.indexOf(model.id) < index) problems.add(`${path}.id`, "is the id of an earlier model");
    // The alias always means the default model (gateway.does.4), so no other may carry its name.
    if (listAliases(settings.service.alias).includes(model.id)) {
      problems.add(`${path}.id`, `must not be the alias of the default model, "${model.id}"`);
    }
    completeModel(model, path, problems);
    if (model.upstream.kind === "openai") {
      completeUpstream(model.upstream, model.id, `${path}.upstream`, surroundings);
    }
  }
  judgeStarts(settings.models, problems);
}

/** The runs of a day are what its limit and repeated requests are judged by. */
const RUNS_KEPT_LEAST_MS = 24 * 3_600_000;

function judgeRetention({ runs }: Settings["retention"], problems: Problems) {
  if (runs !== null && runs < RUNS_KEPT_LEAST_MS) {
    problems.add("retention.runs", 'must be "forever" or at least 24h');
  }
}

function completeServer(server: Mutable<Settings["server"]>, { env, problems }: SettingsContext) {
  // Paths are put behind it.
  server.public_url = server.public_url.replace(/\/+$/, "");
  if (server.database_env === "") return;
  const path = "server.database_env";
  const address = findVariable(env, server.database_env);
  if (server.database !== "") problems.add(path, "cannot stand beside server.database");
  else if (!address) problems.add(path, "names an environment variable that is not set");
  else {
    try {
      server.database = FORMATS.database(address);
    } catch {
      problems.add(path, 'names an environment variable that holds no "postgres://…" address');
    }
  }
}

function completeMetrics(server: Mutable<Settings["server"]>, surroundings: SettingsContext) {
  const { env, problems, wants_api_keys } = surroundings;
  server.metrics_token = null;
  if (server.metrics_token_env === "" || !wants_api_keys) return;
  const token = findVariable(env, server.metrics_token_env);
  const path = "server.metrics_token_env";
  if (!token) problems.add(path, "names an environment variable that is not set");
  else if (!API_KEY.test(token)) problems.add(path, "names a variable that holds no word of ASCII");
  else server.metrics_token = token;
}

function completeService(service: Mutable<Settings["service"]>, ids: string[], problems: Problems) {
  if (service.default_model === "") service.default_model = ids[0] ?? "";
  if (ids.includes(service.default_model)) return;
  const nearest = findNearest(service.default_model, ids);
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  const says = `must be the id of a model, but is ${quote(service.default_model)}${hint}`;
  problems.add("service.default_model", says);
}

function completeModel(model: Mutable<ModelSettings>, path: string, problems: Problems) {
  model.default_max_tokens = Math.min(model.default_max_tokens, model.max_output_tokens);
  if (model.context_window === null || model.default_max_tokens < model.context_window) return;
  // No request without max_tokens could ever fit.
  problems.add(`${path}.default_max_tokens`, "must be less than context_window");
}

function completeUpstream(
  upstream: Mutable<OpenaiUpstreamSettings>,
  id: string,
  path: string,
  surroundings: SettingsContext,
) {
  const { problems } = surroundings;
  if (upstream.model === "") upstream.model = id;
  const { health_every_ms } = upstream;
  if (health_every_ms > 0 && health_every_ms < HEALTH_EVERY_MIN_MS) {
    problems.add(`${path}.health_every`, "must be 0s or at least 1s");
  }
  upstream.api_key = findApiKey(upstream, path, surroundings);
  judgeHeaders(upstream.headers, path, problems);
  for (const table of ["reasoning_on", "reasoning_off"] as const) {
    const name = Object.keys(upstream[table]).find((one) => BODY_FIELDS_OF_OURS.has(one));
    if (name) problems.add(joinPath(`${path}.${table}`, name), "is set by the gateway itself");
  }
}

/** Those of a table at `path`. */
export function judgeHeaders(
  headers: Readonly<Record<string, string>>,
  path: string,
  problems: Problems,
): void {
  for (const name of Object.keys(headers)) {
    const says = judgeHeader(name.toLowerCase());
    if (says) problems.add(joinPath(`${path}.headers`, name), says);
  }
}

/** What the one of both that is named holds; null: none is, or it is wrong. */
export function findApiKey(
  { api_key_env, api_key_file }: Pick<OpenaiUpstreamSettings, "api_key_env" | "api_key_file">,
  path: string,
  { env, readText, problems, wants_api_keys }: SettingsContext,
): string | null {
  const field = api_key_env === "" ? `${path}.api_key_file` : `${path}.api_key_env`;
  const refuse = (says: string) => {
    problems.add(field, says);
    return null;
  };
  if (api_key_env === "" && api_key_file === "") return null;
  if (api_key_env !== "" && api_key_file !== "") return refuse("cannot stand beside api_key_file");
  if (!wants_api_keys) return null;
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
  // It goes into a header; the message must not show it.
  return API_KEY.test(key) ? key : refuse("names a place that holds no key in one line of ASCII");
}

/** Own ones only: `constructor` is no variable, although every object has one. */
function findVariable(env: Environment, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

function judgeHeader(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "is no name of a header";
  if (name === "authorization") return "cannot be set; use api_key_env or api_key_file";
  return HEADERS_OF_OURS.has(name) ? "is set by the gateway itself" : undefined;
}
