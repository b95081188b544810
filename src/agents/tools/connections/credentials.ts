// Opens a connection for one call: read anew each time, so that what was revoked is sent nowhere.

import type { SecretStore } from "../../../crypto/index.ts";
import type { Database } from "../../../database/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { ConnectionRow } from "./connection.ts";
import { connectionStore } from "./store.ts";

/** A connection that is used all the time is written to so often and no more. */
const USE_EVERY_MS = 60_000;

export interface ConnectionCredentials extends Pick<ConnectionRow, "kind" | "header_name"> {
  secret: string;
}

export type OpenCredentials = (ask: {
  id: string;
  account_id: string;
  /** Where its secret is to go, as `URL.host` writes it. */
  host: string;
}) => Promise<
  | { ok: true; connection: ConnectionCredentials }
  /** A sentence: why the secret is not to be had. */
  | { ok: false; say: string }
>;

export interface CredentialsOptions {
  database: Database;
  secrets: Pick<SecretStore, "open">;
  clock: Clock;
  log: Pick<Log, "warn">;
}

const WHY = {
  missing: "Its connection has no secret.",
  unavailable: "The secrets of connections cannot be read now.",
  unreadable: "The secret of its connection cannot be read; set it anew.",
};

export function createCredentials(options: CredentialsOptions): OpenCredentials {
  const { database, secrets, clock, log } = options;
  const store = database.bind(connectionStore);
  /** The connections whose use is being written. */
  const noting = new Set<string>();

  /** Nobody waits for it. */
  const noteUse = ({ id, account_id, last_used_at }: ConnectionRow) => {
    const now = clock.now();
    if (noting.has(id) || (last_used_at !== null && now < last_used_at + USE_EVERY_MS)) return;
    noting.add(id);
    const warn = () => log.warn("the use of a connection was not written", { account_id });
    void store
      .use(id, now)
      .catch(warn)
      .finally(() => noting.delete(id));
  };
  return async ({ id, account_id, host }) => {
    const row = await store.find(id, account_id);
    if (!row) return { ok: false, say: "Its connection does not exist any more." };
    // Looked at before the secret is: it goes to its allowed hosts only.
    if (!row.allowed_hosts.includes(host)) {
      return { ok: false, say: "Its connection is not for the endpoint's host." };
    }
    const opened = await secrets.open({ kind: "connection", row_id: id, account_id });
    if (!opened.ok) return { ok: false, say: WHY[opened.why] };
    noteUse(row);
    const { kind, header_name } = row;
    return { ok: true, connection: { kind, header_name, secret: opened.secret } };
  };
}
