// Rules of embeddings, search and thinking, and the stub that stands in for unnamed servers.
import {
  findApiKey,
  type Mutable,
  type SettingsContext,
  validateHeaders,
  validateHealthEvery,
} from "./coherence.ts";
import type { EmbeddingsSettings, SearchSettings, Settings } from "./settings.ts";

/**
 * `unnamed`: the stub answers where no server is named · `none`: nothing answers there; a gateway
 * to real models must not make up vectors · `offline`: named servers are off as well.
 */
export type ServiceStandIn = "unnamed" | "none" | "offline";

interface ServiceContext extends SettingsContext {
  standIn: ServiceStandIn;
}

const ATTEMPTS_MAX = 9;

export function completeServices(settings: Settings, context: ServiceContext): void {
  const { attempts, attempts_more } = settings.think;
  if (attempts + attempts_more > ATTEMPTS_MAX) {
    // Either may be a default, so the message shows the sum.
    const most = `at most ${ATTEMPTS_MAX - attempts} beside attempts = ${attempts}`;
    context.problems.add("think.attempts_more", `must be ${most}: ${ATTEMPTS_MAX} in all`);
  }
  completeEmbeddings(settings.embeddings, context);
  completeSearch(settings.search, context);
}

function completeEmbeddings(embeddings: Mutable<EmbeddingsSettings>, context: ServiceContext) {
  const { problems } = context;
  const { kind, urls, headers, health_every_ms } = embeddings;
  const isNamed = kind === "openai" || kind === "tei";
  if (isNamed && urls.length === 0) {
    problems.add("embeddings.urls", `must not be empty with kind "${kind}"`);
  }
  if (urls.length > 0 && isAuto(kind)) {
    problems.add("embeddings.kind", 'must be "openai" or "tei" where urls are named');
  }
  if (urls.length > 0 && kind === "stub") {
    problems.add("embeddings.urls", 'must be empty with kind "stub", which asks no server');
  }
  validateHealthEvery(health_every_ms, "embeddings", problems);
  validateHeaders(headers, "embeddings", problems);
  embeddings.kind = chooseKind(kind, isNamed, context);
  embeddings.api_key = findKey(embeddings, "embeddings", context);
}

function completeSearch(search: Mutable<SearchSettings>, context: ServiceContext) {
  const { problems } = context;
  const { kind, url, folder, headers } = search;
  const isNamed = kind === "searxng" || kind === "brave";
  if (kind === "searxng" && url === "") {
    problems.add("search.url", 'must not be empty with kind "searxng"');
  }
  if (isAuto(kind) && url !== "") {
    problems.add("search.kind", 'must be "searxng" or "brave" where a url is named');
  }
  if (isAuto(kind) && folder !== "") {
    problems.add("search.kind", 'must be "stub" where a folder is named');
  }
  if (isNamed && folder !== "") {
    problems.add("search.folder", `must be empty with kind "${kind}", which looks elsewhere`);
  }
  if (kind === "stub" && url !== "") {
    problems.add("search.url", 'must be empty with kind "stub", which asks no server');
  }
  validateHeaders(headers, "search", problems);
  search.kind = chooseKind(kind, isNamed, context);
  search.api_key = findKey(search, "search", context);
  const hasKey = search.api_key_env !== "" || search.api_key_file !== "";
  if (kind === "brave" && !hasKey) problems.add("search.api_key_env", "is required by brave");
}

/** A service that asks no server needs no key at hand, but a valid name of one. */
function findKey(
  service: EmbeddingsSettings | SearchSettings,
  path: string,
  context: ServiceContext,
): string | null {
  const asksServer = service.kind !== "off" && service.kind !== "stub";
  return findApiKey(service, path, {
    ...context,
    wantsApiKeys: context.wantsApiKeys && asksServer,
  });
}

function isAuto(kind: string): boolean {
  return kind === "auto";
}

function chooseKind<K extends string>(
  kind: K,
  isNamed: boolean,
  { standIn }: ServiceContext,
): K | "stub" | "off" {
  if (isAuto(kind)) return standIn === "none" ? "off" : "stub";
  return isNamed && standIn === "offline" ? "off" : kind;
}
