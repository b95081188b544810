// Decides which web pages may send requests, by Host, Origin and CORS.
import { type ApiError, apiError } from "../platform/errors.ts";
import { HEADERS } from "./openapi/components.ts";

export interface OriginRules {
  /** Only requests to names of this machine are answered, since the keys are public. */
  isLocalOnly: boolean;
  /** The public address of the server, or ""; its host is one of the server's names. */
  publicUrl(): string;
  corsOrigins(): readonly string[];
}

const LOOPBACK = /^(?:(?:[a-z0-9_-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const HOST = /^(\[[0-9a-f:.]+\]|[^:\s,/@[\]]+)(?::\d{1,5})?$/i;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([^/\s]+)$/i;

const METHODS = "GET, POST, PUT, PATCH, DELETE";
/** Pattern of requested headers, which are echoed: clients of the standard format add their own. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;
const HEADER_NAMES_CHARACTERS_MAX = 2_048;
const ALLOWED = "authorization, content-type";
/** Time in seconds for which browsers cache the answer. */
const MAX_AGE_S = "600";
/** Headers that pages may read, beside the few that CORS always exposes. */
const EXPOSED = [...Object.keys(HEADERS), "www-authenticate"].join(", ");

const NOT_THIS_HOST =
  "This server answers to localhost, *.localhost, 127.0.0.0/8, [::1] and the host of " +
  "server.public_url only, since everybody knows its keys: use one of them as the Host.";
export const NOT_THIS_PAGE =
  "Pages of another host may not ask this server: name their Origin in server.cors_origins.";

export class Origins {
  readonly #rules: OriginRules;

  constructor(rules: OriginRules) {
    this.#rules = rules;
  }

  /** Returns an error for a request that another website may have triggered. */
  check(request: Request): ApiError | undefined {
    if (!this.#rules.isLocalOnly) return undefined;
    const { headers } = request;
    if (!this.#isOwn(headers.get("host") ?? undefined)) {
      return apiError("permission_denied", { message: NOT_THIS_HOST });
    }
    const origin = headers.get("origin");
    if (origin === null || this.#isOwn(ORIGIN.exec(origin)?.[1])) return undefined;
    if (this.match(request) !== null) return undefined;
    return apiError("permission_denied", { message: NOT_THIS_PAGE });
  }

  /** Returns the allowed origin that a request names; without one it is answered without CORS. */
  match({ headers }: Request): string | null {
    const origins = this.#rules.corsOrigins();
    const origin = origins.length === 0 ? null : headers.get("origin");
    return origin !== null && origins.includes(origin) ? origin : null;
  }

  answerPreflight({ method, headers }: Request, origin: string): Response | null {
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return null;
    const asked = headers.get("access-control-request-headers") ?? "";
    const isPlain = asked.length <= HEADER_NAMES_CHARACTERS_MAX && HEADER_NAMES.test(asked);
    const allowed = {
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": isPlain ? asked : ALLOWED,
      "access-control-max-age": MAX_AGE_S,
    };
    return this.expose(new Response(null, { status: 204, headers: allowed }), origin);
  }

  expose(response: Response, origin: string): Response {
    const { headers } = response;
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-expose-headers", EXPOSED);
    headers.append("vary", "Origin");
    return response;
  }

  #isOwn(host: string | undefined): boolean {
    const name = nameOfHost(host);
    if (name === undefined) return false;
    return isLocalName(name) || name === URL.parse(this.#rules.publicUrl())?.hostname;
  }
}

/** Reads the name of a Host header, without its port; undefined for anything else. */
export function nameOfHost(host: string | undefined): string | undefined {
  return HOST.exec(host ?? "")?.[1]?.toLowerCase();
}

/** Loopback names: a browser resolves them to its own machine without DNS. */
export function isLocalName(name: string): boolean {
  return LOOPBACK.test(name);
}
