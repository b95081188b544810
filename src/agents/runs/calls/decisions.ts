// Decisions that people make while other calls of the round are at work.
import type { RunContext } from "../run-context.ts";
import type { OpenCall, ReadyCall } from "./open-calls.ts";

export interface DecisionWatch {
  /** Settles when something was written of the run: a decision may be among it. */
  heard(): Promise<void>;
  /** The calls that a person has allowed since the last look, and that nobody has started. */
  takeApproved(): Promise<ReadyCall[]>;
  end(): void;
}

/**
 * An approval that comes while others work need not wait for them. Only a round with a call that
 * asks listens, since each write of a run wakes every listener.
 */
export function watchDecisions({ deps, state, runLog, refreshTools }: RunContext): DecisionWatch {
  let news = Promise.withResolvers<void>();
  let isNew = false;
  let stop: (() => void) | undefined;
  const listen = () =>
    deps.database.listen("run", (id) => {
      if (id !== null && id !== state.row.id) return;
      isNew = true;
      news.resolve();
    });
  return {
    end: () => stop?.(),
    heard: () => news.promise,
    async takeApproved() {
      const asking = state.open.filter(({ standing }) => standing === "asks").map(nameOf);
      if (asking.length > 0 && !stop) {
        stop = listen();
        // Nobody is told of what was decided before.
        isNew = true;
      }
      if (!isNew) return [];
      isNew = false;
      news = Promise.withResolvers();
      if (asking.length === 0) return [];
      await runLog.takeDecisions();
      const approved = state.open.filter((one): one is ReadyCall => {
        return one.standing === "ready" && asking.includes(nameOf(one));
      });
      if (approved.length > 0) await refreshTools?.();
      return approved;
    },
  };
}

function nameOf({ call }: OpenCall): string {
  return call.tool_call_id;
}
