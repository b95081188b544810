// Makes, changes and deletes connections, and keeps their secrets in the box.

import type { SecretStore } from "../../../crypto/index.ts";
import type { Database } from "../../../database/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { apiError } from "../../../platform/errors.ts";
import type { Ids } from "../../../platform/ids.ts";
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
  secrets: Pick<SecretStore, "store">;
  clock: Clock;
  ids: Ids;
}

/** `account_id` null, of a key without an owner: nothing is its own. */
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
    /** Newest first; of one account, or of all where it is null. */
    list: store.list,
    /** Whoever owns it; undefined: there is none of this id. */
    findOwner: store.findOwner,
    async create(account_id: string, wish: ConnectionInput, connections_max: number) {
      requireConnection(wish);
      const [id, now] = [ids.uuid(), clock.now()];
      const { name, kind, header_name, secret, allowed_hosts } = wish;
      const row: ConnectionRow = {
        ...{ id, account_id, kind, header_name, name: name.toWellFormed() },
        ...{ allowed_hosts: [...allowed_hosts], secret_set_at: now, last_used_at: null },
        ...{ created_at: now, updated_at: now },
      };
      const about = { kind: "connection", row_id: id, account_id, set_at: now } as const;
      // agents.errors.connections_unavailable: the box refuses.
      return secrets.store(about, secret, (sealed) => store.create(row, sealed, connections_max));
    },
    async change(id: string, account_id: string | null, wish: ConnectionChange) {
      const { name, allowed_hosts } = wish;
      if (name !== undefined) requireName(name);
      if (allowed_hosts !== undefined) requireHosts(allowed_hosts);
      const row = await require(id, account_id);
      const change = { ...wish, ...(name !== undefined && { name: name.toWellFormed() }) };
      const changed = await store.update(id, row.account_id, change, clock.now());
      if (!changed) throw apiError("connection_not_found");
      return changed;
    },
    /** `hosts`: where it may be sent from now on; null: as before. */
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
