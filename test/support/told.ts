// Records what each write tells its listeners, for the conformance suite.
import type { Store } from "../../src/database/store.ts";

let told: { write: string; text: string }[] = [];

/** The store, whose writes are recorded; in a Worker nobody can look at them. */
export function recordTold(store: Store): Store {
  const writes = Object.entries(store.writes).map(([method, write]) => {
    const recorded: typeof write = async (tx, ...args) => {
      const own: string[] = [];
      const tell = (channel: string, id: string) => {
        own.push(`${channel} ${id}`);
        tx.tell(channel, id);
      };
      const result = await write({ ...tx, tell }, ...args);
      // A failed write tells nothing.
      told.push(...own.map((text) => ({ write: `${store.name}.${method}`, text })));
      return result;
    };
    return [method, recorded] as const;
  });
  return { ...store, writes: Object.fromEntries(writes) };
}

/** What calls of one write have told since the last look: each channel and id once. */
export function takeTold(write: string): string[] {
  const own = told.filter((one) => one.write === write).map(({ text }) => text);
  told = [];
  return [...new Set(own)].sort();
}
