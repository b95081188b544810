// Routes of links to approvals: a session that one begins, and the few operations that it may use.
import { Type } from "@sinclair/typebox";
import type { LinkScope } from "../access/index.ts";
import { apiError } from "../platform/errors.ts";
import { unquoted } from "../platform/schema.ts";
import { readJson } from "./body.ts";
import {
  countFailure,
  type OperatorCaller,
  type OperatorCallerOptions,
  readCookie,
  TOKEN_CHARACTERS_MAX,
} from "./operator-caller.ts";
import type { OperatorRouteSpec } from "./operator-route.ts";
import { type ApiRouteOptions, createApiRoutes, type OperatorRoute } from "./operator-router.ts";
import { requireOwnOrigin } from "./own-origin.ts";
import { createResponder, type RequestContext } from "./response.ts";
import type { HandlerReply, HttpMethod, Path } from "./route.ts";
import { type SessionClient, writeCookie } from "./session-routes.ts";
import { compileCheck } from "./validation.ts";

/** A person with a link, for which the operator who made it answers. */
export interface LinkCaller {
  name: string;
  scope: LinkScope;
}

export type OpenedLink =
  | { kind: "ok"; session: Record<string, unknown>; token: string; expires_at: number }
  | { kind: keyof typeof REFUSALS };

export interface LinkRouteOptions
  extends ApiRouteOptions,
    Pick<OperatorCallerOptions, "own" | "limiter" | "addressOf"> {
  /** Name of the cookie: another one than of operators, who may open a link of their own. */
  cookie: string;
  open(token: string, client: SessionClient): Promise<OpenedLink>;
  /** Returns undefined for a token that is not in force. */
  readSession(token: string): Promise<unknown>;
  identify(token: string): Promise<LinkCaller | undefined>;
  /** Finds who signs out, also once its only approval is decided, and ends its session. */
  signOut(token: string): Promise<true | undefined>;
}

/** The cookie is sent below this path only, so that no other route ever sees it. */
const LINK_PATH = "/operator/link";
const BODY_BYTES_MAX = 4 * 1024;

const REFUSALS = {
  unknown: "This link is unknown: ask for another one.",
  used: "This link was used before: ask for another one.",
  expired: "This link has expired: ask for another one.",
  revoked: "Who made this link is no operator any more.",
  decided: "The approval of this link waits no more.",
} as const;
const NO_SESSION = "There is no session: open a link to approvals.";
const ENDED = "The session of this link has ended.";

const checkBody = compileCheck(
  Type.Object(
    { token: unquoted(Type.String({ maxLength: TOKEN_CHARACTERS_MAX })) },
    { additionalProperties: false },
  ),
);

/** Creates the routes; all answer 404 while the operator API is switched off. */
export function createLinkRoutes(
  specs: readonly OperatorRouteSpec[],
  options: LinkRouteOptions,
): OperatorRoute[] {
  const allowed = specs.filter(({ isForLinks }) => isForLinks);
  const find = async (request: Request): Promise<OperatorCaller> => {
    const { name, scope } = await requireLink(request, options, options.identify);
    return { id: scope.link_id, name, role: "approver", via: "approval link", scope };
  };
  return [
    ...createApiRoutes(allowed, `${LINK_PATH}/v1`, { ...options, find }),
    ...createLinkSessionRoutes(options),
  ];
}

/** Finds by the cookie of an own page; a failed attempt counts against its address. */
async function requireLink<T>(
  request: Request,
  options: LinkRouteOptions,
  find: (token: string) => Promise<T | undefined>,
): Promise<T> {
  const token = readCookie(request, options);
  const refuse = (code: "missing_api_key" | "invalid_api_key", message: string) =>
    countFailure(request, options, apiError(code, { message }));
  if (token === undefined) throw await refuse("missing_api_key", NO_SESSION);
  requireOwnOrigin(request, options.own);
  const found = await find(token);
  if (found === undefined) throw await refuse("invalid_api_key", ENDED);
  return found;
}

function createLinkSessionRoutes(options: LinkRouteOptions): OperatorRoute[] {
  const { clock, limiter } = options;
  const placeCookie = (origin: string) => ({ name: options.cookie, path: LINK_PATH, origin });

  async function open({ request }: RequestContext): Promise<HandlerReply> {
    const origin = requireOwnOrigin(request, options.own);
    const body = checkBody(await readJson(request, BODY_BYTES_MAX, clock)) as { token: string };
    const user_agent = request.headers.get("user-agent");
    const client = { user_agent, address: options.addressOf(request) };
    const opened = await options.open(body.token, client);
    if (opened.kind !== "ok") {
      const message = REFUSALS[opened.kind];
      throw await countFailure(request, options, apiError("invalid_api_key", { message }));
    }
    const { session, token: value, expires_at } = opened;
    const lifetimeMs = expires_at - clock.now();
    const cookie = writeCookie(placeCookie(origin), value, lifetimeMs);
    return [200, session, { "cache-control": "no-store", "set-cookie": cookie }];
  }

  async function read({ request }: RequestContext): Promise<HandlerReply> {
    const session = await requireLink(request, options, options.readSession);
    await limiter.take(`link session ${options.addressOf(request)}`);
    return [200, session, { "cache-control": "no-store" }];
  }

  async function end({ request }: RequestContext): Promise<HandlerReply> {
    await requireLink(request, options, options.signOut);
    const cookie = writeCookie(placeCookie(requireOwnOrigin(request, options.own)), "", 0);
    return [204, null, { "cache-control": "no-store", "set-cookie": cookie }];
  }

  const handlers: Partial<Record<HttpMethod, typeof open>> = { POST: open, GET: read, DELETE: end };
  return Object.entries(handlers).map(([method, handle]) => {
    const path = `${LINK_PATH}/session`;
    const route = { method: method as HttpMethod, path: path as Path };
    const answer = async (context: RequestContext) => {
      if (!options.isEnabled()) throw apiError("not_found");
      return handle(context);
    };
    return {
      ...route,
      answer: createResponder({ ...options, surface: "operator" }, route, answer),
    };
  });
}
