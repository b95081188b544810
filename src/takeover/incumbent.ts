// The side of a takeover that runs already: it hands over step by step. Where the new process dies
// in time, it takes back.

import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { type Channel, ChannelClosed } from "./channel.ts";
import { TakeoverRefused } from "./errors.ts";
import type { Handover, Incumbency, SharedLimits } from "./handover.ts";

/** Maximum time from the change of the limits to a new process that is ready. */
const CHANGE_MS_MAX = 30_000;

export interface IncumbentOptions {
  handover: Handover;
  version: string;
  clock: Clock;
  log: Log;
  /** Called once a new process has made contact. */
  onBegin(pid: number): void;
  /** Process that this one took over from and that still ends. */
  predecessor: { readonly pid: number; readonly hasEnded: boolean } | null;
  /**
   * Called once the new process serves: this one has to end. The returned function keeps it from
   * that; false: too late.
   */
  onReplaced(pid: number): () => boolean;
}

/** A new process under way. */
interface Successor {
  channel: Channel;
  pid: number;
  version: string;
  hasChanged: boolean;
  /** Set once it serves. */
  cancelEnd: (() => boolean) | null;
  /** Resolves when it is ready, or has ended. */
  settled: Promise<void>;
}

export class Incumbent {
  readonly #options: IncumbentOptions;
  #successor: Successor | null = null;
  #failed: { pid: number; reason: string | null } | null = null;

  constructor(options: IncumbentOptions) {
    this.#options = options;
  }

  /** Why the last new process could not start; null where it did not say so. */
  reasonOf(pid: number): string | null {
    return this.#failed?.pid === pid ? this.#failed.reason : null;
  }

  /** Answers a request of the new process. */
  async answer(method: string, params: Record<string, unknown>, channel: Channel) {
    if (method === "begin") {
      const pid = Number(params.pid);
      try {
        return this.#begin(channel, pid, String(params.version));
      } catch (failure) {
        this.#failed = { pid, reason: (failure as Error).message };
        throw failure;
      }
    }
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
        this.#failed = { pid: successor.pid, reason: String(params.reason) };
        return null;
      default:
        throw new TypeError(`unknown request ${method}`);
    }
  }

  #begin(channel: Channel, pid: number, version: string): Incumbency {
    const { handover, log, predecessor, version: ownVersion } = this.#options;
    if (this.#successor)
      throw new TakeoverRefused(`process ${this.#successor.pid} takes over already`);
    if (predecessor && !predecessor.hasEnded) {
      const { pid } = predecessor;
      throw new TakeoverRefused(
        `process ${pid} still ends its requests: try again when it has ended`,
      );
    }
    const ready = Promise.withResolvers<void>();
    const settled = Promise.race([ready.promise, channel.closed]);
    const successor: Successor = {
      ...{ channel, pid, version, settled },
      ...{ hasChanged: false, cancelEnd: null },
    };
    this.#successor = successor;
    this.#onReady = ready.resolve;
    // Every other epoch is the new process's.
    handover.spare(() => true);
    void channel.closed.then(() => this.#takeBack(successor));
    log.info("takeover: another process begins", { pid, version });
    this.#options.onBegin(pid);
    const { epoch, addresses } = handover;
    return { pid: process.pid, version: ownVersion, epoch, addresses: [...addresses] };
  }

  #onReady: () => void = () => {};

  /** From here on the new process counts; all in one turn, so that no request counts in between. */
  #change(successor: Successor): SharedLimits {
    const { handover, clock, log } = this.#options;
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
    void settlesWithin(clock, CHANGE_MS_MAX, successor.settled).then((isSettled) => {
      if (isSettled) return;
      log.error("takeover: the other process was not ready in time", { pid: successor.pid });
      channel.close();
    });
    return shared;
  }

  async #listening(): Promise<null> {
    const { handover } = this.#options;
    handover.leave(true);
    await handover.pause();
    return null;
  }

  #ready(successor: Successor): null {
    this.#onReady();
    successor.cancelEnd = this.#options.onReplaced(successor.pid);
    return null;
  }

  #takeBack(successor: Successor): void {
    if (successor.cancelEnd && !successor.cancelEnd()) return;
    const { handover, log } = this.#options;
    this.#successor = null;
    const { pid, hasChanged } = successor;
    log.error("takeover: the other process has ended, and this one goes on", {
      pid,
      reason: this.reasonOf(pid) ?? new ChannelClosed().message,
    });
    handover.spare(() => false);
    if (!hasChanged) return;
    handover.limits.follow(null);
    handover.slots.follow(null);
    handover.leave(false);
    handover.resume();
  }
}
