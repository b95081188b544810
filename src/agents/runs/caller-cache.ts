// Callers on whose behalf runs act: cached for many rounds, and read again after a change of keys.
import type { Caller } from "../../access/index.ts";
import type { AgentsDeps } from "../deps.ts";

/** Maximum age of an entry whose change is not reported, within agents.authentication.1. */
const AGE_MS_MAX = 1_000;
const CALLERS_MAX = 10_000;

export class CallerCache {
  readonly #deps: Pick<AgentsDeps, "access" | "clock">;
  readonly #entries = new Map<string, { caller: Caller; foundAt: number }>();
  readonly #unlisten: () => void;
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: Pick<AgentsDeps, "access" | "clock" | "database">) {
    this.#deps = deps;
    this.#unlisten = deps.database.listen("key", () => {
      this.#changedAt = deps.clock.monotonic();
      this.#entries.clear();
    });
  }

  async find(keyId: string | null): Promise<Caller | undefined> {
    if (keyId === null) return undefined;
    const now = this.#deps.clock.monotonic();
    const entry = this.#entries.get(keyId);
    if (entry && now - entry.foundAt < AGE_MS_MAX) return entry.caller;
    const caller = await this.#deps.access.findCaller(keyId);
    this.#entries.delete(keyId);
    if (caller) this.keep(keyId, caller, now);
    return caller;
  }

  /** `foundAt`: monotonic time before its key was read. */
  keep(keyId: string, caller: Caller, foundAt: number): void {
    // A key that may have changed during the read is read again next time.
    if (foundAt <= this.#changedAt) return;
    if (this.#entries.size >= CALLERS_MAX) this.#entries.clear();
    this.#entries.set(keyId, { caller, foundAt });
  }

  stop(): void {
    this.#unlisten();
  }
}
