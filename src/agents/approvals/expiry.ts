// Expires approvals on time: a service that wakes when the next one is due.
import type { Bound } from "../../database/index.ts";
import { settlesWithin } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import { type NextPass, WorkerLoop } from "../../platform/worker-loop.ts";
import type { AgentsDeps } from "../deps.ts";
import type { runStore } from "../runs/store/index.ts";
import { approvalStore } from "./store.ts";

/** Maximum interval between checks: other processes request approvals, and wall clocks are set. */
const CHECK_EVERY_MS = 30_000;
const APPROVALS_A_WRITE = 100;

/** agents.does.risk.p1: decisions check the time themselves; this expires undecided ones. */
export class ApprovalExpiry implements Service {
  readonly name = "expiry of approvals";
  readonly #deps: Pick<AgentsDeps, "clock" | "ids" | "process">;
  readonly #approvals: Bound<typeof approvalStore>;
  readonly #runs: Pick<Bound<typeof runStore>, "expire">;
  readonly #loop: WorkerLoop;

  constructor(
    deps: Pick<AgentsDeps, "clock" | "database" | "ids" | "log" | "process">,
    runs: Pick<Bound<typeof runStore>, "expire">,
  ) {
    const { clock, database, log } = deps;
    this.#deps = deps;
    this.#approvals = database.bind(approvalStore);
    this.#runs = runs;
    this.#loop = new WorkerLoop({
      clock,
      work: () => this.#expireOverdue(),
      onError: (error) => log.error("approvals: expiry failed", { error }),
      retryMs: CHECK_EVERY_MS,
    });
  }

  start(): void {
    this.#loop.wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    await settlesWithin(this.#deps.clock, deadlineMs, this.#loop.stop());
  }

  pause(): Promise<void> {
    return this.#loop.pause();
  }

  resume(): void {
    this.#loop.resume();
  }

  async #expireOverdue(): Promise<NextPass> {
    const { clock, ids, process } = this.#deps;
    // A clock that is wrong decides on no deadline: the other processes do.
    if (process.isSkewed) return { inMs: CHECK_EVERY_MS };
    const found = await this.#approvals.listOverdue(clock.now(), APPROVALS_A_WRITE);
    const overdue = found.map((approval_id) => {
      return { approval_id, step_id: ids.uuid(), event_id: ids.uuid() };
    });
    if (overdue.length > 0) await this.#runs.expire(overdue, clock.now());
    if (overdue.length === APPROVALS_A_WRITE) return "now";
    const next = await this.#approvals.findNextExpiry();
    const delayMs = next === undefined ? CHECK_EVERY_MS : next - clock.now();
    return { inMs: Math.min(Math.max(delayMs, 0), CHECK_EVERY_MS) };
  }
}
