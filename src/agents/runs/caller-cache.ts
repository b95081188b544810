// Whom the runs of this process act for: looked up once for many rounds, and again when told.
import type { Caller } from "../../access/index.ts";
import type { AgentsDeps } from "../deps.ts";

/** Should nobody tell of a change; agents.authentication.1 is far slower. */
const KNOWN_MS = 1_000;
const CALLERS_MAX = 10_000;

export interface CallerCache {
  /** undefined: there is no such key, or it has ended. */
  find(key_id: string | null): Promise<Caller | undefined>;
  leave(): void;
}

export function createCallerCache({
  access,
  clock,
  database,
}: Pick<AgentsDeps, "access" | "clock" | "database">): CallerCache {
  const known = new Map<string, { caller: Caller; foundAt: number }>();
  /** Of what is known, nothing is older than the last change. */
  let changes = 0;
  const leave = database.listen("key", () => {
    changes++;
    known.clear();
  });
  return {
    leave,
    async find(key_id) {
      if (key_id === null) return undefined;
      const now = clock.monotonic();
      const entry = known.get(key_id);
      if (entry && now - entry.foundAt < KNOWN_MS) return entry.caller;
      const before = changes;
      const caller = await access.findCaller(key_id);
      known.delete(key_id);
      if (!caller || before !== changes) return caller;
      if (known.size >= CALLERS_MAX) known.clear();
      known.set(key_id, { caller, foundAt: now });
      return caller;
    },
  };
}
