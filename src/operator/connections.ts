// Connections as the operator makes, lists and deletes them for accounts.
import { type Static, Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import {
  CONNECTION_KINDS,
  Connection,
  type ConnectionKind,
  type Connections,
} from "../agents/index.ts";
import { Refusal } from "../platform/refusal.ts";
import { Resource } from "../platform/shape.ts";
import { readId } from "./ids.ts";
import { OperatorProblem, refuseUnknown } from "./problem.ts";

export const ListedConnection = Resource("ListedConnection", {
  account: Type.String({ description: "The owner's name." }),
  ...Connection.properties,
});
type ListedConnectionRow = Static<typeof ListedConnection>;

export interface ConnectionVerbWish {
  name: string;
  /** The owner's name. */
  account: string;
  /** null: `header` where a header is named, else `bearer`. */
  kind: string | null;
  header_name: string | null;
  allowed_hosts: readonly string[];
  secret: string;
}

export interface ConnectionVerbsOptions {
  access: Pick<Access, "accounts">;
  connections: Connections;
  /** That an account may have. */
  connections_max: number;
  requireAccount(name: string): Promise<Account>;
}

export function createConnectionVerbs(options: ConnectionVerbsOptions) {
  const { access, connections, connections_max, requireAccount } = options;

  const listNames = async () => {
    const accounts = await access.accounts.list();
    return new Map(accounts.map(({ id, name }) => [id, name]));
  };
  /** Its id and its owner. */
  const requireOne = async (typed: string) => {
    const id = readId(typed, "connection's id", "wadi connections list");
    const account_id = await connections.findOwner(id);
    if (account_id !== undefined) return { id, account_id };
    throw new OperatorProblem(`there is no connection "${id}": see \`wadi connections list\``);
  };
  return {
    /** Newest first; of one account, or of all. */
    async list(account: string | null): Promise<ListedConnectionRow[]> {
      const owner = account === null ? null : await requireAccount(account);
      const names = await listNames();
      const found = await connections.list(owner?.id ?? null);
      return found.map((row) => ({ account: names.get(row.account_id)!, ...row }));
    },
    async create(wish: ConnectionVerbWish): Promise<ListedConnectionRow> {
      const { account, kind, ...rest } = wish;
      const owner = await requireAccount(account);
      const wanted = kind ?? (rest.header_name === null ? "bearer" : "header");
      const chosen = { ...rest, kind: requireKind(wanted) };
      const made = await explain(() => connections.create(owner.id, chosen, connections_max));
      return { account: owner.name, ...made };
    },
    /** It is sent from the next call on, also by a server that runs beside; null: as before. */
    async setSecret(
      typed: string,
      secret: string,
      hosts: readonly string[] | null = null,
    ): Promise<ListedConnectionRow> {
      const { id, account_id } = await requireOne(typed);
      const set = await explain(() => connections.setSecret(id, account_id, secret, hosts));
      return { account: (await listNames()).get(account_id)!, ...set };
    },
    /** The secret goes with it. */
    async remove(typed: string): Promise<string> {
      const { id, account_id } = await requireOne(typed);
      await explain(() => connections.remove(id, account_id));
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

/** What the API refuses is a problem of who typed it. */
async function explain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (failure) {
    if (failure instanceof Refusal) throw new OperatorProblem(failure.message);
    throw failure;
  }
}
