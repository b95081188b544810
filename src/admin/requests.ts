// Requests of the gateway for the operator: search, explanation of one, and those that follow.
import { type Static, Type } from "@sinclair/typebox";
import { explainEntry, LogEntry, type RequestFilter, RequestLogReader } from "../gateway/index.ts";
import { maybe, Row } from "../platform/schema.ts";
import { shorten } from "../platform/text.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireById } from "./errors.ts";
import { isIdPart } from "./id-parts.ts";
import { requireTime } from "./time.ts";

export const ListedRequest = Row(LogEntry, {
  account: maybe(Type.String({ description: "The owner's name; null: none, or deleted." })),
  key: maybe(Type.String({ description: "Name of the key; null: none." })),
});
export type ListedRequest = Static<typeof ListedRequest>;

export const ExplainedRequest = Row(ListedRequest, {
  explanation: Type.Array(Type.String(), {
    description: "A sentence for each decision, in the order in which they were made.",
  }),
});

/** A search as it was typed; a missing field matches every request. */
export interface RequestSearch {
  account?: string;
  key?: string;
  model?: string;
  /** A status such as `429`, or a class such as `5xx`. */
  status?: string;
  code?: string;
  run?: string;
  /** A day, an instant or a duration before now. */
  since?: string;
  slower_than_ms?: number;
}

export function createRequestAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { database, access, clock, settings } = deps;
  const reader = new RequestLogReader(database);
  const readSearch = async (search: RequestSearch): Promise<RequestFilter> => {
    const { account, key, model, status, code, run, since, slower_than_ms } = search;
    return {
      account_id: account === undefined ? undefined : (await directory.require(account)).id,
      key_id: key === undefined ? undefined : await requireKey(access, key),
      model,
      ...(status !== undefined && readStatus(status)),
      code,
      run_id: run?.toLowerCase(),
      since: since === undefined ? undefined : requireTime(since, clock.now()),
      slowerThanMs: slower_than_ms,
    };
  };
  const addNames = async (entries: readonly LogEntry[]): Promise<ListedRequest[]> => {
    const accounts = await directory.names();
    const keys = new Map<string, string | null>();
    for (const { key_id } of entries) {
      if (!keys.has(key_id)) keys.set(key_id, (await access.keys.findById(key_id))?.name ?? null);
    }
    return entries.map((entry) => ({
      ...entry,
      account: accounts.get(entry.account_id ?? "") ?? null,
      key: keys.get(entry.key_id)!,
    }));
  };
  return {
    /** Lists the newest first; `before` is the `next` of the page before. */
    async list(search: RequestSearch, limit: number, before: string | null) {
      const { entries, next } = await reader.list(await readSearch(search), limit, before);
      return { rows: await addNames(entries), next };
    },
    async listLater(search: RequestSearch, after: string) {
      const filter = await readSearch(search);
      const { entries, last } = await reader.listLater(filter, after, clock.now());
      return { rows: await addNames(entries), last };
    },
    /**
     * Finds by request id, which may be that of several requests, or by the row's id; by a part of
     * either among recent ones.
     */
    async explain(id: string) {
      let found = await reader.find(id);
      const idPart = id.toLowerCase();
      if (found.length === 0 && isIdPart(idPart)) found = await reader.findByPart(idPart);
      const rows = await addNames(found);
      if (rows.length === 0) {
        throw new AdminError(
          `there is no request "${shorten(id)}": see \`wadi requests list\``,
          "not found",
        );
      }
      return rows.map((row) => ({
        ...row,
        explanation: explainEntry(row, row, settings.service.currency),
      }));
    },
  };
}

async function requireKey({ keys }: AdminDeps["access"], typed: string): Promise<string> {
  return (await requireById("key", typed, keys.findById)).id;
}

function readStatus(typed: string): Pick<RequestFilter, "statusMin" | "statusMax"> {
  const [, first, rest] = /^([1-5])(xx|\d\d)$/.exec(typed) ?? [];
  if (first === undefined) throw new AdminError(`"${typed}" is no status, such as 429 or 5xx`);
  const isClass = rest === "xx";
  return {
    statusMin: Number(first + (isClass ? "00" : rest)),
    statusMax: Number(first + (isClass ? "99" : rest)),
  };
}
