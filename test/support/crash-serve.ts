// A process that creates keys endlessly, and prints each acknowledged id: FILE.
import { keyStore } from "../../src/access/store.ts";
import { createSystemIds } from "../../src/platform/ids.ts";
import { openTestDatabase, WRITER } from "./database.ts";

const CALLERS = 8;

const file = process.argv[2]!;
const database = await openTestDatabase({ kind: "sqlite", file, writer: WRITER }, true);
const keys = database.bind(keyStore);
const ids = createSystemIds();

async function createWithoutEnd(): Promise<never> {
  for (;;) {
    const id = ids.uuid();
    const nothing = { models: null, max_output_tokens: null, expires_at: null, revoked_at: null };
    await keys.create(
      { id, account_id: null, name: null, kind: "ordinary", scopes: [], created_at: 0, ...nothing },
      { hash: id, key_id: id, created_at: 0, expires_at: null, ends_in: null },
    );
    console.log(id);
  }
}
await Promise.all(Array.from({ length: CALLERS }, createWithoutEnd));
