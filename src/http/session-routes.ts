// The console's session: begun by a link, read by its pages, and ended. Browsers send its cookie.
import { Type } from "@sinclair/typebox";
import { type FoundSession, type Operator, OperatorSession } from "../access/index.ts";
import { apiError } from "../platform/errors.ts";
import { show, unquoted } from "../platform/schema.ts";
import { readJson } from "./body.ts";
import {
  countFailure,
  findSession,
  type OperatorCallerOptions,
  TOKEN_CHARACTERS_MAX,
  writeLinkCommand,
} from "./operator-caller.ts";
import type { OperatorRoute } from "./operator-router.ts";
import { requireOwnOrigin } from "./own-origin.ts";
import { createResponder, type RequestContext, type ResponderOptions } from "./response.ts";
import type { HandlerReply, HttpMethod, Path } from "./route.ts";
import { compileCheck } from "./validation.ts";

/** A link that was tried, and the session that it has begun. */
type SignedIn =
  | { kind: "ok"; operator: Pick<Operator, "role">; session: OperatorSession; token: string }
  | { kind: keyof typeof REFUSALS };

export interface SessionRouteOptions
  extends Omit<ResponderOptions, "surface">,
    OperatorCallerOptions {
  isEnabled(): boolean;
  signIn(token: string, client: SessionClient): Promise<SignedIn>;
  findSessionById(id: string): Promise<OperatorSession | undefined>;
  endSession(session: FoundSession): Promise<unknown>;
}

/** A browser that signs in. */
export interface SessionClient {
  user_agent: string | null;
  address: string;
}

const PATH = "/console/session";
const BODY_BYTES_MAX = 4 * 1024;

const REFUSALS = {
  unknown: (command: string) => `This link is unknown: make one with ${command}.`,
  used: (command: string) => `This link was used before: make another one with ${command}.`,
  expired: (command: string) => `This link has expired: make another one with ${command}.`,
  revoked: () => "The operator of this link is revoked or expired.",
};

const checkBody = compileCheck(
  Type.Object(
    { token: unquoted(Type.String({ maxLength: TOKEN_CHARACTERS_MAX })) },
    { additionalProperties: false },
  ),
);

const SignedInSession = Type.Object({
  ...OperatorSession.properties,
  role: Type.String({ description: "Role of the operator." }),
  program: Type.String({ description: "How its program is called on the server's machine." }),
  needs_server: Type.Boolean({ description: "Commands need `--server`: the data is in memory." }),
});

/** Creates the routes; all answer 404 while the operator API is switched off. */
export function createSessionRoutes(options: SessionRouteOptions): OperatorRoute[] {
  const { clock, isEnabled } = options;

  const answer = (
    session: OperatorSession,
    { role }: Pick<Operator, "role">,
    cookie?: string,
  ): HandlerReply => {
    const { program, needsServer: needs_server } = options.commands();
    const value = show(SignedInSession, { ...session, role, program, needs_server });
    return [200, value, { "cache-control": "no-store", ...(cookie && { "set-cookie": cookie }) }];
  };
  const placeCookie = (origin: string) => ({ name: options.cookie, path: "/", origin });

  async function begin({ request }: RequestContext): Promise<HandlerReply> {
    const origin = requireOwnOrigin(request, options.own);
    const body = checkBody(await readJson(request, BODY_BYTES_MAX, clock)) as { token: string };
    const client = {
      user_agent: request.headers.get("user-agent"),
      address: options.addressOf(request),
    };
    const signed = await options.signIn(body.token, client);
    if (signed.kind !== "ok") {
      const message = REFUSALS[signed.kind](writeLinkCommand(request, options));
      throw await countFailure(request, options, apiError("invalid_api_key", { message }));
    }
    const { session, operator, token } = signed;
    const lifetimeMs = session.expires_at - clock.now();
    return answer(session, operator, writeCookie(placeCookie(origin), token, lifetimeMs));
  }

  async function read({ request }: RequestContext): Promise<HandlerReply> {
    const found = await findSession(request, options);
    await options.limiter.take(found.id);
    return answer(await requireSession(found), found);
  }

  async function end({ request }: RequestContext): Promise<HandlerReply> {
    const found = await findSession(request, options);
    const session = await requireSession(found);
    await options.endSession(found);
    const origin = requireOwnOrigin(request, options.own);
    return answer(session, found, writeCookie(placeCookie(origin), "", 0));
  }

  async function requireSession({ session_id }: FoundSession): Promise<OperatorSession> {
    const session = await options.findSessionById(session_id);
    if (session) return session;
    throw apiError("not_found");
  }

  const handlers: Partial<Record<HttpMethod, typeof begin>> = {
    POST: begin,
    GET: read,
    DELETE: end,
  };
  return Object.entries(handlers).map(([name, handle]) => {
    const route = { method: name as HttpMethod, path: PATH as Path };
    const handleEnabled = async (context: RequestContext) => {
      if (!isEnabled()) throw apiError("not_found");
      return handle(context);
    };
    return {
      ...route,
      answer: createResponder({ ...options, surface: "operator" }, route, handleEnabled),
    };
  });
}

interface CookiePlace {
  name: string;
  path: string;
  origin: string;
}

/** Writes a cookie that scripts and other sites have no access to. */
export function writeCookie(
  { name, path, origin }: CookiePlace,
  value: string,
  lifetimeMs: number,
): string {
  return new Bun.Cookie(name, value, {
    path,
    httpOnly: true,
    sameSite: "strict",
    secure: origin.startsWith("https:"),
    maxAge: Math.floor(lifetimeMs / 1000),
  }).serialize();
}
