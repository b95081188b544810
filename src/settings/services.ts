// What embeddings, search and thinking must be, and what stands in where nothing is named.
import {
  findApiKey,
  HEALTH_EVERY_MIN_MS,
  judgeHeaders,
  type Mutable,
  type SettingsContext,
} from "./coherence.ts";
import type { EmbeddingsSettings, SearchSettings, Settings } from "./settings.ts";

/**
 * `unnamed`: the stub answers where nothing is named · `none`: nobody does; a gateway in front of
 * real models must not answer with made-up vectors · `offline`: and what is named cannot be
 * reached, so that it is off.
 */
export type ServiceStandIn = "unnamed" | "none" | "offline";

interface Around extends SettingsContext {
  stand_in: ServiceStandIn;
}

const ATTEMPTS_MAX = 9;

/** Completes them; what does not fit goes to `problems`. */
export function completeServices(settings: Settings, around: Around): void {
  const { problems } = around;
  const { attempts, attempts_more } = settings.think;
  if (attempts + attempts_more > ATTEMPTS_MAX) {
    // Both may stand there, or one of them by default: the sum is what people have to see.
    const most = `at most ${ATTEMPTS_MAX - attempts} beside attempts = ${attempts}`;
    problems.add("think.attempts_more", `must be ${most}: ${ATTEMPTS_MAX} in all`);
  }
  completeEmbeddings(settings.embeddings, around);
  completeSearch(settings.search, around);
}

function completeEmbeddings(embeddings: Mutable<EmbeddingsSettings>, around: Around): void {
  const { problems } = around;
  const { kind, urls, headers, health_every_ms } = embeddings;
  const isNamed = kind === "openai" || kind === "tei";
  if (isNamed && urls.length === 0) {
    problems.add("embeddings.urls", `must not be empty with kind "${kind}"`);
  }
  if (urls.length > 0 && isAuto(kind)) {
    problems.add("embeddings.kind", 'must be "openai" or "tei" where urls are named');
  }
  if (urls.length > 0 && kind === "stub") {
    problems.add("embeddings.urls", 'must be empty with kind "stub", which asks nobody');
  }
  if (health_every_ms > 0 && health_every_ms < HEALTH_EVERY_MIN_MS) {
    problems.add("embeddings.health_every", "must be 0s or at least 1s");
  }
  judgeHeaders(headers, "embeddings", problems);
  embeddings.kind = chooseKind(kind, isNamed, around);
  embeddings.api_key = findApiKey(embeddings, "embeddings", needKey(embeddings.kind, around));
}

function completeSearch(search: Mutable<SearchSettings>, around: Around): void {
  const { problems } = around;
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
    problems.add("search.url", 'must be empty with kind "stub", which asks nobody');
  }
  judgeHeaders(headers, "search", problems);
  search.kind = chooseKind(kind, isNamed, around);
  search.api_key = findApiKey(search, "search", needKey(search.kind, around));
  const hasKey = search.api_key_env !== "" || search.api_key_file !== "";
  if (kind === "brave" && !hasKey) problems.add("search.api_key_env", "is required by brave");
}

/** What asks nobody needs no key at hand; what is written down of it has to hold all the same. */
function needKey(kind: string, around: Around): SettingsContext {
  const asks = kind !== "off" && kind !== "stub";
  return { ...around, wants_api_keys: around.wants_api_keys && asks };
}

/** What was read may still say `auto`, of which the completed settings know nothing. */
function isAuto(kind: string): boolean {
  return kind === "auto";
}

function chooseKind<K extends string>(
  kind: K,
  isNamed: boolean,
  { stand_in }: Around,
): K | "stub" | "off" {
  if (isAuto(kind)) return stand_in === "none" ? "off" : "stub";
  return isNamed && stand_in === "offline" ? "off" : kind;
}
