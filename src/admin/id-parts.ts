// Ids as operators type them: whole, or at least six of their first or last characters.
import type { Database } from "../database/index.ts";
import { idStore, type ObjectKind } from "../inventory/index.ts";
import { AdminError, isId, LISTS } from "./errors.ts";

/** Pattern of a part, whose characters have no meaning in a search pattern. */
const PART = /^[0-9a-f-]{6,35}$/;
/** Ids that one read searches in a few milliseconds. */
const IDS_AT_ONCE = 10_000;
/** Maximum ids that are searched; parts name recent objects. */
const IDS_MAX = 1_000_000;
const NAMED_MAX = 4;
/** Text above every id. */
const TOP = "g";

export type ResolveId = (kind: ObjectKind, typed: string) => Promise<string>;

export function isIdPart(typed: string): boolean {
  return PART.test(typed);
}

/** Returns the whole id; a text that cannot be part of one is returned as it is. */
export function createIdResolver(database: Database): ResolveId {
  const ids = database.bind(idStore);
  return async (kind, typed) => {
    const part = typed.toLowerCase();
    if (isId(part) || !PART.test(part)) return typed;
    const found: string[] = [];
    let before: string | null = TOP;
    for (let searched = 0; before !== null && searched < IDS_MAX; searched += IDS_AT_ONCE) {
      const next = await ids.search(kind, { part, before, limit: IDS_AT_ONCE });
      found.push(...next.found);
      if (found.length > NAMED_MAX) break;
      before = next.lastId;
    }
    if (found.length === 1) return found[0]!;
    throw found.length === 0 ? notFound(kind) : ambiguous(kind, found);
  };
}

/** Never echoes the part: it may be of a secret. */
function notFound(kind: ObjectKind): AdminError {
  return new AdminError(
    `no ${kind}'s id begins or ends so: \`${LISTS[kind]}\` shows them`,
    "not found",
  );
}

function ambiguous(kind: ObjectKind, found: readonly string[]): AdminError {
  const more = found.length > NAMED_MAX ? " and more" : "";
  const named = found.slice(0, NAMED_MAX).join(", ");
  return new AdminError(`several ids of ${kind}s begin or end so: ${named}${more}`, "conflict");
}
