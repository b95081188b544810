// Creates, changes and deletes connections, and opens their secrets for calls.
import type { Secrets } from "../../../crypto/index.ts";
import type { Database } from "../../../database/index.ts";
import type { GuardedEgress, UrlCheck } from "../../../net/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { apiError } from "../../../platform/errors.ts";
import type { Ids } from "../../../platform/ids.ts";
import type { Log } from "../../../platform/log.ts";
import {
  type ConnectionKind,
  type ConnectionRow,
  HOSTS_MAX,
  NAME_CHARACTERS_MAX,
  type OauthClient,
  SECRET_CHARACTERS_MAX,
} from "./connection.ts";
import { type ConnectionChange, connectionStore } from "./store.ts";
import { Tokens } from "./tokens.ts";

const HOST_RULE =
  'must name whole hosts such as "api.example.com" or "api.example.com:8443", in lower case: ' +
  "without https://, path, `*` and the usual port";

/** Pattern of a header's name: a token of RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;

const RESERVED_HEADERS = new Set([
  // Headers that control routing, framing and the connection.
  ...["host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["expect", "http2-settings", "range", "max-forwards"],
  // Headers that the program sends itself, or promises to the endpoint.
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "date"],
  ...["idempotency-key", "x-request-id", "traceparent", "tracestate", "baggage"],
  // Headers that identify the client and its origin.
  ...["cookie", "cookie2", "set-cookie", "origin", "referer", "from", "via", "forwarded"],
]);
const RESERVED_PREFIXES = ["content-", "webhook-", "proxy-", "sec-", "if-", "x-forwarded-"];

interface ConnectionInput {
  name: string;
  kind: ConnectionKind;
  header_name: string | null;
  /** Present with the kind client_credentials only. */
  oauth?: OauthClient | null;
  secret: string;
  allowed_hosts: readonly string[];
}

export interface ConnectionOptions {
  database: Database;
  secrets: Pick<Secrets, "store">;
  egress: Pick<GuardedEgress, "validate">;
  clock: Clock;
  ids: Ids;
}

export function createConnections({ database, secrets, egress, clock, ids }: ConnectionOptions) {
  const store = database.bind(connectionStore);

  /** agents.errors.connection_not_found, agents.authentication.6 */
  const requireFound = <Found>(found: Found | undefined | false): Found => {
    if (!found) throw apiError("connection_not_found");
    return found;
  };
  const require = async (id: string, account_id: string): Promise<ConnectionRow> =>
    requireFound(await store.find(id, account_id));
  return {
    require,
    /** Newest first, of one account or of all. */
    list: store.list,
    findOwner: store.findOwner,
    async create(account_id: string, input: ConnectionInput, connectionsMax: number) {
      const { name, kind, header_name, oauth = null, secret, allowed_hosts } = input;
      requireField("name", findNameProblem(name));
      requireField("header_name", findHeaderProblem(input));
      requireField("oauth", findOauthProblem(kind, oauth));
      if (oauth) requireUrl("oauth.token_url", egress.validate(oauth.token_url));
      requireField("secret", findSecretProblem(kind, secret));
      requireField("allowed_hosts", findHostsProblem(allowed_hosts));
      const [id, now] = [ids.uuid(), clock.now()];
      const row: ConnectionRow = {
        id,
        account_id,
        kind,
        header_name,
        oauth,
        name: name.toWellFormed(),
        allowed_hosts: [...allowed_hosts],
        secret_set_at: now,
        last_used_at: null,
        created_at: now,
        updated_at: now,
      };
      const about = { kind: "connection", row_id: id, account_id, set_at: now } as const;
      // agents.errors.connections_unavailable: thrown by the secret store.
      return secrets.store(about, secret, (sealed) => store.create(row, sealed, connectionsMax));
    },
    async change(id: string, account_id: string, change: ConnectionChange) {
      const { name, allowed_hosts } = change;
      if (name !== undefined) requireField("name", findNameProblem(name));
      if (allowed_hosts !== undefined) {
        requireField("allowed_hosts", findHostsProblem(allowed_hosts));
      }
      const wellFormed = { ...change, ...(name !== undefined && { name: name.toWellFormed() }) };
      return requireFound(await store.update(id, account_id, wellFormed, clock.now()));
    },
    async setSecret(
      id: string,
      account_id: string,
      secret: string,
      hosts: readonly string[] | null = null,
    ) {
      if (hosts !== null) requireField("allowed_hosts", findHostsProblem(hosts));
      const { kind } = await require(id, account_id);
      requireField("secret", findSecretProblem(kind, secret));
      const about = { kind: "connection", row_id: id, account_id, set_at: clock.now() } as const;
      const set = await secrets.store(about, secret, (sealed) =>
        store.setSecret(id, account_id, sealed, hosts),
      );
      return requireFound(set);
    },
    async remove(id: string, account_id: string): Promise<void> {
      requireFound(await store.remove(id, account_id));
    },
  };
}
export type Connections = ReturnType<typeof createConnections>;

/** Throws a problem, which continues a sentence that begins with the field's name. */
function requireField(param: string, problem: string | null): void {
  if (problem === null) return;
  throw apiError("invalid_request", { param, message: `\`${param}\` ${problem}.` });
}

/** agents.errors.url_refused */
function requireUrl(param: string, checked: UrlCheck): void {
  if (!checked.ok) throw apiError("url_refused", { param, message: checked.reason });
}

function findNameProblem(name: string): string | null {
  const isLong = name.length > NAME_CHARACTERS_MAX && [...name].length > NAME_CHARACTERS_MAX;
  const isWrong = name === "" || isLong || name.includes("\0");
  return isWrong ? `must be a text of 1 to ${NAME_CHARACTERS_MAX} characters` : null;
}

function findHeaderProblem({ kind, header_name }: ConnectionInput): string | null {
  if (kind !== "header") return header_name === null ? null : "goes with the kind `header` only";
  if (header_name === null) return "is needed with the kind `header`";
  if (!HEADER_NAME.test(header_name)) return "must be the name of a header, such as `X-Api-Key`";
  return mayCarrySecret(header_name) ? null : "names a header that may not carry a secret";
}

function findOauthProblem(kind: ConnectionKind, oauth: OauthClient | null): string | null {
  if (kind !== "client_credentials") {
    return oauth === null ? null : "goes with the kind `client_credentials` only";
  }
  return oauth === null ? "is needed with the kind `client_credentials`" : null;
}

/** agents.endpoints.tools.p5: problems never quote the secret. */
function findSecretProblem(kind: ConnectionKind, secret: string): string | null {
  if (secret.length > SECRET_CHARACTERS_MAX) {
    return `must have at most ${SECRET_CHARACTERS_MAX} characters`;
  }
  const allowed = kind !== "header" ? /^[!-~]+$/ : /^[ -~]+$/;
  if (!allowed.test(secret)) {
    const how = kind !== "header" ? "without spaces and line breaks" : "without line breaks";
    return `must be visible ASCII characters, ${how}`;
  }
  // Header values are trimmed on the way.
  return secret.trim() === secret ? null : "must not begin or end with a space";
}

/** Hosts are compared as texts, so they must be spelled as `URL.host` spells them. */
function findHostsProblem(hosts: readonly string[]): string | null {
  if (hosts.length > HOSTS_MAX) return `must name at most ${HOSTS_MAX} hosts`;
  if (new Set(hosts).size < hosts.length) return "must name each host once";
  return hosts.every(isHost) ? null : HOST_RULE;
}

function isHost(text: string): boolean {
  // Wildcards are not supported; a call would match no host.
  if (text.includes("*")) return false;
  // `URL.host` leaves out the usual port of either scheme.
  return ["https", "http"].every((scheme) => URL.parse(`${scheme}://${text}/`)?.host === text);
}

/** Allows `authorization`, since some endpoints need another scheme than Bearer. */
function mayCarrySecret(header_name: string): boolean {
  const name = header_name.toLowerCase();
  return !RESERVED_HEADERS.has(name) && !RESERVED_PREFIXES.some((start) => name.startsWith(start));
}

const USE_EVERY_MS = 60_000;

export interface ConnectionCredentials extends Pick<ConnectionRow, "kind" | "header_name"> {
  /** The secret to send: of kind client_credentials a token, which `renew` replaces. */
  secret: string;
  /**
   * Forgets a token that was refused, and takes a new one in its place. False: the secret stays,
   * as it is no token, or was new itself, or no other was given.
   */
  renew?(): Promise<boolean>;
}

export interface CredentialsRequest {
  id: string;
  account_id: string;
  /** The host that the secret goes to, as `URL.host` spells it. */
  host: string;
}

export type OpenCredentials = (
  request: CredentialsRequest,
) => Promise<{ ok: true; connection: ConnectionCredentials } | { ok: false; problem: string }>;

export interface CredentialsOptions {
  database: Database;
  secrets: Pick<Secrets, "open">;
  clock: Clock;
  log: Pick<Log, "warn">;
  egress: Pick<GuardedEgress, "request">;
}

/** The header that carries the secret of a connection. */
export function writeSecret({
  header_name,
  secret,
}: Pick<ConnectionCredentials, "header_name" | "secret">): Record<string, string> {
  if (header_name === null) return { authorization: `Bearer ${secret}` };
  return { [header_name.toLowerCase()]: secret };
}

const UNAUTHORIZED = 401;

/**
 * Sends a request that carries a connection, and again where that has renewed its token. A status
 * of 401 says that nothing was done.
 */
export async function sendRenewed<Reply extends { status: number | null }>(
  connection: ConnectionCredentials | null,
  send: () => Promise<Reply>,
): Promise<Reply> {
  for (;;) {
    const reply = await send();
    if (reply.status !== UNAUTHORIZED || !(await connection?.renew?.())) return reply;
  }
}

const SECRET_PROBLEMS = {
  missing: "Its connection has no secret.",
  unavailable: "The secrets of connections cannot be read now.",
  unreadable: "The secret of its connection cannot be read; set it anew.",
};

/** Reads the connection anew for each call, so that a revoked secret goes nowhere. */
export function createCredentials(options: CredentialsOptions): OpenCredentials {
  const { database, secrets, clock, log } = options;
  const store = database.bind(connectionStore);
  const beingWritten = new Set<string>();
  const tokens = new Tokens(options);

  const writeUse = ({ id, account_id, last_used_at }: ConnectionRow) => {
    const now = clock.now();
    const isRecent = last_used_at !== null && now < last_used_at + USE_EVERY_MS;
    if (isRecent || beingWritten.has(id)) return;
    beingWritten.add(id);
    void store
      .use(id, now)
      .catch(() => log.warn("connections: the last use could not be written", { account_id }))
      .finally(() => beingWritten.delete(id));
  };
  return async ({ id, account_id, host }) => {
    const row = await store.find(id, account_id);
    if (!row) return { ok: false, problem: "Its connection does not exist any more." };
    // The secret goes to its allowed hosts only, so this check comes first.
    if (!row.allowed_hosts.includes(host)) {
      return { ok: false, problem: "Its connection is not for the endpoint's host." };
    }
    const opened = await secrets.open({ kind: "connection", row_id: id, account_id });
    if (!opened.ok) return { ok: false, problem: SECRET_PROBLEMS[opened.reason] };
    writeUse(row);
    const { kind, header_name } = row;
    if (row.oauth === null) {
      return { ok: true, connection: { kind, header_name, secret: opened.secret } };
    }
    return openToken(tokens, row, row.oauth, opened.secret);
  };
}

async function openToken(
  tokens: Tokens,
  row: ConnectionRow,
  oauth: OauthClient,
  secret: string,
): ReturnType<OpenCredentials> {
  const found = await tokens.find(row, oauth, secret);
  if (!found.ok) return found;
  let { isNew } = found;
  const connection: ConnectionCredentials = {
    ...{ kind: row.kind, header_name: row.header_name, secret: found.token },
    // The database is not read: without it the whole call would be repeated, after a request.
    async renew() {
      tokens.forget(row, connection.secret);
      if (isNew) return false;
      const renewed = await tokens.find(row, oauth, secret);
      if (!renewed.ok) return false;
      connection.secret = renewed.token;
      isNew = true;
      return true;
    },
  };
  return { ok: true, connection };
}
