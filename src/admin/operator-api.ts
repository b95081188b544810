// The operator API: a route for each operation, and the routes of the console's session.
import { hashSecret, RateLimiter } from "../access/index.ts";
import {
  createLinkRoutes,
  createOperatorRoutes,
  createSessionRoutes,
  type HttpServer,
  type LinkRouteOptions,
  type OperatorRoute,
  type OperatorStreamSpec,
  type OwnAddresses,
  writeOperatorDocument,
} from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { Admin } from "./admin.ts";
import type { Actor } from "./audit.ts";
import type { ChangeFeed } from "./changes/feed.ts";
import { Change } from "./changes/topics.ts";
import { AdminError } from "./errors.ts";
import { type AnyOperation, perform } from "./operation.ts";
import { OPERATIONS } from "./operations/index.ts";
import { sessionOperations } from "./operations/sessions.ts";

export interface OperatorApiOptions {
  settings(): Settings;
  /** Follows the settings in force. */
  admin(): Admin;
  server: Pick<HttpServer, "addressOf" | "holdOpen">;
  changes: ChangeFeed;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
  installationId: string;
}

const WINDOW_MS = 60_000;
/** Maximum names that are counted: operators and addresses of failed attempts. */
const NAMES_MAX = 100_000;

/** Last characters of an installation's id: the first ones of two restored copies may be equal. */
const ID_CHARACTERS = 8;

const CODES = {
  invalid: "invalid_request",
  "not found": "not_found",
  conflict: "conflict",
} as const;

const CHANGES = "Follow changes.";
const CHANGES_DESCRIPTION =
  "Approvers may call it too, and are told of approvals only. Server-sent events: a frame names " +
  "rows that have changed, to be read again. Comments come in silence. It ends with the session " +
  "or token, or when the server restarts: read again what is shown after each reconnection.";

export interface OperatorApi {
  listRoutes(): OperatorRoute[];
  limiter: RateLimiter;
  own: OwnAddresses;
  /** Writes its OpenAPI document, for the pages of the documentation. */
  writeDocument(): Promise<object>;
  change(settings: Settings): void;
}

export function createOperatorApi(options: OperatorApiOptions): OperatorApi {
  const { settings, admin, server, clock } = options;
  const limiter = new RateLimiter(clock, {
    requests_max: settings().operator.requests_per_minute,
    windowMs: WINDOW_MS,
    closingMs: 0,
    namesMax: NAMES_MAX,
  });
  const installation = options.installationId.slice(-ID_CHARACTERS);
  const common = {
    ...{ clock: options.clock, ids: options.ids, log: options.log, observer: null, limiter },
    isEnabled: () => settings().operator.enabled,
    identify: (token: string) => admin().operators.identify(hashSecret(token)),
    identifySession: (token: string) => admin().sessions.identify(hashSecret(token)),
    cookie: `wadi_session_${installation}`,
    commands: () => admin().installation.commands,
    own: {
      publicUrls: () => [settings().operator.public_url, settings().server.public_url],
      hosts: () => [settings().server.host, ...listHosts(settings().operator.listen)],
    },
    addressOf: (request: Request) => server.addressOf(request),
  };
  const handle: LinkRouteOptions["handle"] = (spec, input, { name, via, scope }, request) => {
    const actor = { kind: "operator", name, via, scope } as const;
    return performFor(admin(), spec as AnyOperation, input, actor, request);
  };
  const api = {
    ...common,
    holdOpen: (request: Request) => server.holdOpen(request),
    handle,
  };
  const streams: OperatorStreamSpec[] = [
    {
      ...{ path: "/changes", summary: CHANGES, description: CHANGES_DESCRIPTION, frame: Change },
      open: (caller, openStream) => options.changes.open(caller, openStream),
    },
  ];
  const listApiRoutes = () =>
    createOperatorRoutes(OPERATIONS, { ...api, version: options.version, streams });
  const listLinkRoutes = () =>
    createLinkRoutes(OPERATIONS, {
      ...api,
      cookie: `wadi_approvals_${installation}`,
      identify: (token) => admin().linkSessions.identify(token),
      open: (token, client) => admin().linkSessions.open(token, client),
      readSession: (token) => admin().linkSessions.read(token),
      signOut: (token) => endLink(admin(), token),
    });
  const listSessionRoutes = () =>
    createSessionRoutes({
      ...common,
      signIn: (token, client) => admin().sessions.signIn(token, client),
      findSessionById: (id) => admin().sessions.find(id),
      endSession({ session_id: id, name }) {
        const actor = { kind: "operator", name, via: "console" } as const;
        return performFor(admin(), sessionOperations.end, { id }, actor);
      },
    });
  return {
    listRoutes: () => [...listApiRoutes(), ...listSessionRoutes(), ...listLinkRoutes()],
    limiter,
    own: common.own,
    writeDocument: () =>
      writeOperatorDocument(OPERATIONS, { ...common, streams, version: options.version }),
    change: (other) => limiter.change(other.operator.requests_per_minute),
  };
}

/** Ends the session of a link, and the link with it; undefined without such a session. */
async function endLink(admin: Admin, token: string): Promise<true | undefined> {
  const found = await admin.linkSessions.find(token);
  if (!found) return undefined;
  const actor = { kind: "operator", name: found.name, via: "approval link" } as const;
  await performFor(admin, sessionOperations.end, { id: found.link_id }, actor);
  return true;
}

async function performFor(
  admin: Admin,
  operation: AnyOperation,
  input: Record<string, unknown>,
  actor: Actor,
  request?: Request,
): Promise<unknown> {
  try {
    return await perform(admin, operation, input, actor, request);
  } catch (failure) {
    if (!(failure instanceof AdminError)) throw failure;
    throw apiError(CODES[failure.kind], { message: failure.message });
  }
}

/** Lists the host of "HOST:PORT"; none for "". */
function listHosts(listen: string): string[] {
  const address = URL.parse(`http://${listen}`);
  return address ? [address.hostname] : [];
}
