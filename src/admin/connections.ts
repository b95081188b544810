// Connections of accounts: create, list, set the secret, delete.
import { type Static, Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import {
  CONNECTION_KINDS,
  type ConnectionKind,
  type Connections,
  ToolConnection,
} from "../agents/index.ts";
import { Resource } from "../platform/schema.ts";
import { nameAccounts } from "./accounts.ts";
import { AdminError, explainRefusal, readId, refuseUnknown } from "./errors.ts";

export const ListedConnection = Resource("ListedConnection", {
  account: Type.String({ description: "The owner's name." }),
  ...ToolConnection.properties,
});
type ListedConnectionRow = Static<typeof ListedConnection>;

export interface ConnectionRequest {
  name: string;
  /** The owner's name. */
  account: string;
  /** null for `header` where a header is named, else `bearer`. */
  kind: string | null;
  header_name: string | null;
  allowed_hosts: readonly string[];
  secret: string;
}

export interface ConnectionAdminOptions {
  access: Pick<Access, "accounts">;
  connections: Connections;
  /** Maximum connections of an account. */
  connections_max: number;
  requireAccount(name: string): Promise<Account>;
}

export function createConnectionAdmin(options: ConnectionAdminOptions) {
  const { access, connections, connections_max, requireAccount } = options;

  const requireOne = async (typed: string) => {
    const id = readId(typed, "connection's id", "wadi connections list");
    const account_id = await connections.findOwner(id);
    if (account_id !== undefined) return { id, account_id };
    throw new AdminError(`there is no connection "${id}": see \`wadi connections list\``);
  };
  return {
    /** Newest first. */
    async list(account: string | null): Promise<ListedConnectionRow[]> {
      const owner = account === null ? null : await requireAccount(account);
      const names = await nameAccounts(access);
      const found = await connections.list(owner?.id ?? null);
      return found.map((row) => ({ account: names.get(row.account_id)!, ...row }));
    },
    async create(request: ConnectionRequest): Promise<ListedConnectionRow> {
      const { account, kind, ...rest } = request;
      const owner = await requireAccount(account);
      const wanted = kind ?? (rest.header_name === null ? "bearer" : "header");
      const chosen = { ...rest, kind: requireKind(wanted) };
      const made = await explainRefusal(() =>
        connections.create(owner.id, chosen, connections_max),
      );
      return { account: owner.name, ...made };
    },
    /** Counts from the next call on, also in a running server; null keeps the hosts. */
    async setSecret(
      typed: string,
      secret: string,
      hosts: readonly string[] | null = null,
    ): Promise<ListedConnectionRow> {
      const { id, account_id } = await requireOne(typed);
      const set = await explainRefusal(() => connections.setSecret(id, account_id, secret, hosts));
      return { account: (await nameAccounts(access)).get(account_id)!, ...set };
    },
    /** Deletes the secret too. */
    async remove(typed: string): Promise<string> {
      const { id, account_id } = await requireOne(typed);
      await explainRefusal(() => connections.remove(id, account_id));
      return id;
    },
  };
}

function requireKind(text: string): ConnectionKind {
  const kind = CONNECTION_KINDS.find((one) => one === text);
  if (kind) return kind;
  const advice = `a kind is one of ${CONNECTION_KINDS.join(", ")}`;
  throw refuseUnknown("kind", text, CONNECTION_KINDS, advice);
}
