// Asks Brave's web search API, within its limits, and says what its errors mean.
import { parseObject, type UpstreamError } from "../../models/index.ts";
import { clampRetryAfter } from "../../net/index.ts";
import type { SearchSettings } from "../../settings/index.ts";
import type { ServerReply } from "../metered/client.ts";
import { type EngineKind, fail, judgeStatus, readHitList } from "./engine.ts";

const URL_ITS_OWN = "https://api.search.brave.com/res/v1";
/** A longer query is refused; 400 characters are ours too. */
const WORDS_MAX = 50;

/** Those that it names as the standard does, and those that it has other names for. */
const LANGUAGES =
  "ar eu bn bg ca hr cs da nl en et fi fr gl de el gu he hi hu is it kn ko lv lt ms ml mr nb pl " +
  "pa ro ru sr sk sl es sv ta te th tr uk vi";
const LANGUAGES_OTHERWISE = { ja: "jp", zh: "zh-hans", pt: "pt-br", no: "nb" };
const NAMES: ReadonlyMap<string, string> = new Map([
  ...LANGUAGES.split(" ").map((name): [string, string] => [name, name]),
  ...Object.entries(LANGUAGES_OTHERWISE),
]);

const WHYS: Readonly<Record<number, string>> = {
  401: "it refuses our key",
  402: "our plan with it is used up",
  403: "it refuses our key, or our plan with it has no web search",
  404: "it knows no web search at this address",
  422: "it refuses the request",
};

export function createBrave({ url, api_key }: SearchSettings): EngineKind {
  return {
    url: url || URL_ITS_OWN,
    path: "/web/search",
    headers: api_key === null ? {} : { "x-subscription-token": api_key },
    health: null,
    writeQuery({ query, max_results, language }) {
      const search_lang = language === null ? undefined : NAMES.get(language);
      return {
        q: cutWords(query),
        count: String(max_results),
        // A language that it does not know is refused.
        ...(search_lang !== undefined && { search_lang }),
        text_decorations: "false",
        result_filter: "web",
      };
    },
    readHits({ web }) {
      // It leaves out what it has nothing of.
      if (web === undefined || web === null) return [];
      const hits = readHitList((web as { results?: unknown }).results, "description");
      return hits ?? fail("upstream_error", "its reply has no results", 200);
    },
    judgeError,
    readWait: readWindows,
  };
}

/** A wrong key is 422 here, as a wrong request is: its code, or the field, tells them apart. */
function judgeError({ status, text }: ServerReply): UpstreamError {
  if (status !== 422) return judgeStatus(status, WHYS);
  const error = parseObject(text)?.error as Record<string, unknown> | null | undefined;
  const isKeyRefused =
    /^SUBSCRIPTION_/.test(String(error?.code)) || namesHeader(error?.meta, "x-subscription-token");
  return isKeyRefused ? fail("model_unavailable", WHYS[401]!, status) : judgeStatus(status, WHYS);
}

/** `{errors: [{loc: ["header", "x-subscription-token"], …}]}`: it was not sent at all. */
function namesHeader(meta: unknown, name: string): boolean {
  const errors = (meta as { errors?: unknown } | null | undefined)?.errors;
  if (!Array.isArray(errors)) return false;
  return errors.some((one: { loc?: unknown } | null) => {
    const loc = one?.loc;
    return Array.isArray(loc) && loc.includes(name);
  });
}

function cutWords(query: string): string {
  const words = query.trim().split(/\s+/);
  return words.length <= WORDS_MAX ? query : words.slice(0, WORDS_MAX).join(" ");
}

/**
 * Of the windows in which it counts, each with its limit, what is left of it and the seconds
 * until it is full again ("1, 15000" · "0, 12" · "1, 1419704"): the longest of those with nothing
 * left. A limit of 0 is none: plans without a limit a month say "50, 0". null: nothing is told.
 */
function readWindows(header: ServerReply["header"]): number | null {
  const limits = readList(header("x-ratelimit-limit"));
  const left = readList(header("x-ratelimit-remaining"));
  let longest: number | null = null;
  for (const [index, seconds] of readList(header("x-ratelimit-reset")).entries()) {
    if (limits[index] === 0 || left[index] !== 0) continue;
    const wait_ms = clampRetryAfter(seconds * 1_000);
    if (wait_ms !== null) longest = Math.max(longest ?? 0, wait_ms);
  }
  return longest;
}

/** NaN where there is no number. */
function readList(text: string | null): number[] {
  if (text === null) return [];
  return text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
}
