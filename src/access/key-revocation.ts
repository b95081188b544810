// Watches the keys of what goes on for long: who acts for a revoked one is told in five seconds.

import type { Database } from "../database/index.ts";
import type { Cancel, Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { FindCaller } from "./caller.ts";

/** So long a key that was revoked may go unnoticed, where nobody tells of it. */
const EVERY_MS = 5_000;

export interface KeyRevocationOptions {
  database: Pick<Database, "listen">;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export interface KeyRevocations {
  /** Calls `end` once the key may not call any more; what it returns forgets it. */
  add(key_id: string, end: () => void): () => void;
  /** How many were added for a key and are not forgotten. */
  count(key_id: string): number;
  /** Ends all that is watched. */
  stop(): void;
}

export function createKeyRevocations({
  database,
  findCaller,
  clock,
  log,
}: KeyRevocationOptions): KeyRevocations {
  const keys = new Map<string, Set<() => void>>();
  let cancel: Cancel | null = null;

  const endOf = (key_id: string) => {
    for (const end of [...(keys.get(key_id) ?? [])]) end();
  };
  const check = async (key_id: string) => {
    try {
      if (!(await findCaller(key_id))) endOf(key_id);
    } catch (error) {
      log.error("a key with open streams could not be read", { error });
    }
  };
  const checkAll = () => Promise.all([...keys.keys()].map(check));
  /** A key can also expire, which nobody tells. */
  const checkLater = () => {
    cancel = clock.after(EVERY_MS, async () => {
      cancel = null;
      await checkAll();
      if (!cancel && keys.size > 0) checkLater();
    });
  };
  const unlisten = database.listen("key", (key_id) => {
    if (key_id === null) void checkAll();
    else if (keys.has(key_id)) void check(key_id);
  });
  const forget = (key_id: string, end: () => void) => {
    const ends = keys.get(key_id);
    ends?.delete(end);
    if (ends?.size === 0) keys.delete(key_id);
    if (keys.size > 0) return;
    cancel?.();
    cancel = null;
  };
  return {
    add(key_id, end) {
      const ends = keys.get(key_id) ?? new Set();
      keys.set(key_id, ends.add(end));
      if (!cancel) checkLater();
      return () => forget(key_id, end);
    },
    count: (key_id) => keys.get(key_id)?.size ?? 0,
    stop() {
      unlisten();
      for (const key_id of [...keys.keys()]) endOf(key_id);
    },
  };
}
