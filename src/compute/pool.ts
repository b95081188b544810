// Compute Workers: what would hold the event loop runs in them, and is cut off after its time.
import type { Clock } from "../platform/clock.ts";
import { hasFreeDescriptors } from "../platform/descriptors.ts";
import { FairQueue } from "../platform/fair-queue.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type JobEnd, openSlot, type Slot } from "./slot.ts";
import type { ComputeTask } from "./task.ts";

/** Each is the other's spare: where one is cut off, the other goes on while a new one starts. */
const WORKERS = 2;
/** Bun ends the process where a Worker finds no three; the rest is for what opens meanwhile. */
const DESCRIPTORS_FREE_MIN = 8;
const WAITING_MAX = 1_024;
const WAIT_MS = 30_000;
/**
 * One starts before somebody needs it, since descriptors may be scarce by then; its spare, of
 * another 4 MB, starts with the first task.
 */
const WORKERS_AT_REST = 1;
/** The service's own start is not held up by it. */
const START_AFTER_MS = 500;

/**
 * Why nothing was computed: cut off after its time, nobody took it in time, the caller left, or
 * the computation has a bug, which was logged.
 */
export type Uncomputed = "timeout" | "busy" | "aborted" | "failed";
export type Computed<Output> = { ok: true; value: Output } | { ok: false; why: Uncomputed };

export interface ComputeTurn {
  /** Accounts take turns, and none of them has more than one Worker at once. */
  account: string;
  signal?: AbortSignal;
}

export interface Compute {
  run<Input, Output>(
    task: ComputeTask<Input, Output>,
    input: Input,
    turn: ComputeTurn,
  ): Promise<Computed<Output>>;
}

export type ComputeService = Compute & Service;

export interface ComputePoolOptions {
  /** The script of the Workers. */
  script: URL;
  clock: Clock;
  log: Log;
}

const NEVER = new AbortController().signal;

export function createComputePool({ script, clock, log }: ComputePoolOptions): ComputeService {
  const slots = new Set<Slot>();
  const line = new FairQueue<Slot>(clock, WAITING_MAX);
  let cancelStart = () => {};
  let isClosed = false;

  const grow = (workers = WORKERS) => {
    while (!isClosed && slots.size < workers && hasFreeDescriptors(DESCRIPTORS_FREE_MIN)) {
      slots.add(openSlot({ script, clock, onEnd }));
    }
    line.serve();
  };
  const onEnd = (slot: Slot, error: Error | null) => {
    slots.delete(slot);
    if (error) log.error("compute: a worker ended", { error });
    // One that fails at its start is started again only where somebody waits for it.
    if (!error || line.size > 0) grow();
  };
  const take = (account: string): Slot | null => {
    const all = [...slots];
    if (all.some((slot) => slot.account === account)) return null;
    const free = all.find((slot) => slot.account === null);
    if (free) free.account = account;
    return free ?? null;
  };
  const wait = (account: string, signal: AbortSignal) => {
    const find = () => take(account);
    const found = line.wait({ account, find, isSkippable: true, timeoutMs: WAIT_MS, signal });
    line.serve();
    return found;
  };
  const explain = (task: string, end: Exclude<JobEnd, { value: unknown }>): Uncomputed => {
    if (end === "timeout") log.warn("compute: a task was cut off", { code: task });
    if (typeof end === "string") return end === "timeout" ? "timeout" : "failed";
    const { message, stack = message } = end.bug;
    const error = Object.assign(new Error(message), { stack });
    log.error("compute: a task failed", { code: task, error });
    return "failed";
  };

  return {
    name: "compute",
    async run<Input, Output>(
      { name, timeoutMs }: ComputeTask<Input, Output>,
      input: Input,
      { account, signal = NEVER }: ComputeTurn,
    ): Promise<Computed<Output>> {
      if (signal.aborted) return { ok: false, why: "aborted" };
      grow();
      if (slots.size === 0) return { ok: false, why: "busy" };
      const free = line.size === 0 ? take(account) : null;
      const slot = free ?? (await wait(account, signal));
      if (slot === "left") return { ok: false, why: "aborted" };
      if (slot === "full" || slot === "late") return { ok: false, why: "busy" };
      const end = await slot.perform({ task: name, input }, timeoutMs);
      slot.account = null;
      line.serve();
      if (typeof end === "object" && "value" in end)
        return { ok: true, value: end.value as Output };
      return { ok: false, why: explain(name, end) };
    },
    start() {
      cancelStart = clock.after(START_AFTER_MS, () => grow(WORKERS_AT_REST));
    },
    stop() {
      isClosed = true;
      cancelStart();
      for (const slot of slots) slot.close();
    },
  };
}
