// Finds objects by a part of their name or id, for a person who jumps to one.
import { type Static, Type } from "@sinclair/typebox";
import { idStore, NAMED_KINDS } from "../inventory/index.ts";
import { yieldToEventLoop } from "../platform/clock.ts";
import { maybe, oneOf } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { isId } from "./errors.ts";
import { isIdPart } from "./id-parts.ts";

/** Rows of one kind that are searched: names are of recent objects, and a read takes 5 ms. */
const SEARCHED_MAX = 10_000;
const OF_KIND_MAX = 5;

export const FoundObject = Type.Object({
  kind: oneOf(["model", ...NAMED_KINDS], "Kind of the object."),
  id: Type.String({ description: "Identifier; of an account its name too." }),
  name: maybe(
    Type.String({ description: "Name, tool of an approval, or URL of an endpoint; null: none." }),
  ),
  account: maybe(Type.String({ description: "Name of the owner; null: none." })),
});
type FoundObject = Static<typeof FoundObject>;

export function createSearch({ database, settings }: AdminDeps, directory: AccountDirectory) {
  const ids = database.bind(idStore);
  return async (typed: string): Promise<FoundObject[]> => {
    const text = typed.trim().toLowerCase();
    if (text === "") return [];
    const found: FoundObject[] = settings.models
      .filter(({ id }) => id.toLowerCase().includes(text))
      .slice(0, OF_KIND_MAX)
      .map(({ id }) => ({ kind: "model", id, name: id, account: null }));
    const names = await directory.names();
    const search = { text, isIdPart: isId(text) || isIdPart(text), limit: OF_KIND_MAX };
    for (const kind of NAMED_KINDS) {
      const rows = await ids.searchNames(kind, { ...search, searched: SEARCHED_MAX });
      for (const { id, name, account_id } of rows) {
        const account = account_id === null ? null : (names.get(account_id) ?? null);
        found.push({ kind, id, name, account });
      }
      await yieldToEventLoop();
    }
    return found;
  };
}
