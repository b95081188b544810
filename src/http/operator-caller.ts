// Finds the operator who sent a request: by a token, or by the cookie of a session of the console.
import type { FoundSession, LinkScope, Operator, RateLimiter } from "../access/index.ts";
import { type ApiError, apiError } from "../platform/errors.ts";
import { type OwnAddresses, requireOwnOrigin } from "./own-origin.ts";

export interface OperatorCallerOptions {
  /** Returns undefined for a token that is not in force. */
  identify(token: string): Promise<Pick<Operator, "id" | "name" | "role"> | undefined>;
  identifySession(token: string): Promise<FoundSession | undefined>;
  /** Name of the cookie, which differs between installations: ports of a host share cookies. */
  cookie: string;
  own: OwnAddresses;
  /** How commands are typed on the server's machine. */
  commands(): { program: string; needsServer: boolean };
  limiter: Pick<RateLimiter, "take">;
  /** Names the client of a request, whose failed attempts are counted. */
  addressOf(request: Request): string;
}

export interface OperatorCaller extends Pick<Operator, "id" | "name" | "role"> {
  via: "operator API" | "console" | "approval link";
  /** Approvals that a link shows; undefined for operators. */
  scope?: LinkScope;
}

export const TOKEN_CHARACTERS_MAX = 512;
const BEARER = /^Bearer +([^ ].*)$/i;

const MISSING = "No operator token was sent; send it as `Authorization: Bearer <TOKEN>`.";
const NO_SESSION = "There is no session";
const ENDED = "The session has ended";

/** A token is tried alone; without one, a session is. */
export async function findOperator(
  request: Request,
  options: OperatorCallerOptions,
): Promise<OperatorCaller> {
  const { headers } = request;
  if (!headers.has("authorization") && readCookie(request, options) !== undefined) {
    const { id, name, role } = await findSession(request, options);
    return { id, name, role, via: "console" };
  }
  const token = BEARER.exec(headers.get("authorization") ?? "")?.[1];
  const isPlausible = token !== undefined && token.length <= TOKEN_CHARACTERS_MAX;
  const operator = isPlausible ? await options.identify(token) : undefined;
  if (operator) return { ...operator, via: "operator API" };
  const message = "The operator token is unknown, revoked or expired.";
  throw await countFailure(
    request,
    options,
    token === undefined
      ? apiError("missing_api_key", { message: MISSING })
      : apiError("invalid_api_key", { message }),
  );
}

/** Returns a question whether the request's caller still has its rights; it counts no attempt. */
export function watchOperator(
  { headers }: Request,
  { role, via }: OperatorCaller,
  options: OperatorCallerOptions & { isEnabled(): boolean },
): () => Promise<boolean> {
  const token =
    via === "console"
      ? readCookie({ headers }, options)!
      : BEARER.exec(headers.get("authorization")!)![1]!;
  const identify = via === "console" ? options.identifySession : options.identify;
  return async () => options.isEnabled() && (await identify(token))?.role === role;
}

export async function findSession(
  request: Request,
  options: OperatorCallerOptions,
): Promise<FoundSession> {
  const token = readCookie(request, options);
  const explain = (what: string) => ({
    message: `${what}: make a link on the server with ${writeLinkCommand(request, options)}.`,
  });
  if (token === undefined) {
    throw await countFailure(request, options, apiError("missing_api_key", explain(NO_SESSION)));
  }
  requireOwnOrigin(request, options.own);
  const found = await options.identifySession(token);
  if (found) return found;
  throw await countFailure(request, options, apiError("invalid_api_key", explain(ENDED)));
}

/** Writes the command that makes a link; only a test server tells strangers its program's place. */
export function writeLinkCommand(
  { url }: Request,
  { commands }: Pick<OperatorCallerOptions, "commands">,
): string {
  const { program, needsServer } = commands();
  const command = needsServer
    ? `${program} console --server ${new URL(url).origin}`
    : "wadi console";
  return `\`${command}\``;
}

/** Slows guesses down by their address. */
export async function countFailure(
  request: Request,
  { limiter, addressOf }: Pick<OperatorCallerOptions, "limiter" | "addressOf">,
  refusal: ApiError,
): Promise<ApiError> {
  await limiter.take(`failed ${addressOf(request)}`);
  return refusal;
}

/** Reads the token in a cookie. */
export function readCookie(
  { headers }: Pick<Request, "headers">,
  { cookie }: Pick<OperatorCallerOptions, "cookie">,
): string | undefined {
  const token = new Bun.CookieMap(headers.get("cookie") ?? "").get(cookie);
  return token && token.length <= TOKEN_CHARACTERS_MAX ? token : undefined;
}
