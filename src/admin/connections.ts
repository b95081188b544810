// Connections of accounts: create, list, set the secret, delete.
import { type Static, Type } from "@sinclair/typebox";
import {
  CONNECTION_KINDS,
  type ConnectionKind,
  createConnections,
  WholeConnection,
} from "../agents/index.ts";
import { GuardedEgress } from "../net/index.ts";
import { Resource } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { explainApiError, requireById, unknownName } from "./errors.ts";

export const ListedConnection = Resource("ListedConnection", {
  account: Type.String({ description: "The owner's name." }),
  ...WholeConnection.properties,
});
type ListedConnectionRow = Static<typeof ListedConnection>;

export interface ConnectionRequest {
  name: string;
  account: string;
  /** Default `header` with a header name, else `bearer`. */
  kind: string | null;
  header_name: string | null;
  allowed_hosts: readonly string[];
  secret: string;
}

export function createConnectionAdmin(
  { database, secrets, clock, ids, settings }: AdminDeps,
  directory: AccountDirectory,
) {
  const egress = new GuardedEgress({ clock, allow: () => settings.egress.allow });
  const connections = createConnections({ database, secrets, egress, clock, ids });
  const require = (typed: string) =>
    requireById("connection", typed, async (id) => {
      const account_id = await connections.findOwner(id);
      return account_id === undefined ? undefined : { id, account_id };
    });
  return {
    list: (account: string | null): Promise<ListedConnectionRow[]> =>
      directory.list(account, connections.list),
    async find(id: string): Promise<ListedConnectionRow | undefined> {
      return (await directory.list(null, connections.list)).find((one) => one.id === id);
    },
    async create({ account, kind, ...rest }: ConnectionRequest): Promise<ListedConnectionRow> {
      const owner = await directory.require(account);
      const request = {
        ...rest,
        kind: readKind(kind ?? (rest.header_name === null ? "bearer" : "header")),
      };
      const created = await explainApiError(() =>
        connections.create(owner.id, request, settings.limits.connections),
      );
      return { account: owner.name, ...created };
    },
    /** Takes effect at the next call, also in a running server; null keeps the hosts. */
    async setSecret(
      typed: string,
      secret: string,
      hosts: readonly string[] | null = null,
    ): Promise<ListedConnectionRow> {
      const { id, account_id } = await require(typed);
      const changed = await explainApiError(() =>
        connections.setSecret(id, account_id, secret, hosts),
      );
      return directory.addName({ ...changed, account_id });
    },
    /** Deletes the secret too. */
    async remove(typed: string): Promise<string> {
      const { id, account_id } = await require(typed);
      await explainApiError(() => connections.remove(id, account_id));
      return id;
    },
  };
}

function readKind(text: string): ConnectionKind {
  const kind = CONNECTION_KINDS.find((one) => one === text);
  if (kind) return kind;
  const advice = `a kind is one of ${CONNECTION_KINDS.join(", ")}`;
  throw unknownName("kind", text, CONNECTION_KINDS, advice);
}
