// SQLite in the caller's own thread: in memory for `dev`, on the file for the command line.
import type { Database as Connection } from "bun:sqlite";
import { openCommitCounter } from "./commit-counter.ts";
import { commitGroup } from "./group.ts";
import { createQueue } from "./queue.ts";
import { createExecutor } from "./sqlite.ts";
import type { DatabaseEngine, Db, Notification } from "./store.ts";
import type { Registry } from "./transaction.ts";

/**
 * An engine on a connection that has been migrated; reads and writes queue, so that no read sees
 * half a write.
 */
export function createInlineEngine(
  connection: Connection,
  registry: Registry,
  publish: (told: readonly Notification[]) => void,
): DatabaseEngine {
  const tx = createExecutor(connection);
  const queue = createQueue();
  const counter = openCommitCounter(connection);
  return {
    name: connection.filename === ":memory:" ? "memory" : "sqlite",
    read: (work: (db: Db) => Promise<never>) => queue(() => work(tx)),
    write: (store, method, args) =>
      queue(async () => {
        const call = { store, method, args };
        const { outcomes, told } = await commitGroup(connection, tx, registry, counter, [call]);
        publish(told);
        const outcome = outcomes[0]!;
        if (!outcome.ok) throw outcome.failure;
        return outcome.value;
      }),
    close: () => queue(async () => counter?.close()),
  };
}
