// Statements that a write sends at once and whose transaction is aborted fail one after the other:
// the write fails, and none of them ends the process.
import { expect, test } from "bun:test";
import { claim } from "../../src/agents/runs/store/claim.ts";
import { sql, type Tx } from "../../src/database/index.ts";
import { writeEntries } from "../../src/gateway/request-log/entry.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
import { makeEntry } from "../support/request-log.ts";

/** Each statement fails a turn of the event loop after the one before it. */
function createAbortedTx(): Tx {
  let turns = 0;
  const fail = async () => {
    for (let left = ++turns; left > 0; left--) await new Promise(setImmediate);
    throw new Error(`statement ${turns}`);
  };
  const part = sql`FOR UPDATE`;
  return {
    ...{ one: fail, all: fail, run: fail, commitEarly() {}, tell() {} },
    ...{ forUpdate: part, forShare: part, skipLocked: part },
  } as unknown as Tx;
}

const WRITES = {
  "runs.claim": (tx: Tx) => claim(tx, 1, [{ account_id: "acme", runsMax: 2 }], 0),
  "ledger.add": (tx: Tx) => {
    const entries = ["01a", "01b", "01c"].map((id) => makeEntry(id));
    return requestLogStore.writes.add(tx, writeEntries(entries), false);
  },
};

test.each(Object.entries(WRITES))("%s fails as a whole", async (_name, write) => {
  const loose: unknown[] = [];
  const note = (failure: unknown) => void loose.push(failure);
  process.on("unhandledRejection", note);
  try {
    expect(await write(createAbortedTx()).catch(String)).toStartWith("Error: statement");
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
  } finally {
    process.off("unhandledRejection", note);
  }
  expect(loose).toEqual([]);
});
