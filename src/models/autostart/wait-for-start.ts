// Waits for a model's managed server before each request, which starts it when it is down.
import type { Clock } from "../../platform/clock.ts";
import type {
  Complete,
  Completion,
  CountTokens,
  ModelRequest,
  OnChunk,
  UpstreamError,
} from "../providers/contract.ts";
import type { ManagedServer } from "./managed-server.ts";

interface StartedBackend {
  complete: Complete;
  countTokens: CountTokens;
}

interface StartWait {
  failure: UpstreamError | undefined;
  waitedMs: number;
}

const NO_WAIT: StartWait = { failure: undefined, waitedMs: 0 };

/** Adds waits to completions, and starts a server that went away once more for a request. */
export function waitForStart(
  server: ManagedServer,
  clock: Clock,
  { complete, countTokens }: StartedBackend,
): StartedBackend {
  /** Waits of token counts, by the `messages` object that identifies a request. */
  const counted = new WeakMap<ModelRequest["messages"], StartWait>();

  const enter = async ({ account }: ModelRequest, signal: AbortSignal): Promise<StartWait> => {
    const startedAt = clock.monotonic();
    const failure = await server.enter(account, signal);
    return { failure, waitedMs: Math.round(clock.monotonic() - startedAt) };
  };

  return {
    async complete(request, onChunk, signal) {
      const early = counted.get(request.messages);
      if (early?.failure) return addWait({ ...early.failure, attempts: 0 }, early);
      let hasBegun = false;
      let wasCalled = false;
      const passOn: OnChunk = (chunk) => {
        hasBegun = true;
        server.noteLife();
        return onChunk(chunk);
      };
      const attempt = async (): Promise<Completion> => {
        const wait = server.tryEnter() ? NO_WAIT : await enter(request, signal);
        if (wait.failure) return addWait({ ...wait.failure, attempts: 0 }, wait);
        wasCalled = true;
        try {
          return addWait(await complete(request, passOn, signal), wait);
        } finally {
          server.leave();
        }
      };
      const first = addWait(await attempt(), early ?? NO_WAIT);
      const mayBeGone = wasCalled && !hasBegun && !signal.aborted && isUnanswered(first);
      if (!mayBeGone || !(await server.isGone(signal))) return first;
      const again = await attempt();
      const attempts = (first.attempts ?? 1) + (again.attempts ?? 1);
      return { ...addWait(again, { waitedMs: first.waitedMs ?? 0 }), attempts };
    },

    /** Only the server counts exactly, so a prompt that has to be counted waits too. */
    async countTokens(request, signal) {
      const wait = server.tryEnter() ? NO_WAIT : await enter(request, signal);
      if (wait !== NO_WAIT) counted.set(request.messages, wait);
      if (wait.failure) return null;
      try {
        return await countTokens(request, signal);
      } finally {
        server.leave();
      }
    },
  };
}

/** Servers that sent no status, or were unfit to be called, may be gone. */
function isUnanswered(completion: Completion): boolean {
  if (completion.ok || completion.upstreamStatus !== undefined) return false;
  const { code, retryable, attempts } = completion;
  const mayBe = ["upstream_error", "upstream_timeout", "model_offline"].includes(code);
  return mayBe && (retryable || attempts === 0);
}

function addWait(completion: Completion, { waitedMs }: Pick<StartWait, "waitedMs">): Completion {
  if (waitedMs === 0) return completion;
  return { ...completion, waitedMs: (completion.waitedMs ?? 0) + waitedMs };
}
