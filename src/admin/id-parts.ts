// Ids as operators type them: whole, or at least six of their first or last characters.
import type { Database } from "../database/index.ts";
import { idStore, type ObjectKind, TOP } from "../inventory/index.ts";
import { yieldToEventLoop } from "../platform/clock.ts";
import { AdminError, isId, LISTS } from "./errors.ts";

/** Pattern of a part, whose characters have no meaning in a search pattern. */
const PART = /^[0-9a-f-]{6,35}$/;
/** Ids that one read searches in a few milliseconds; other work goes on between two reads. */
const IDS_AT_ONCE = 5_000;
/** Maximum ids that are searched; parts name recent objects. */
const IDS_MAX = 1_000_000;
const NAMED_MAX = 4;

export type ResolveId = (kind: ObjectKind, typed: string) => Promise<string>;

export function isIdPart(typed: string): boolean {
  return PART.test(typed);
}

/** Returns the whole id in small letters; a text that cannot be part of one stays as it is. */
export function createIdResolver(database: Database): ResolveId {
  const ids = database.bind(idStore);
  return async (kind, typed) => {
    const part = typed.toLowerCase();
    if (isId(part)) return part;
    if (!PART.test(part)) return typed;
    // An id may begin and end with the same characters.
    const found = new Set(await ids.findByBegin(kind, part, NAMED_MAX + 1));
    let before: string | null = TOP;
    for (let searched = 0; searched < IDS_MAX; searched += IDS_AT_ONCE) {
      if (before === null || found.size > NAMED_MAX) break;
      const search = { part, before, limit: IDS_AT_ONCE };
      const next: { found: string[]; lastId: string | null } = await ids.searchByEnd(kind, search);
      for (const id of next.found) found.add(id);
      before = next.lastId;
      await yieldToEventLoop();
    }
    const [first, second] = found;
    if (first !== undefined && second === undefined) return first;
    throw first === undefined ? notFound(kind) : ambiguous(kind, [...found]);
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
