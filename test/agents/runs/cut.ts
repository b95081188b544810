// Simulates a process that dies between transactions: its stores no longer write or answer.
import type { RunStore } from "../../../src/agents/runs/store/index.ts";
import type { ProcessStore } from "./trial.ts";

/** Writes of an execution, in any order. */
const WRITES = [
  ...["plan", "intend", "settle", "note", "wait", "finish", "release", "claim"],
] as const satisfies readonly (keyof RunStore)[];
/** Writes of the process about itself. */
const SIGNS = ["beat", "register"] as const satisfies readonly (keyof ProcessStore)[];

export type Write = (typeof WRITES)[number];
/** The write at which a process dies, and whether that write still reaches the database. */
export interface Point {
  write: Write;
  side: "before" | "after";
  /** The nth write of its kind; by default the first. */
  pass?: number;
}

/** Drops every write of this process after the first `writes_max`. */
export function createCut(writes_max = Number.POSITIVE_INFINITY) {
  let writes = 0;
  return cutBy(() => (++writes > writes_max ? "before" : null));
}

export function createCutAt({ write, side, pass = 1 }: Point) {
  let passes = 0;
  return cutBy((one) => (one === write && ++passes === pass ? side : null));
}

export type Cut = ReturnType<typeof createCut>;

/** `sideOf` returns on which side of a write the process dies, or null. */
function cutBy(sideOf: (write: Write) => Point["side"] | null) {
  const reached = Promise.withResolvers<void>();
  let isDead = false;
  const die = () => {
    isDead = true;
    reached.resolve();
  };
  const never = () => new Promise<never>(() => undefined);
  const guard =
    (work: unknown, find: () => Point["side"] | null) =>
    async (...args: unknown[]) => {
      const side = isDead ? "before" : find();
      if (side === "before") die();
      if (side === "before") return never();
      const answer = await (work as (...all: unknown[]) => unknown)(...args);
      if (side === "after") die();
      return side === "after" ? never() : answer;
    };
  const wrap = (store: RunStore): RunStore => {
    const guarded = WRITES.map((method) => [method, guard(store[method], () => sideOf(method))]);
    // A dead process reclaims no runs.
    const reclaim = guard(store.reclaim, () => null);
    const claimSuspect = guard(store.claimSuspect, () => null);
    return { ...store, ...Object.fromEntries(guarded), reclaim, claimSuspect } as RunStore;
  };
  const wrapProcesses = (store: ProcessStore): ProcessStore => {
    const guarded = SIGNS.map((method) => [method, guard(store[method], () => null)]);
    const endSilent = guard(store.endSilent, () => null) as ProcessStore["endSilent"];
    return { ...store, ...Object.fromEntries(guarded), endSilent, end: async () => undefined };
  };
  return { reached, die, wraps: { wrap, wrapProcesses } };
}
