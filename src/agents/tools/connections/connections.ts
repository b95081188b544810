// Creates, changes and deletes connections, and opens their secrets for calls.
import type { Secrets } from "../../../crypto/index.ts";
import type { Database } from "../../../database/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { apiError } from "../../../platform/errors.ts";
import type { Ids } from "../../../platform/ids.ts";
import type { Log } from "../../../platform/log.ts";
import type { ConnectionRow } from "./connection.ts";
import { type ConnectionChange, connectionStore } from "./store.ts";
import {
  type ConnectionInput,
  requireConnection,
  requireHosts,
  requireName,
  requireSecret,
} from "./validation.ts";

export interface ConnectionOptions {
  database: Database;
  secrets: Pick<Secrets, "store">;
  clock: Clock;
  ids: Ids;
}

/** A key without an account owns no connection. */
export function createConnections({ database, secrets, clock, ids }: ConnectionOptions) {
  const store = database.bind(connectionStore);

  /** agents.errors.connection_not_found, agents.authentication.6 */
  const require = async (id: string, account_id: string | null): Promise<ConnectionRow> => {
    const found = account_id === null ? undefined : await store.find(id, account_id);
    if (!found) throw apiError("connection_not_found");
    return found;
  };
  return {
    require,
    /** Newest first, of one account or of all. */
    list: store.list,
    findOwner: store.findOwner,
    async create(account_id: string, input: ConnectionInput, connectionsMax: number) {
      requireConnection(input);
      const [id, now] = [ids.uuid(), clock.now()];
      const { name, kind, header_name, secret, allowed_hosts } = input;
      const row: ConnectionRow = {
        id,
        account_id,
        kind,
        header_name,
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
    async change(id: string, account_id: string | null, change: ConnectionChange) {
      const { name, allowed_hosts } = change;
      if (name !== undefined) requireName(name);
      if (allowed_hosts !== undefined) requireHosts(allowed_hosts);
      const row = await require(id, account_id);
      const wellFormed = { ...change, ...(name !== undefined && { name: name.toWellFormed() }) };
      const changed = await store.update(id, row.account_id, wellFormed, clock.now());
      if (!changed) throw apiError("connection_not_found");
      return changed;
    },
    async setSecret(
      id: string,
      ownerId: string | null,
      secret: string,
      hosts: readonly string[] | null = null,
    ) {
      if (hosts !== null) requireHosts(hosts);
      const { kind, account_id } = await require(id, ownerId);
      requireSecret(kind, secret);
      const about = { kind: "connection", row_id: id, account_id, set_at: clock.now() } as const;
      const set = await secrets.store(about, secret, (sealed) =>
        store.setSecret(id, account_id, sealed, hosts),
      );
      if (!set) throw apiError("connection_not_found");
      return set;
    },
    async remove(id: string, account_id: string | null): Promise<void> {
      const row = await require(id, account_id);
      if (!(await store.remove(id, row.account_id))) throw apiError("connection_not_found");
    },
  };
}
export type Connections = ReturnType<typeof createConnections>;

const USE_EVERY_MS = 60_000;

export interface ConnectionCredentials extends Pick<ConnectionRow, "kind" | "header_name"> {
  secret: string;
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

  const writeUse = ({ id, account_id, last_used_at }: ConnectionRow) => {
    const now = clock.now();
    const isRecent = last_used_at !== null && now < last_used_at + USE_EVERY_MS;
    if (isRecent || beingWritten.has(id)) return;
    beingWritten.add(id);
    void store
      .use(id, now)
      .catch(() => log.warn("the use of a connection was not written", { account_id }))
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
    if (!opened.ok) return { ok: false, problem: SECRET_PROBLEMS[opened.why] };
    writeUse(row);
    const { kind, header_name } = row;
    return { ok: true, connection: { kind, header_name, secret: opened.secret } };
  };
}
