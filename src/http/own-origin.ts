// Decides whether a request that a cookie authenticates was sent by a page of this server. Cookies
// have no port, so that browsers send them from pages of every port of a host.
import { readAddress } from "../net/index.ts";
import { apiError } from "../platform/errors.ts";
import { isLocalName, NOT_THIS_PAGE, nameOfHost } from "./origins.ts";

export interface OwnAddresses {
  /** Addresses that the settings name for people; "" for none. */
  publicUrls(): readonly string[];
  /** Hosts that are listened on. */
  hosts(): readonly string[];
}

const FOREIGN_HOST =
  "This server has another name: set operator.public_url to the address that browsers open.";
const FOREIGN_CLIENT_HOST =
  "This server has another name: set server.public_url to the address that clients use.";
const FOREIGN_ORIGIN = "Only pages of this server may use a session of the console.";

/** Returns the address that the request is for; throws for a foreign Host. */
export function requireOwnHost(
  { headers, url }: Request,
  own: OwnAddresses,
  message = FOREIGN_HOST,
): URL {
  const { protocol, host: urlHost } = new URL(url);
  const host = headers.get("host") ?? urlHost;
  const names = [...own.hosts(), ...listPublic(own).map(({ hostname }) => hostname)];
  const served = URL.parse(`${protocol}//${host}`);
  if (served && isOwnName(nameOfHost(host), names)) return served;
  throw apiError("permission_denied", { message });
}

const listPublic = (own: OwnAddresses) => own.publicUrls().flatMap((text) => URL.parse(text) ?? []);

/**
 * Returns the own origin that a client with a key asks. Throws for a foreign Host, and for a page
 * of a foreign Origin: others reach this address by a name that they made lead here.
 */
export function requireOwnClient(
  request: Request,
  own: OwnAddresses,
  corsOrigins: readonly string[],
): string {
  const served = requireOwnHost(request, own, FOREIGN_CLIENT_HOST);
  const named = listPublic(own).find(({ host }) => host === served.host);
  const expected = named?.origin ?? served.origin;
  const origin = request.headers.get("origin");
  const origins = [expected, ...listPublic(own).map((one) => one.origin), ...corsOrigins];
  if (origin === null || origins.includes(origin)) return expected;
  throw apiError("permission_denied", { message: NOT_THIS_PAGE });
}

/** Returns the own origin that the request is for; throws for a foreign Host or Origin. */
export function requireOwnOrigin(request: Request, own: OwnAddresses): string {
  const { method, headers } = request;
  const served = requireOwnHost(request, own);
  const host = headers.get("host") ?? served.host;
  const publicUrls = listPublic(own);
  // A page of that host without encryption is no page of this server.
  const named = publicUrls.find((one) => URL.parse(`${one.protocol}//${host}`)?.host === one.host);
  const expected = named?.origin ?? served.origin;
  const origin = headers.get("origin") ?? (isFromOwnPage(method, headers) ? expected : null);
  const isOwn = origin === expected || publicUrls.some((one) => one.origin === origin);
  if (origin === null || !isOwn) throw apiError("permission_denied", { message: FOREIGN_ORIGIN });
  return origin;
}

/** Names of other sites can be made to lead here by DNS; addresses cannot. */
function isOwnName(name: string | undefined, names: readonly string[]): boolean {
  if (name === undefined) return false;
  return (
    isLocalName(name) || names.includes(name) || readAddress(name.replace(/^\[|]$/g, "")) !== null
  );
}

/** For requests without an Origin, which browsers send with every write. */
function isFromOwnPage(method: string, headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  return site === "same-origin" || (method === "GET" && (site === null || site === "none"));
}
