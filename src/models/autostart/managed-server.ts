// A unit: the server that a model needs started; who starts it, watches it, and stops it when idle.
import { abortAfter, type Cancel, type Clock } from "../../platform/clock.ts";
import { formatDuration } from "../../platform/duration.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import type { UpstreamError } from "../providers/contract.ts";
import { timeoutError } from "../providers/openai/errors.ts";
import { HealthProbe } from "./health-probe.ts";
import { IdleTimer } from "./idle-timer.ts";
import type { StartPlan } from "./plan.ts";
import { type StartFailure, type StartResult, startServer } from "./start.ts";
import { createStartHistory, type StartHistory, type StartHistoryStore } from "./start-history.ts";
import { StartWaiters, type WaitResult } from "./start-waiters.ts";
import type { ManagedServerState } from "./store.ts";

/** Whoever needs it: hears of it as soon as it holds it. */
export interface ManagedServerListener {
  /** Before anybody who waits goes on. */
  onUp(): void;
  onDown(): void;
}

export interface ManagedServerOptions {
  id: string;
  plan: StartPlan;
  clock: Clock;
  log: Log;
  /** What its lines in the log say of it. */
  name: Pick<LogFields, "model" | "upstream">;
  notes: StartHistoryStore;
}

/** Beyond it a caller is sent away: whoever comes last would wait for a long queue as well. */
const WAITERS_MAX = 1_000;
/** Its health is looked at so often once it has been started. */
const LOOK_EVERY_MS = 10_000;
/** It may be too busy to answer once. */
const MISSES_MAX = 2;
/** A stop that takes longer has not been heard. */
const STOP_MS = 60_000;
/** After a failed start the next one waits, and longer each time. */
const BACK_OFF_MS = 5_000;
const BACK_OFF_MAX_MS = 5 * 60_000;

/** Nobody had to start it. */
const FOUND = { isUp: true, start_ms: null } as const;

export class ManagedServer {
  /** True: whoever comes may go on at once. */
  isUp = false;
  #plan: StartPlan;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #name: ManagedServerOptions["name"];
  readonly #memory: StartHistory;
  readonly #senses: HealthProbe;
  readonly #idleness: IdleTimer;
  readonly #waiters = new StartWaiters();
  readonly #listeners = new Set<ManagedServerListener>();
  #state: ManagedServerState = "asleep";
  /** We put it to sleep: its health may answer nevertheless, and is not believed. */
  #isPutDown = false;
  /** Counts its changes of state: who comes back from a look sees whether it still matters. */
  #turn = 0;
  #misses = 0;
  #failures = 0;
  #retryAtMs = 0;
  #cancelLook: Cancel = () => {};
  #recalled: Promise<void> | null = null;

  constructor({ id, plan, clock, log, name, notes }: ManagedServerOptions) {
    this.#plan = plan;
    this.#clock = clock;
    this.#log = log;
    this.#name = name;
    this.#memory = createStartHistory(id, notes, clock, (error) =>
      log.error("a unit's state could not be kept", { ...name, error }),
    );
    this.#idleness = new IdleTimer(clock);
    this.#senses = new HealthProbe(
      () => this.#plan.look(),
      (error) => log.error("a unit could not be looked at", { ...name, error }),
    );
  }

  /** Other settings of the same unit: they hold from now on. */
  follow(plan: StartPlan): void {
    this.#plan = plan;
    if (this.isUp) this.#guardIdleness();
  }

  /** A model that is served needs it watched. */
  hold(listener: ManagedServerListener): void {
    this.#listeners.add(listener);
    if (this.isUp) listener.onUp();
    if (this.#listeners.size > 1) return;
    if (this.#state === "asleep") this.#begin(this.#find());
    this.#watch();
    if (this.isUp) this.#guardIdleness();
  }

  /** Unwatched it is left as it is; who waits for it still does. */
  release(listener: ManagedServerListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) this.#rest();
  }

  /** undefined: it is up, and the caller has to `leave` it later. */
  async enter(account: string, signal: AbortSignal): Promise<WaitResult> {
    if (this.tryEnter()) return undefined;
    if (signal.aborted) return timeoutError("left");
    const pause_ms = this.#retryAtMs - this.#clock.monotonic();
    if (this.#state === "failed" && pause_ms > 0) {
      const seconds = Math.ceil(pause_ms / 1_000);
      return fail("model_offline", `its unit did not start; not tried again for ${seconds} s`);
    }
    if (this.#waiters.size >= WAITERS_MAX) {
      const full = fail(
        "upstream_rate_limited",
        `${WAITERS_MAX} callers wait for its unit already`,
      );
      if (!this.#waiters.makeRoom(account, full)) return full;
    }
    const joined = this.#waiters.join(account, signal);
    if (this.#state !== "starting" && this.#state !== "stopping") this.#begin(this.#start());
    return joined;
  }

  /** The same where nobody has to wait. */
  tryEnter(): boolean {
    if (!this.isUp) return false;
    this.#idleness.enter(1);
    return true;
  }

  leave(): void {
    this.#idleness.leave();
  }

  /** Its servers say something: one that is too busy for its health is not gone. */
  hear(): void {
    this.#senses.hear();
  }

  /**
   * After a request that its server did not answer: looks at once whether it is still there. False
   * for a caller who leaves meanwhile, and is not asked for again.
   */
  async isGone(signal: AbortSignal): Promise<boolean> {
    if (!this.isUp) return true;
    const turn = this.#turn;
    const isGood = await Promise.race([this.#senses.doubt(), untilAborted(signal)]);
    if (isGood === null || isGood) return false;
    if (turn === this.#turn) this.#lose();
    return true;
  }

  async #start(): Promise<void> {
    // At once, so that nobody else starts it too.
    this.#enterState("starting");
    let outcome: StartResult | typeof FOUND;
    try {
      await this.#recall();
      outcome = await this.#bring();
    } catch (error) {
      this.#log.error("the start of a unit broke off", { ...this.#name, error });
      outcome = { isUp: false, code: "model_offline", why: "its start broke off" };
    }
    if (outcome.isUp) this.#rise(outcome.start_ms);
    else this.#fall(outcome);
  }

  /** Looks first: it may be up already, or somebody else have started it. */
  async #bring(): Promise<StartResult | typeof FOUND> {
    const isBelieved = !this.#isPutDown;
    if (isBelieved && (await this.#senses.look())) return FOUND;
    this.#log.info("a unit is being started", this.#name);
    void this.#note();
    const { start, timeout_ms } = this.#plan;
    const plan = { start, timeout_ms, look: () => this.#senses.look() };
    return startServer(plan, { clock: this.#clock, isBelieved });
  }

  #rise(start_ms: number | null): void {
    this.#isPutDown = false;
    this.#failures = 0;
    this.#misses = 0;
    this.#idleness.rise();
    this.#enterState("up");
    if (start_ms === null) void this.#note();
    else {
      const usualMs = this.#memory.learn(start_ms);
      const says = `a unit is up; it usually takes ${usualMs} ms`;
      this.#log.info(says, { ...this.#name, duration_ms: start_ms });
    }
    for (const listener of this.#listeners) listener.onUp();
    this.#idleness.enter(this.#waiters.release(undefined));
    this.#guardIdleness();
  }

  #fall({ code, why }: StartFailure): void {
    const backOffMs = Math.min(BACK_OFF_MS * 2 ** this.#failures, BACK_OFF_MAX_MS);
    this.#failures++;
    this.#retryAtMs = this.#clock.monotonic() + backOffMs;
    this.#enterState("failed");
    void this.#note();
    const next = `not tried again for ${formatDuration(backOffMs)}`;
    this.#log.warn(`a unit did not start: ${why}; ${next}`, { ...this.#name, code });
    this.#waiters.release(fail(code, `its unit did not start: ${why}`));
  }

  /** It went away by itself; the next request starts it. */
  #lose(): void {
    this.#enterState("asleep");
    void this.#note();
    this.#log.warn("a unit no longer answers", this.#name);
  }

  /** At our own start: a unit that runs is known before the first request comes. */
  async #find(): Promise<void> {
    const turn = this.#turn;
    await this.#recall();
    if (turn !== this.#turn) return;
    if (this.#isPutDown) return this.#enterState("stopped");
    const isGood = await this.#senses.look();
    if (turn !== this.#turn) return;
    if (isGood) this.#rise(null);
    // Whatever it was when it was last seen.
    else void this.#note();
  }

  #recall(): Promise<void> {
    this.#recalled ??= this.#memory.recall().then((isPutDown) => {
      this.#isPutDown = isPutDown;
    });
    return this.#recalled;
  }

  /** Nobody waits for it: a bug in it is told, and ends nothing else. */
  #begin(work: Promise<void>): void {
    work.catch((error) => this.#log.error("what a unit does broke off", { ...this.#name, error }));
  }

  #note(): Promise<void> {
    return this.#memory.note(this.#state, this.#isPutDown);
  }

  async #stop(stop: NonNullable<StartPlan["stop"]>): Promise<void> {
    this.#enterState("stopping");
    this.#isPutDown = true;
    // Kept before it happens: whatever becomes of us meanwhile, it is started again.
    await this.#note();
    const deadline = abortAfter(this.#clock, STOP_MS);
    const why = await stop(deadline.signal).catch((error) => {
      this.#log.error("the stop of a unit broke off", { ...this.#name, error });
      return "it broke off";
    });
    deadline.cancel();
    if (why === null) this.#log.info("a unit was stopped: it was idle", this.#name);
    else this.#log.warn(`a unit could not be stopped: ${why}`, this.#name);
    // What was not answered in time may have happened nevertheless.
    if (why !== null && !deadline.signal.aborted) this.#isPutDown = false;
    this.#enterState(this.#isPutDown ? "stopped" : "asleep");
    void this.#note();
    if (this.#waiters.size > 0) this.#begin(this.#start());
    else if (!this.#isPutDown) this.#begin(this.#find());
  }

  #enterState(state: ManagedServerState): void {
    if (this.isUp) for (const listener of this.#listeners) listener.onDown();
    this.#state = state;
    this.isUp = state === "up";
    this.#turn++;
    this.#senses.forget();
    this.#rest();
    this.#watch();
  }

  #rest(): void {
    this.#cancelLook();
    this.#idleness.rest();
  }

  /**
   * Looks in a while: whether it is still up; whether what was stopped is really down; whether
   * somebody has mended what did not start. What sleeps is left alone: a look might wake it.
   */
  #watch(): void {
    this.#cancelLook();
    const isWatched = ["up", "stopped", "failed"].includes(this.#state);
    if (!isWatched || this.#listeners.size === 0) return;
    this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => this.#begin(this.#lookAgain()));
  }

  async #lookAgain(): Promise<void> {
    const turn = this.#turn;
    const isGood = await this.#senses.sense();
    if (turn !== this.#turn) return;
    if (this.#state === "up") {
      this.#misses = isGood ? 0 : this.#misses + 1;
      if (this.#misses >= MISSES_MAX) return this.#lose();
    } else if (!isGood && this.#isPutDown) {
      // It is down, not asleep with its health awake: from now on that is believed again.
      this.#isPutDown = false;
      if (this.#state === "stopped") this.#enterState("asleep");
      void this.#note();
    } else if (isGood && !this.#isPutDown) return this.#rise(null);
    this.#watch();
  }

  #guardIdleness(): void {
    this.#idleness.rest();
    const { idle_stop_ms, stop } = this.#plan;
    if (idle_stop_ms === 0 || !stop || this.#listeners.size === 0) return;
    this.#idleness.guard(this.#plan, () => this.#begin(this.#stop(stop)));
  }
}

function fail(code: UpstreamError["code"], why: string): UpstreamError {
  return { ok: false, code, retryable: false, reason: why };
}

function untilAborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}
