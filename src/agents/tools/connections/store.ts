// Connections in the database.
import { Type } from "@sinclair/typebox";
import { sql, type Tx } from "../../../platform/database/index.ts";
import { refuse } from "../../../platform/refusal.ts";

const Hosts = Type.Object({
  account_id: Type.String(),
  allowed_hosts: Type.Array(Type.String()),
});

/** A part: refuses a host that the connection is not for; one without hosts is for this from now. */
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
  if (found?.account_id !== account_id) throw refuse("connection_not_found", { param });
  if (found.allowed_hosts.includes(host)) return;
  if (found.allowed_hosts.length > 0) {
    const message = "The connection is for other hosts than the endpoint's.";
    throw refuse("invalid_request", { param, message });
  }
  await tx.run(
    sql`UPDATE connections SET allowed_hosts = ${JSON.stringify([host])}
        WHERE id = ${connection_id}`,
  );
}
