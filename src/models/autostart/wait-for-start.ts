// Stands in front of a model's servers: who comes while their unit sleeps has it started.
import type { Clock } from "../../platform/clock.ts";
import type {
  Complete,
  Completion,
  CountTokens,
  ModelRequest,
  OnChunk,
} from "../providers/contract.ts";
import type { ManagedServer } from "./managed-server.ts";
import type { WaitResult } from "./start-waiters.ts";

interface Gated {
  complete: Complete;
  countTokens: CountTokens;
}

interface StartWait {
  fate: WaitResult;
  waited_ms: number;
}

const PASSED: StartWait = { fate: undefined, waited_ms: 0 };

/** Waits are noted in the ending; a server that went away is started once more for one request. */
export function waitForStart(
  unit: ManagedServer,
  clock: Clock,
  { complete, countTokens }: Gated,
): Gated {
  /**
   * What became of those who waited already when they were counted, by their messages: these are
   * one and the same in all asks that are made of one request.
   */
  const counted = new WeakMap<ModelRequest["messages"], StartWait>();

  const enter = async (account: string, signal: AbortSignal): Promise<StartWait> => {
    const begun_ms = clock.monotonic();
    const fate = await unit.enter(account, signal);
    return { fate, waited_ms: Math.round(clock.monotonic() - begun_ms) };
  };

  return {
    async complete(ask, onChunk, signal) {
      const early = counted.get(ask.messages);
      if (early?.fate) return addWait({ ...early.fate, attempts: 0 }, early);
      let isHeard = false;
      let hasPassed = false;
      const hear: OnChunk = (piece) => {
        isHeard = true;
        unit.hear();
        return onChunk(piece);
      };
      const attempt = async (): Promise<Completion> => {
        const entry = unit.tryEnter() ? PASSED : await enter(ask.account, signal);
        // No server was asked: it did not even start.
        if (entry.fate) return addWait({ ...entry.fate, attempts: 0 }, entry);
        hasPassed = true;
        try {
          return addWait(await complete(ask, hear, signal), entry);
        } finally {
          unit.leave();
        }
      };
      const first = addWait(await attempt(), early ?? PASSED);
      const mayBeGone = hasPassed && !isHeard && !signal.aborted && isUnanswered(first);
      if (!mayBeGone || !(await unit.isGone(signal))) return first;
      const again = await attempt();
      const attempts = (first.attempts ?? 1) + (again.attempts ?? 1);
      return { ...addWait(again, { waited_ms: first.waitedMs ?? 0 }), attempts };
    },

    /** Only its server can count exactly, so a prompt that has to be counted waits too. */
    async countTokens(ask, signal) {
      const entry = unit.tryEnter() ? PASSED : await enter(ask.account, signal);
      if (entry !== PASSED) counted.set(ask.messages, entry);
      if (entry.fate) return null;
      try {
        return await countTokens(ask, signal);
      } finally {
        unit.leave();
      }
    },
  };
}

/** Its servers told no status, or none of them was fit to be asked: they may be gone. */
function isUnanswered(ending: Completion): boolean {
  if (ending.ok || ending.upstreamStatus !== undefined) return false;
  const mayBe = ["upstream_error", "upstream_timeout", "model_offline"].includes(ending.code);
  return mayBe && (ending.retryable || ending.attempts === 0);
}

function addWait(ending: Completion, { waited_ms }: Pick<StartWait, "waited_ms">): Completion {
  if (waited_ms === 0) return ending;
  return { ...ending, waitedMs: (ending.waitedMs ?? 0) + waited_ms };
}
