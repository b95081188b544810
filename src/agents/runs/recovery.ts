// Requeues runs that no process executes: those of dead processes, and those whose execution
// failed here.
import { type Claimant, Reclaimer } from "../../cluster/index.ts";
import type { AgentsDeps } from "../deps.ts";
import { CRASHES_MAX, type RecoveryFinding } from "./store/claim.ts";
import { countFinishIds } from "./store/finish.ts";
import type { RunStore } from "./store/index.ts";

/** Maximum runs whose bugs are remembered; the oldest is evicted. */
const BUGS_MAX = 1_000;

export interface RunRecoveryOptions {
  deps: Pick<AgentsDeps, "activity" | "clock" | "ids" | "process">;
  store: Pick<RunStore, "listHeld" | "reclaim">;
  isActive(run_id: string): boolean;
  hasFailed(run_id: string): boolean;
}

type ClaimedRun = Awaited<ReturnType<RunStore["listHeld"]>>[number];

export class RunRecovery {
  readonly #options: RunRecoveryOptions;
  readonly #reclaimer: Reclaimer<ClaimedRun>;
  /** Last `seq` of requeued runs by their id: the same `seq` again means a bug. */
  readonly #bugs = new Map<string, number>();

  constructor(options: RunRecoveryOptions) {
    this.#options = options;
    this.#reclaimer = new Reclaimer({
      process: options.deps.process,
      list: options.store.listHeld,
      isInHand: options.isActive,
      requeue: (runs) => this.#requeue(runs),
    });
  }

  reclaim(isDead: Parameters<Claimant["reclaim"]>[0]): Promise<void> {
    return this.#reclaimer.reclaim(isDead);
  }

  async #requeue(runs: readonly ClaimedRun[]): Promise<void> {
    const { deps, store } = this.#options;
    const findings = runs.map((run): RecoveryFinding => {
      const found = this.#classify(run);
      const ends = found.cause === "bug" || run.crashes >= CRASHES_MAX;
      const length = ends ? countFinishIds(run.pending_approvals.length) : 1;
      return { run_id: run.id, fresh: Array.from({ length }, deps.ids.uuid), ...found };
    });
    const epochs = [...new Set(runs.map((run) => run.epoch))];
    await store.reclaim(findings, epochs, deps.clock.now());
  }

  #classify({ id, epoch, last_seq }: ClaimedRun): Pick<RecoveryFinding, "cause" | "hungCall"> {
    const { deps, hasFailed } = this.#options;
    if (epoch !== deps.process.epoch) {
      const { hung } = deps.activity;
      const isHung = hung?.run_id === id && hung.epoch === epoch;
      return { cause: "crash", hungCall: isHung ? hung.call : null };
    }
    if (!hasFailed(id)) return { cause: "stray", hungCall: null };
    const isRepeated = this.#bugs.get(id) === last_seq;
    this.#bugs.delete(id);
    if (isRepeated) return { cause: "bug", hungCall: null };
    // The requeue itself adds a step.
    this.#bugs.set(id, last_seq + 1);
    if (this.#bugs.size > BUGS_MAX) this.#bugs.delete(this.#bugs.keys().next().value!);
    return { cause: "stray", hungCall: null };
  }
}
