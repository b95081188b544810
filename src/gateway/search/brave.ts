// Brave's web search API: its limits and its errors.
import type { UpstreamError } from "../../models/index.ts";
import { clampRetryAfter } from "../../net/index.ts";
import { parseObject, readList, readObject } from "../../platform/json.ts";
import type { SearchSettings } from "../../settings/index.ts";
import type { ServerReply } from "../metered/client.ts";
import { classifyStatus, type EngineKind, engineError, readHitList } from "./engine.ts";

const DEFAULT_URL = "https://api.search.brave.com/res/v1";
/** Maximum words of a query; Brave's limit of 400 characters is ours, too. */
const WORDS_MAX = 50;

const LANGUAGES =
  "ar eu bn bg ca hr cs da nl en et fi fr gl de el gu he hi hu is it kn ko lv lt ms ml mr nb pl " +
  "pa ro ru sr sk sl es sv ta te th tr uk vi";
const LANGUAGES_OTHERWISE = { ja: "jp", zh: "zh-hans", pt: "pt-br", no: "nb" };
const NAMES: ReadonlyMap<string, string> = new Map([
  ...LANGUAGES.split(" ").map((name): [string, string] => [name, name]),
  ...Object.entries(LANGUAGES_OTHERWISE),
]);

const REASONS: Readonly<Record<number, string>> = {
  401: "it refuses our key",
  402: "our plan with it is used up",
  403: "it refuses our key, or our plan with it has no web search",
  404: "it knows no web search at this address",
  422: "it refuses the request",
};

export function createBrave({ url, api_key }: SearchSettings): EngineKind {
  return {
    url: url || DEFAULT_URL,
    path: "/web/search",
    headers: api_key === null ? {} : { "x-subscription-token": api_key },
    health: null,
    writeQuery({ query, max_results, language }) {
      const search_lang = language === null ? undefined : NAMES.get(language);
      return {
        q: cutWords(query),
        count: String(max_results),
        // Brave refuses unknown languages.
        ...(search_lang !== undefined && { search_lang }),
        text_decorations: "false",
        result_filter: "web",
      };
    },
    readHits({ web }) {
      // A part without hits is left out.
      if (web === undefined || web === null) return [];
      const hits = readHitList(readObject(web).results, "description");
      return hits ?? engineError("upstream_error", "its reply has no results", 200);
    },
    classifyError,
    readPause: readWindows,
  };
}

/** Brave answers a wrong key and a wrong request with 422; the code or the field differs. */
function classifyError({ status, text }: ServerReply): UpstreamError {
  if (status !== 422) return classifyStatus(status, REASONS);
  const { code, meta } = readObject(parseObject(text)?.error);
  const isKeyRefused =
    /^SUBSCRIPTION_/.test(String(code)) || namesHeader(meta, "x-subscription-token");
  return isKeyRefused
    ? engineError("model_unavailable", REASONS[401]!, status)
    : classifyStatus(status, REASONS);
}

function namesHeader(meta: unknown, name: string): boolean {
  return readList(readObject(meta).errors).some((one) =>
    readList(readObject(one).loc).includes(name),
  );
}

function cutWords(query: string): string {
  const words = query.trim().split(/\s+/);
  return words.length <= WORDS_MAX ? query : words.slice(0, WORDS_MAX).join(" ");
}

/**
 * Brave counts in several windows, and each header lists them: the limits, what is left, and the
 * seconds until each is full again ("1, 15000" · "0, 12" · "1, 1419704"). Returns the longest wait
 * for a window with nothing left. A limit of 0 is none.
 */
function readWindows(header: ServerReply["header"]): number | null {
  const limits = readNumbers(header("x-ratelimit-limit"));
  const left = readNumbers(header("x-ratelimit-remaining"));
  let longest: number | null = null;
  for (const [index, seconds] of readNumbers(header("x-ratelimit-reset")).entries()) {
    if (limits[index] === 0 || left[index] !== 0) continue;
    const waitMs = clampRetryAfter(seconds * 1_000);
    if (waitMs !== null) longest = Math.max(longest ?? 0, waitMs);
  }
  return longest;
}

function readNumbers(text: string | null): number[] {
  if (text === null) return [];
  return text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
}
