// Text formats of settings: each reads a text, or throws what it must be.
import { readAllowEntry, readNetwork } from "../net/index.ts";
import { parseDuration } from "../platform/duration.ts";
import { parseMoney } from "../platform/money.ts";
import { isZone } from "../platform/zone.ts";

/** An address: a folder on Windows may begin with one letter and a colon. */
export const ADDRESS = /^[a-z][a-z0-9+.-]+:/i;

const PORT_MAX = 65_535;

/** Messages quote no value: it may be long or secret. */
export const FORMATS = {
  duration: parseDuration,
  retention: parseRetention,
  money: parseMoney,
  currency: matching(/^[A-Z]{3}$/, 'three capital letters such as "SAR"'),
  host: matching(/^[A-Za-z0-9.:%_-]{1,253}$/, "a host name or an address without a port"),
  network(text: string) {
    if (readNetwork(text)) return text;
    throw new RangeError('must be an address, or a network such as "10.0.0.0/8"');
  },
  listen(text: string) {
    const place = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]{1,253}):([1-9]\d{0,4})$/.exec(text);
    if (text === "" || (place && Number(place[1]) <= PORT_MAX)) return text;
    throw new RangeError('must be empty, or "HOST:PORT" such as "10.0.0.1:9090"');
  },
  place: readAllowEntry,
  alias: matching(/^[a-z][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -, beginning with a letter"),
  model: matching(/^[A-Za-z0-9][\w./:@+-]{0,127}$/, "1 to 128 of A-Z, a-z, 0-9 and . _ / : @ + -"),
  /** A secret pasted instead of the name mostly has other characters. */
  variable: matching(/^([A-Za-z_][A-Za-z0-9_]*)?$/, "the name of an environment variable"),
  header: matching(/^[\t\x20-\x7e\x80-\xff]*$/, "one line of text"),
  path: matching(/^(\/[!-"$-~]*)?$/, "empty or a path that begins with /"),
  /** The driver knows the scheme in lower case only. */
  database(text: string) {
    if (!/^(postgres(ql)?:\/\/\S+)?$/i.test(text)) {
      throw new RangeError('must be empty or a "postgres://…" address');
    }
    return text.replace(/^\w+/, (scheme) => scheme.toLowerCase());
  },
  valkey(text: string) {
    if (/^((redis|valkey)s?:\/\/[^\s/]\S*)?$/i.test(text)) return text;
    throw new RangeError('must be empty or a "redis://…" or "rediss://…" address');
  },
  /** A mistyped address would make a directory with its password in the name. */
  directory(text: string) {
    if (!ADDRESS.test(text)) return text;
    throw new RangeError('must be a directory: write "./" before a name with a colon');
  },
  link: (text: string) => (text === "" ? text : readUrl(text, "an http or https URL")),
  /** Browsers send origins in this form; they are compared letter by letter. */
  origin(text: string) {
    const isOrigin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@"<>,A-Z]+$/.test(text);
    const isWeb = /^https?:/.test(text);
    if (isOrigin && (!isWeb || URL.parse(text)?.origin === text)) return text;
    throw new RangeError('must be an origin in lower case, such as "https://app.example.com"');
  },
  zone(text: string) {
    if (isZone(text)) return text;
    throw new RangeError('must be the name of an IANA time zone, such as "Asia/Riyadh"');
  },
  upstream: readBase,
  /** A base address, or none. */
  search: (text: string) => (text === "" ? text : readBase(text)),
  /** The query stays: it may name a level of sleep. */
  probe: (text: string) => readPlainUrl(text, "an http or https URL without user or fragment"),
  action(text: string) {
    if (text === "") return text;
    const must = '"POST" or "GET" and then an http or https URL without user or fragment';
    const [, method, url = ""] = /^(POST|GET) +(.*)$/s.exec(text) ?? [];
    return `${method} ${readPlainUrl(url, must)}`;
  },
} satisfies Record<string, (text: string) => unknown>;

export type FormatName = keyof typeof FORMATS;

function parseRetention(text: string): number | null {
  if (text === "forever") return null;
  if (/^[1-9]\d{0,4}d$/.test(text)) return parseDuration(text);
  throw new RangeError('must be days such as "30d", or "forever"');
}

function matching(pattern: RegExp, must: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) throw new RangeError(`must be ${must}`);
    return text;
  };
}

function readBase(text: string): string {
  const must = "an http or https URL without user, query or fragment";
  const { username, password } = new URL(readUrl(text, must));
  // Paths are appended, also behind an empty query.
  if (username || password || /[?#]/.test(text)) throw new RangeError(`must be ${must}`);
  return text.replace(/\/+$/, "");
}

function readPlainUrl(text: string, must: string): string {
  const { username, password, hash } = new URL(readUrl(text, must));
  if (username || password || hash) throw new RangeError(`must be ${must}`);
  return text;
}

function readUrl(text: string, must: string): string {
  // Links are written into headers and pages, where these characters would end them.
  if (!/^https?:\/\/[^\s<>"]+$/.test(text) || !URL.canParse(text))
    throw new RangeError(`must be ${must}`);
  return text;
}
