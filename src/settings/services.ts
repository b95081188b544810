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
const STUB_ASKS_NONE = 'must be empty with kind "stub", which asks no server';

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
  const hasUrls = urls.length > 0;
  problems.addEach("embeddings", [
    [isNamed && !hasUrls, "urls", `must not be empty with kind "${kind}"`],
    [isAuto(kind) && hasUrls, "kind", 'must be "openai" or "tei" where urls are named'],
    [kind === "stub" && hasUrls, "urls", STUB_ASKS_NONE],
  ]);
  validateHealthEvery(health_every_ms, "embeddings", problems);
  validateHeaders(headers, "embeddings", problems);
  embeddings.kind = chooseKind(kind, isNamed, context);
  embeddings.api_key = findKey(embeddings, "embeddings", context);
}

function completeSearch(search: Mutable<SearchSettings>, context: ServiceContext) {
  const { problems } = context;
  const { kind, url, folder, headers } = search;
  const isNamed = kind === "searxng" || kind === "brave";
  const elsewhere = `must be empty with kind "${kind}", which looks elsewhere`;
  problems.addEach("search", [
    [kind === "searxng" && url === "", "url", 'must not be empty with kind "searxng"'],
    [isAuto(kind) && url !== "", "kind", 'must be "searxng" or "brave" where a url is named'],
    [isAuto(kind) && folder !== "", "kind", 'must be "stub" where a folder is named'],
    [isNamed && folder !== "", "folder", elsewhere],
    [kind === "stub" && url !== "", "url", STUB_ASKS_NONE],
  ]);
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
