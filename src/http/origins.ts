// Decides which web pages may ask: by the Host and Origin of a request, and by CORS.
import { type ApiError, apiError } from "../platform/errors.ts";

export interface OriginRules {
  /** True: everybody knows the keys, so that only names of this machine are answered. */
  isLocalOnly: boolean;
  /** Where people reach the server; its host is one of its names. "": nowhere else. */
  publicUrl(): string;
  /** The origins of browser apps that the operator has opened. */
  corsOrigins(): readonly string[];
}

export interface Origins {
  /** Of a request that another website may have had sent; null: it goes on. */
  judge(request: Request): ApiError | null;
  /** The opened origin that a request names; null: it is answered without CORS. */
  match(request: Request): string | null;
  /** The answer to a browser that asks whether it may ask; null: it is an ordinary request. */
  answerPreflight(request: Request, origin: string): Response | null;
  /** Lets the page at `origin` read a reply. */
  open(response: Response, origin: string): Response;
}

const LOOPBACK = /^(?:(?:[a-z0-9_-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const HOST = /^(\[[0-9a-f:.]+\]|[^:\s,/@[\]]+)(?::\d{1,5})?$/i;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([^/\s]+)$/i;

const METHODS = "GET, POST, PUT, PATCH, DELETE";
/** What is asked for is echoed: clients of the standard format send headers of their own. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;
const HEADER_NAMES_CHARACTERS_MAX = 2_048;
const HEADERS = "authorization, content-type";
/** How long a browser keeps the answer. */
const MAX_AGE_S = "600";
/** A page reads no other headers of a reply than these and the few that CORS always shows. */
const EXPOSED = [
  ...["x-request-id", "retry-after", "x-should-retry", "server-timing", "x-wadi-ignored"],
  ...["deprecation", "link", "sunset"],
].join(", ");

const NOT_THIS_HOST =
  "This server answers to localhost, *.localhost, 127.0.0.0/8, [::1] and the host of " +
  "server.public_url only, since everybody knows its keys: use one of them as the Host.";
const NOT_THIS_PAGE =
  "Pages of another host may not ask this server: name their Origin in server.cors_origins.";

export function createOrigins({ isLocalOnly, publicUrl, corsOrigins }: OriginRules): Origins {
  /** A name of this machine leads a page to nobody else, whatever DNS says. */
  const isOwn = (host: string | undefined) => {
    const name = HOST.exec(host ?? "")?.[1]?.toLowerCase();
    if (name === undefined) return false;
    return LOOPBACK.test(name) || name === URL.parse(publicUrl())?.hostname;
  };
  const match = ({ headers }: Request) => {
    const origins = corsOrigins();
    const origin = origins.length === 0 ? null : headers.get("origin");
    return origin !== null && origins.includes(origin) ? origin : null;
  };
  return {
    match,
    judge(request) {
      if (!isLocalOnly) return null;
      const { headers } = request;
      if (!isOwn(headers.get("host") ?? undefined)) {
        return apiError("permission_denied", { message: NOT_THIS_HOST });
      }
      const origin = headers.get("origin");
      if (origin === null || isOwn(ORIGIN.exec(origin)?.[1])) return null;
      if (match(request) !== null) return null;
      return apiError("permission_denied", { message: NOT_THIS_PAGE });
    },
    answerPreflight({ method, headers }, origin) {
      if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return null;
      const asked = headers.get("access-control-request-headers") ?? "";
      const isPlain = asked.length <= HEADER_NAMES_CHARACTERS_MAX && HEADER_NAMES.test(asked);
      const allowed = {
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": isPlain ? asked : HEADERS,
        "access-control-max-age": MAX_AGE_S,
      };
      return open(new Response(null, { status: 204, headers: allowed }), origin);
    },
    open,
  };
}

function open(response: Response, origin: string): Response {
  const { headers } = response;
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-expose-headers", EXPOSED);
  headers.append("vary", "Origin");
  return response;
}
