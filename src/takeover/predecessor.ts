// The side of a takeover that starts: the process that runs already, as the new one sees it.
import type { Clock } from "../platform/clock.ts";
import { type Channel, ChannelClosed } from "./channel.ts";
import { connectToControl } from "./control-socket.ts";
import { TakeoverRefused } from "./errors.ts";
import type { Handover, Incumbency, Newcomer, SharedLimits } from "./handover.ts";
import { openProcesses } from "./processes.ts";

export class Predecessor {
  readonly pid: number;
  readonly epoch: number;
  readonly installation: string;
  readonly addresses: Incumbency["addresses"];
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  readonly #channel: Channel;
  /** Resolves once the limits were imported, which replaces what was counted before. */
  readonly #imported = Promise.withResolvers<Handover>();
  hasEnded = false;

  /** Returns null where no process serves the data. */
  static async begin(
    path: string,
    { clock, ...about }: Pick<Newcomer, "version" | "token"> & { clock: Clock },
  ): Promise<Predecessor | null> {
    let predecessor: Predecessor | null = null;
    const channel = await connectToControl(path, async (method, params) => {
      return predecessor?.decide(method, params);
    });
    if (!channel) return null;
    const own: Newcomer = { ...about, pid: process.pid, namespace: openProcesses().namespace };
    const running = await channel.requestSoon<Incumbency>(clock, "begin", { ...own });
    predecessor = new Predecessor(channel, running);
    return predecessor;
  }

  private constructor(channel: Channel, about: Incumbency) {
    this.#channel = channel;
    this.pid = about.pid;
    this.epoch = about.epoch;
    this.installation = about.installation;
    this.addresses = about.addresses;
    this.ended = channel.closed.then(() => {
      this.hasEnded = true;
    });
  }

  /** Callers know the address of the running server, so a takeover cannot change it. */
  requirePort(port: number): void {
    const running = this.addresses[0]?.port;
    if (port === 0 || running === undefined || port === running) return;
    throw new TakeoverRefused(
      `the running server listens on port ${running}, and a takeover cannot change it ` +
        `to ${port}: restart the server instead`,
    );
  }

  /** Decides on a request that it has received. */
  async decide(method: string, params: Record<string, unknown>): Promise<unknown> {
    // A request may arrive together with the limits.
    const handover = await this.#imported.promise;
    switch (method) {
      case "claim":
        return handover.limits.claim(String(params.limiter), String(params.name));
      case "take":
        return handover.slots.take(String(params.service));
      case "release":
        return handover.slots.release(String(params.service));
      default:
        throw new TypeError(`unknown request ${method}`);
    }
  }

  /** Takes over the limits and the right to listen; call it right before listening. */
  async change(handover: Handover): Promise<void> {
    const shared = await this.#ask<SharedLimits>("change");
    if (!shared) return;
    handover.limits.import(shared.limits);
    handover.slots.import(shared.slots);
    this.#imported.resolve(handover);
  }

  /** Tells it that this process listens; returns once it begins no work any more. */
  async listening(): Promise<void> {
    await this.#ask("listening");
  }

  /** Tells it to end. */
  async ready(): Promise<void> {
    await this.#ask("ready");
  }

  /** Tells it why this process does not take over. */
  async failed(reason: string): Promise<void> {
    await this.#ask("failed", { reason });
    this.#channel.close();
  }

  /** Returns undefined where it has ended, after which this process goes on alone. */
  async #ask<T>(method: string, params: Record<string, unknown> = {}): Promise<T | undefined> {
    try {
      return await this.#channel.request<T>(method, params);
    } catch (failure) {
      if (failure instanceof ChannelClosed) return undefined;
      throw failure;
    }
  }
}
