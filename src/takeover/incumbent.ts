// The side of a takeover that runs already: it hands over step by step. Where the new process dies
// in time, it takes back.

import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { type Channel, ChannelClosed } from "./channel.ts";
import { TakeoverRefused } from "./errors.ts";
import type { Handover, Incumbency, Newcomer, SharedLimits } from "./handover.ts";
import { openProcesses, type Processes } from "./processes.ts";

/** Maximum time from the contact to a new process that is ready; it may migrate the database. */
export const START_MS_MAX = 30 * 60_000;
/** Maximum time from the change of the limits to a new process that is ready. */
const CHANGE_MS_MAX = 30_000;

export interface IncumbentOptions {
  handover: Handover;
  version: string;
  clock: Clock;
  log: Log;
  /** Called when a new process makes contact; throws to refuse it. */
  onBegin(newcomer: Newcomer): void;
  /** Called with the reason why a new process does not take over, if it is known. */
  onFailed(newcomer: Newcomer, reason: string): void;
  /** Process that this one took over from and that still ends. */
  predecessor: { readonly pid: number; readonly hasEnded: boolean } | null;
  /**
   * Called once the new process serves: this one has to end. The returned function keeps it from
   * that; false: too late.
   */
  onReplaced(newcomer: Newcomer): () => boolean;
  processes?: Processes;
}

/** A new process under way. */
interface Successor extends Newcomer {
  channel: Channel;
  /** Set where its number names it here too. */
  isNear: boolean;
  /** Why it does not take over. */
  reason: string | null;
  hasChanged: boolean;
  /** Set once it serves. */
  cancelEnd: (() => boolean) | null;
  /** Resolves when it is ready, or has ended. */
  settled: Promise<void>;
}

export class Incumbent {
  readonly #options: IncumbentOptions;
  readonly #processes: Processes;
  #successor: Successor | null = null;

  constructor(options: IncumbentOptions) {
    this.#options = options;
    this.#processes = options.processes ?? openProcesses();
  }

  /** Answers a request of the new process. */
  async answer(method: string, params: Record<string, unknown>, channel: Channel) {
    if (method === "begin") return this.#begin(channel, params as unknown as Newcomer);
    const successor = this.#successor;
    if (successor?.channel !== channel) throw new TakeoverRefused("no takeover has begun");
    switch (method) {
      case "change":
        return this.#change(successor);
      case "listening":
        return this.#listening();
      case "ready":
        return this.#ready(successor);
      case "failed":
        return this.#failed(successor, String(params.reason));
      default:
        throw new TypeError(`unknown request ${method}`);
    }
  }

  /** Ends the new process of an upgrade that has failed, if it is still there. */
  abandon(token: string, reason: string): void {
    if (this.#successor?.token === token) this.#abandon(this.#successor, reason);
  }

  async #begin(channel: Channel, newcomer: Newcomer): Promise<Incumbency> {
    await channel.requirePresence();
    const { handover, log, version } = this.#options;
    const { pid, namespace } = newcomer;
    const isNear = namespace !== null && namespace === this.#processes.namespace && pid > 1;
    this.#requireAlone(isNear);
    this.#options.onBegin(newcomer);
    const ready = Promise.withResolvers<void>();
    const settled = Promise.race([ready.promise, channel.closed]);
    const successor: Successor = {
      ...{ ...newcomer, channel, isNear, settled },
      ...{ hasChanged: false, cancelEnd: null, reason: null },
    };
    this.#successor = successor;
    this.#onReady = ready.resolve;
    // Every other epoch is the new process's.
    handover.spare(() => true);
    void channel.closed.then(() => this.#takeBack(successor));
    this.#limit(successor, START_MS_MAX);
    log.info("takeover: another process begins", { pid, version: newcomer.version });
    const { epoch, installation, addresses } = handover;
    return { pid: process.pid, version, epoch, installation, addresses: [...addresses] };
  }

  #requireAlone(isNear: boolean): void {
    const { predecessor } = this.#options;
    if (this.#successor) {
      throw new TakeoverRefused(
        `process ${this.#successor.pid} takes over already: wait, or end it if it hangs`,
      );
    }
    if (predecessor && !predecessor.hasEnded) {
      throw new TakeoverRefused(
        `process ${predecessor.pid} still ends its requests: try again when it has ended`,
      );
    }
    if (isNear && this.#processes.endsContainer()) {
      throw new TakeoverRefused(
        "the container may end with the running server: start a container with the new image",
      );
    }
  }

  #onReady: () => void = () => {};

  /** From here on the new process counts; all in one turn, so that no request counts in between. */
  #change(successor: Successor): SharedLimits {
    const { handover } = this.#options;
    const { channel } = successor;
    if (!handover.share()) throw new TakeoverRefused("the listening sockets could not be shared");
    successor.hasChanged = true;
    const shared = { limits: handover.limits.export(), slots: handover.slots.export() };
    handover.limits.follow((limiter, name) => channel.request("claim", { limiter, name }));
    handover.slots.follow({
      take: (service) => channel.request("take", { service }),
      // The end of the new process gives back everything.
      release: (service) => void channel.request("release", { service }).catch(() => {}),
    });
    this.#limit(successor, CHANGE_MS_MAX);
    return shared;
  }

  /** A process that hangs, or was stopped, would keep all others from a takeover. */
  #limit(successor: Successor, withinMs: number): void {
    void settlesWithin(this.#options.clock, withinMs, successor.settled).then((isSettled) => {
      if (!isSettled) this.#abandon(successor, "it was not ready in time");
    });
  }

  async #listening(): Promise<null> {
    const { handover } = this.#options;
    handover.leave(true);
    await handover.pause();
    return null;
  }

  #ready(successor: Successor): null {
    this.#onReady();
    successor.cancelEnd = this.#options.onReplaced(successor);
    return null;
  }

  #failed(successor: Successor, reason: string): null {
    successor.reason = reason;
    this.#options.onFailed(successor, reason);
    return null;
  }

  /** A hanging process would still get new connections, so it ends before this one goes on. */
  #abandon(successor: Successor, reason: string): void {
    const { pid, isNear, channel } = successor;
    if (isNear) this.#processes.kill(pid);
    const then = isNear ? "was ended" : "may still run: end it where it runs";
    this.#failed(successor, `${reason}, and it ${then}`);
    channel.close();
  }

  #takeBack(successor: Successor): void {
    if (successor.cancelEnd && !successor.cancelEnd()) return;
    const { handover, log } = this.#options;
    this.#successor = null;
    const { pid, hasChanged, reason } = successor;
    log.error("takeover: the other process has failed, and this one goes on", {
      pid,
      reason: reason ?? new ChannelClosed().message,
    });
    handover.spare(() => false);
    if (!hasChanged) return;
    handover.limits.follow(null);
    handover.slots.follow(null);
    handover.leave(false);
    handover.resume();
  }
}
