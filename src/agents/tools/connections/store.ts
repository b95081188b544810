// Connections in the database; their sealed secrets are in a table of their own.
import { Type } from "@sinclair/typebox";
import { dropSecret, putSecret, type SealedSecret } from "../../../crypto/store.ts";
import {
  countRows,
  type Db,
  type DeletedPart,
  deleteTrees,
  into,
  none,
  requireCapacity,
  sql,
  store,
  type Tx,
} from "../../../database/index.ts";
import { type ApiError, apiError } from "../../../platform/errors.ts";
import { ConnectionRow } from "./connection.ts";

export type ConnectionChange = Partial<Pick<ConnectionRow, "name" | "allowed_hosts">>;

const Hosts = Type.Object({
  account_id: Type.String(),
  allowed_hosts: Type.Array(Type.String()),
});
const Id = Type.Object({ id: Type.String() });
const Name = Type.Object({ name: Type.String() });
const Owner = Type.Object({ account_id: Type.String() });

export const connectionStore = store(
  "connections",
  {
    /** agents.authentication.6: another account's connection is not found. */
    find: (db, id: string, account_id: string) => findConnection(db, id, account_id),
    list: (db, account_id: string | null) =>
      db.all(
        ConnectionRow,
        sql`SELECT * FROM connections
            ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
            ORDER BY created_at DESC, id DESC`,
      ),
    findOwner: async (db, id: string) => {
      const found = await db.one(Owner, sql`SELECT account_id FROM connections WHERE id = ${id}`);
      return found?.account_id;
    },
  },
  {
    create: async (tx, row: ConnectionRow, secret: SealedSecret, connectionsMax: number) => {
      await requireRoom(tx, row.account_id, connectionsMax);
      const made = await tx.run(
        sql`INSERT INTO connections ${into(ConnectionRow, row)}
            ON CONFLICT (account_id, name) DO NOTHING`,
      );
      if (made === 0) throw nameTakenError(row.name);
      await putSecret(tx, secret);
      return row;
    },
    update: async (tx, id: string, account_id: string, change: ConnectionChange, now: number) => {
      const found = await findConnection(tx, id, account_id);
      if (!found) return undefined;
      const wanted = { ...found, ...change };
      // A change without effect does not count as an update.
      if (Bun.deepEquals(wanted, found)) return found;
      const { name, allowed_hosts } = wanted;
      requireNarrowing(found.allowed_hosts, allowed_hosts);
      if (name !== found.name && (await isTaken(tx, account_id, name))) throw nameTakenError(name);
      await tx.run(
        sql`UPDATE connections SET name = ${name}, updated_at = ${now},
              allowed_hosts = ${JSON.stringify(allowed_hosts)}
            WHERE id = ${id}`,
      );
      return { ...wanted, updated_at: now };
    },
    setSecret: async (
      tx,
      id: string,
      account_id: string,
      secret: SealedSecret,
      hosts: readonly string[] | null = null,
    ) => {
      const found = await findConnection(tx, id, account_id);
      if (!found) return undefined;
      const { set_at } = secret;
      const allowed_hosts = hosts === null ? found.allowed_hosts : [...hosts];
      await tx.run(
        sql`UPDATE connections SET secret_set_at = ${set_at}, updated_at = ${set_at},
              allowed_hosts = ${JSON.stringify(allowed_hosts)}
            WHERE id = ${id}`,
      );
      await putSecret(tx, secret);
      return { ...found, allowed_hosts, secret_set_at: set_at, updated_at: set_at };
    },
    remove: async (tx, id: string, account_id: string) => {
      if (!(await findConnection(tx, id, account_id))) return false;
      await requireUnused(tx, id, account_id);
      await tx.run(sql`DELETE FROM connections WHERE id = ${id}`);
      await dropSecret(tx, "connection", id);
      return true;
    },
    use: async (tx, id: string, now: number) => {
      await tx.run(
        sql`UPDATE connections SET last_used_at = ${now}
            WHERE id = ${id} AND COALESCE(last_used_at, 0) < ${now}`,
      );
    },
  },
);

/** New hosts need the secret: a key that cannot read it could send it to its own host. */
function requireNarrowing(before: readonly string[], after: readonly string[]): void {
  const isSame = after.length === before.length && after.every((host, i) => host === before[i]);
  const isNarrower = after.length > 0 && after.every((host) => before.includes(host));
  if (isSame || isNarrower || before.length === 0) return;
  const message =
    "A connection's hosts can be made fewer, but not none; others are set together with its " +
    "secret (PUT …/secret).";
  throw apiError("invalid_request", { param: "allowed_hosts", message });
}

/** Binds a connection without hosts to this host; otherwise the host must be listed. */
export async function bindHost(
  tx: Tx,
  connection_id: string,
  account_id: string,
  host: string,
): Promise<void> {
  const found = await tx.one(
    Hosts,
    sql`SELECT account_id, allowed_hosts FROM connections WHERE id = ${connection_id}`,
  );
  const param = "connection_id";
  // agents.errors.connection_not_found, agents.authentication.6
  if (found?.account_id !== account_id) throw apiError("connection_not_found", { param });
  if (found.allowed_hosts.includes(host)) return;
  if (found.allowed_hosts.length > 0) {
    const message =
      `The connection is for other hosts than the endpoint's: add ${JSON.stringify(host)} to its ` +
      "`allowed_hosts`, together with its secret (PUT …/secret).";
    throw apiError("invalid_request", { param, message });
  }
  await tx.run(
    sql`UPDATE connections SET allowed_hosts = ${JSON.stringify([host])}
        WHERE id = ${connection_id}`,
  );
}

async function findConnection(
  db: Db,
  id: string,
  account_id: string,
): Promise<ConnectionRow | undefined> {
  const found = await db.one(ConnectionRow, sql`SELECT * FROM connections WHERE id = ${id}`);
  return found?.account_id === account_id ? found : undefined;
}

/** agents.errors.connection_limit_reached, agents.limits.run_admission_trigger_endpoint */
async function requireRoom(tx: Tx, account_id: string, connectionsMax: number): Promise<void> {
  const rows = sql`FROM connections WHERE account_id = ${account_id}`;
  const message = `The account has ${connectionsMax} connections, and may have no more.`;
  await requireCapacity(tx, rows, connectionsMax, "connection_limit_reached", message);
}

async function isTaken(tx: Tx, account_id: string, name: string): Promise<boolean> {
  const rows = sql`FROM connections WHERE account_id = ${account_id} AND name = ${name}`;
  return (await countRows(tx, rows)) > 0;
}

/** Only enabled tools in their latest revisions use a connection. */
async function requireUnused(tx: Tx, id: string, account_id: string): Promise<void> {
  const tool = await tx.one(
    Name,
    sql`SELECT t.name FROM tool_revisions AS r JOIN tools AS t
          ON t.account_id = r.account_id AND t.name = r.name AND t.revision = r.revision
        WHERE r.connection_id = ${id} AND t.account_id = ${account_id} AND t.status = 'enabled'
          AND t.gone_at IS NULL
        ORDER BY t.name LIMIT 1`,
  );
  if (tool) {
    const use = `The tool \`${tool.name}\` uses the connection`;
    throw apiError("connection_in_use", { message: `${use}: disable it, or revise it first.` });
  }
  const server = await tx.one(
    Name,
    sql`SELECT name FROM mcp_servers WHERE connection_id = ${id} ORDER BY name LIMIT 1`,
  );
  if (!server) return;
  const message = `The MCP server \`${server.name}\` uses the connection: delete it first.`;
  throw apiError("connection_in_use", { message });
}

/** agents.errors.connection_name_taken, agents.resources.connection */
function nameTakenError(name: string): ApiError {
  const message = `A connection of the name ${JSON.stringify(name.slice(0, 64))} exists.`;
  return apiError("connection_name_taken", { param: "name", message });
}

/** Part of a transaction: deletes connections of an account with their secrets. */
export function deleteConnections(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const own = sql`SELECT id FROM connections WHERE account_id = ${account_id} LIMIT 1`;
  const tree = {
    find: () => tx.one(Id, own),
    deleteChildren: async () => 0,
    async deleteParent({ id }: { id: string }) {
      await tx.run(sql`DELETE FROM connections WHERE id = ${id}`);
      await dropSecret(tx, "connection", id);
    },
  };
  return deleteTrees(tree, limit);
}
