// A model server that is started on demand, watched, and stopped when idle.
import type { Process } from "../../cluster/index.ts";
import { abortAfter, type Cancel, type Clock } from "../../platform/clock.ts";
import { FairQueue } from "../../platform/fair-queue.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import type { UpstreamError } from "../providers/contract.ts";
import { timeoutError, upstreamError } from "../providers/openai/errors.ts";
import { HealthProbe } from "./health-probe.ts";
import { IdleTimer } from "./idle-timer.ts";
import { type MayAct, ServerUse } from "./server-use.ts";
import { type StartFailure, type StartPlan, type StartResult, startServer } from "./start-plan.ts";
import { type ManagedServerState, StartHistory, type StartHistoryStore } from "./store.ts";

export interface ManagedServerListener {
  /** Called before waiting requests go on. */
  onUp(): void;
  onDown(): void;
}

export interface ManagedServerOptions {
  id: string;
  plan: StartPlan;
  clock: Clock;
  log: Log;
  name: Pick<LogFields, "model" | "upstream">;
  notes: StartHistoryStore;
  process: Pick<Process, "withLease">;
  /** Set where other processes may use the server. */
  isShared: boolean;
}

const WAITING_MAX = 1_000;
/** Maximum wait for a start, which is never reached: callers' own time-outs end it earlier. */
const WAIT_MS = 86_400_000;
const CHECK_EVERY_MS = 10_000;
/** Number of failed checks in a row that make a server gone; it may be too busy for one. */
const MISSES_MAX = 2;
const STOP_MS = 60_000;
const BACK_OFF_MS = 5_000;
const BACK_OFF_MAX_MS = 5 * 60_000;

const FOUND = { isUp: true, startMs: null } as const;
const BROKEN_OFF = { isUp: false, code: "model_offline", reason: "its start broke off" } as const;
const UP = { ok: true } as const;

export class ManagedServer {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #name: ManagedServerOptions["name"];
  readonly #history: StartHistory;
  readonly #probe: HealthProbe;
  readonly #idleTimer: IdleTimer;
  readonly #use: ServerUse;
  readonly #queue: FairQueue<typeof UP | UpstreamError>;
  readonly #listeners = new Set<ManagedServerListener>();
  #plan: StartPlan;
  #isKept = false;
  #state: ManagedServerState = "asleep";
  /** Counts state changes, so that results of older checks are dropped. */
  #epoch = 0;
  #misses = 0;
  #failures = 0;
  #lastFailure: UpstreamError | null = null;
  #retryAtMs = 0;
  #cancelCheck: Cancel = () => {};

  constructor({ id, plan, clock, log, name, notes, ...others }: ManagedServerOptions) {
    this.#plan = plan;
    this.#clock = clock;
    this.#log = log;
    this.#name = name;
    this.#queue = new FairQueue(clock, WAITING_MAX);
    this.#idleTimer = new IdleTimer(clock);
    const onFailure = (error: unknown) =>
      log.error("autostart: state could not be stored", { ...name, error });
    this.#history = new StartHistory(id, notes, clock, onFailure);
    this.#use = new ServerUse({ ...others, id, clock, store: notes, onFailure });
    this.#probe = new HealthProbe(
      () => this.#plan.isUp(),
      (error) => log.error("autostart: health check failed", { ...name, error }),
    );
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  /** Requests that wait for its start. */
  get waiting(): number {
    return this.#queue.size;
  }

  get canStop(): boolean {
    return this.#plan.stop !== null;
  }

  /** Starts it for no request, also after a failure; false where it is up or on its way. */
  startNow(): boolean {
    if (["up", "starting", "stopping"].includes(this.#state)) return false;
    this.#run(this.#start());
    return true;
  }

  /** Stops it although requests may be under way; false where it is not up. */
  stopNow(): boolean {
    const { stop } = this.#plan;
    if (!this.isUp || !stop) return false;
    this.#run(this.#alone((mayAct) => this.#stop(stop, "model server", mayAct)));
    return true;
  }

  follow(plan: StartPlan): void {
    this.#plan = plan;
    if (this.isUp) this.#watchIdleness();
  }

  /** Does not stop the idle server while another process may use it. */
  keep(isKept: boolean): void {
    this.#isKept = isKept;
    if (this.isUp) this.#watchIdleness();
  }

  hold(listener: ManagedServerListener): void {
    this.#listeners.add(listener);
    if (this.isUp) listener.onUp();
    if (this.#listeners.size > 1) return;
    if (this.#state === "asleep") this.#run(this.#detect());
    this.#watch();
    if (this.isUp) this.#watchIdleness();
  }

  /** Leaves the server as it is; requests that wait for it still do. */
  release(listener: ManagedServerListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) this.#unwatch();
  }

  /** Waits for the server and starts it; after undefined the caller has to `leave` it. */
  async enter(account: string, signal: AbortSignal): Promise<UpstreamError | undefined> {
    // Another process has stopped it where the use cannot be told.
    if (this.isUp && !(this.#use.isTold || (await this.#use.tell())) && this.isUp) {
      this.#enterState("asleep");
    }
    if (this.tryEnter()) return undefined;
    if (signal.aborted) return timeoutError("left");
    const pauseMs = this.#retryAtMs - this.#clock.monotonic();
    if (this.#state === "failed" && pauseMs > 0) {
      const seconds = Math.ceil(pauseMs / 1_000);
      return upstreamError(
        "model_offline",
        `its unit did not start; not tried again for ${seconds} s`,
      );
    }
    const find = () => (this.tryEnter() ? UP : this.#lastFailure);
    const request = { account, find, isSkippable: false, timeoutMs: WAIT_MS, signal };
    const waiting = this.#queue.wait(request);
    if (this.#state !== "starting" && this.#state !== "stopping") this.#run(this.#start());
    const found = await waiting;
    if (found === "full") {
      return upstreamError(
        "upstream_rate_limited",
        `${WAITING_MAX} callers wait for its unit already`,
      );
    }
    if (typeof found === "string") return timeoutError(found);
    return found.ok ? undefined : found;
  }

  tryEnter(): boolean {
    if (!this.isUp || !this.#use.isTold) return false;
    this.#idleTimer.enter();
    this.#use.enter();
    return true;
  }

  leave(): void {
    this.#idleTimer.leave();
    this.#use.leave();
  }

  noteLife(): void {
    this.#probe.noteLife();
  }

  /** Checks the server after a request without answer; false for a caller who leaves meanwhile. */
  async isGone(signal: AbortSignal): Promise<boolean> {
    if (!this.isUp) return true;
    const epoch = this.#epoch;
    const isAlive = await Promise.race([this.#probe.doubt(), untilAborted(signal)]);
    if (isAlive === "left" || isAlive) return false;
    if (epoch === this.#epoch) this.#lose();
    return true;
  }

  async #start(): Promise<void> {
    // Set at once, so that no other request starts it too.
    this.#enterState("starting");
    await this.#alone(async (mayAct) => {
      let result: StartResult | typeof FOUND;
      try {
        await this.#history.recall(this.#use.isShared);
        result = await this.#detectOrStart(mayAct);
      } catch (error) {
        this.#log.error("autostart: start failed", { ...this.#name, error });
        result = BROKEN_OFF;
      }
      if (result.isUp) this.#rise(result.startMs);
      else this.#fall(result);
    });
  }

  /** Works while no other process does, which then reads what was noted. */
  async #alone(work: (mayAct: MayAct) => Promise<void>): Promise<void> {
    try {
      await this.#use.alone(async (mayAct) => {
        await work(mayAct);
        await this.#history.written();
      });
    } catch (error) {
      // The lease could not be asked for.
      if (this.#state === "starting") this.#fall(BROKEN_OFF);
      throw error;
    }
  }

  /** Checks first, since it may be up already. */
  async #detectOrStart(mayAct: MayAct): Promise<StartResult | typeof FOUND> {
    const trustsHealth = !this.#history.isStoppedByUs;
    if (trustsHealth && (await this.#probe.isHealthy())) return FOUND;
    if (!(await mayAct())) return BROKEN_OFF;
    this.#log.info("autostart: model server is being started", this.#name);
    void this.#history.note(this.#state);
    const plan = { ...this.#plan, isUp: () => this.#probe.isHealthy() };
    return startServer(plan, this.#clock, trustsHealth);
  }

  #rise(startMs: number | null): void {
    this.#history.isStoppedByUs = false;
    this.#failures = 0;
    this.#misses = 0;
    this.#idleTimer.restart();
    this.#use.noteTold();
    this.#enterState("up");
    if (startMs === null) void this.#history.note(this.#state);
    else {
      const usual_ms = this.#history.learn(startMs);
      const fields = { ...this.#name, duration_ms: startMs, usual_ms };
      this.#log.info("autostart: model server is up", fields);
    }
    for (const listener of this.#listeners) listener.onUp();
    this.#queue.serve();
    this.#watchIdleness();
  }

  #fall({ code, reason }: StartFailure): void {
    const retry_ms = Math.min(BACK_OFF_MS * 2 ** this.#failures, BACK_OFF_MAX_MS);
    this.#failures++;
    this.#retryAtMs = this.#clock.monotonic() + retry_ms;
    this.#enterState("failed");
    void this.#history.note(this.#state);
    const fields = { ...this.#name, code, reason, retry_ms };
    this.#log.warn("autostart: model server did not start", fields);
    this.#lastFailure = upstreamError(code, `its unit did not start: ${reason}`);
    this.#queue.serve();
  }

  #lose(): void {
    this.#enterState("asleep");
    void this.#history.note(this.#state);
    this.#log.warn("autostart: model server no longer answers", this.#name);
  }

  async #detect(): Promise<void> {
    const epoch = this.#epoch;
    await this.#history.recall(this.#use.isShared);
    if (epoch !== this.#epoch) return;
    if (this.#history.isStoppedByUs) return this.#enterState("stopped");
    const isHealthy = await this.#probe.isHealthy();
    if (epoch !== this.#epoch) return;
    if (isHealthy) this.#rise(null);
    else void this.#history.note(this.#state);
  }

  #run(work: Promise<void>): void {
    work.catch((error) => this.#log.error("autostart: a task failed", { ...this.#name, error }));
  }

  /** Restarts the idle time where another process has used the server. */
  async #stopIdle(stop: NonNullable<StartPlan["stop"]>, mayAct: MayAct): Promise<void> {
    if (this.#use.isShared && !(await this.#use.beginStop())) {
      this.#idleTimer.restart();
      if (this.isUp) this.#watchIdleness();
    } else if (this.isUp) await this.#stop(stop, "idle model server", mayAct);
  }

  async #stop(stop: NonNullable<StartPlan["stop"]>, what: string, mayAct: MayAct): Promise<void> {
    this.#enterState("stopping");
    this.#history.isStoppedByUs = true;
    // Stored before the stop, so that after a crash of Wadi the server is started again.
    await this.#history.note(this.#state);
    const deadline = abortAfter(this.#clock, STOP_MS);
    const act = async () => ((await mayAct()) ? stop(deadline.signal) : "another process has it");
    const failure = await act().catch((error) => {
      this.#log.error("autostart: stop failed", { ...this.#name, error });
      return "it broke off";
    });
    deadline.cancel();
    if (failure === null) this.#log.info(`autostart: ${what} was stopped`, this.#name);
    else {
      const fields = { ...this.#name, reason: failure };
      this.#log.warn("autostart: model server could not be stopped", fields);
    }
    // A stop without an answer in time may have happened nevertheless.
    if (failure !== null && !deadline.signal.aborted) this.#history.isStoppedByUs = false;
    this.#enterState(this.#history.isStoppedByUs ? "stopped" : "asleep");
    void this.#history.note(this.#state);
    if (this.#queue.size > 0) this.#run(this.#start());
    else if (!this.#history.isStoppedByUs) this.#run(this.#detect());
  }

  #enterState(state: ManagedServerState): void {
    if (this.isUp) for (const listener of this.#listeners) listener.onDown();
    this.#state = state;
    this.#epoch++;
    this.#probe.reset();
    this.#unwatch();
    this.#watch();
  }

  #unwatch(): void {
    this.#cancelCheck();
    this.#idleTimer.stop();
  }

  /** Checks a server that is up, stopped or failed; a check might wake one that sleeps. */
  #watch(): void {
    this.#cancelCheck();
    const isWatched = ["up", "stopped", "failed"].includes(this.#state);
    if (!isWatched || this.#listeners.size === 0) return;
    this.#cancelCheck = this.#clock.after(CHECK_EVERY_MS, () => this.#run(this.#check()));
  }

  async #check(): Promise<void> {
    const epoch = this.#epoch;
    const isAlive = await this.#probe.isAlive();
    if (epoch !== this.#epoch) return;
    if (this.#state === "up") {
      this.#misses = isAlive ? 0 : this.#misses + 1;
      if (this.#misses >= MISSES_MAX) return this.#lose();
    } else if (!isAlive && this.#history.isStoppedByUs) {
      // Really down: from now on its health is trusted again.
      this.#history.isStoppedByUs = false;
      if (this.#state === "stopped") this.#enterState("asleep");
      void this.#history.note(this.#state);
    } else if (isAlive && !this.#history.isStoppedByUs) return this.#rise(null);
    this.#watch();
  }

  #watchIdleness(): void {
    this.#idleTimer.stop();
    const { idleStopMs, minUpMs, stop } = this.#plan;
    if (this.#isKept || idleStopMs === 0 || !stop || this.#listeners.size === 0) return;
    this.#idleTimer.start(this.#use.limitIdle(idleStopMs), minUpMs, () =>
      this.#run(this.#alone((mayAct) => this.#stopIdle(stop, mayAct))),
    );
  }
}

function untilAborted(signal: AbortSignal): Promise<"left"> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve("left"), { once: true });
  });
}
