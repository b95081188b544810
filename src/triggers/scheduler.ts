// Fires triggers by the clock: sleeps until the next one is due, and checks twice a minute anyway.
import type { Process } from "../cluster/index.ts";
import type { Bound, Database } from "../database/index.ts";
import { type Clock, settlesWithin, yieldToEventLoop } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { Settings } from "../settings/index.ts";
import { ClockAdjustment } from "./clock-adjustment.ts";
import { computeDue } from "./due.ts";
import type { FireTrigger } from "./fire-run.ts";
import { triggerStore } from "./store/index.ts";
import { pausedManually, type TriggerRow } from "./trigger.ts";

/** Interval between checks; another process may have written, or the wall clock been set. */
const CHECK_EVERY_MS = 30_000;
const RETRY_MS = 5_000;
/** Maximum fires side by side; on SQLite they share a commit. */
const FIRES_AT_ONCE = 8;
/** Failures in a row that end a check: the cause is not the triggers. */
const FAILURES_IN_A_ROW_MAX = 50;

export interface SchedulerOptions {
  database: Pick<Database, "bind" | "listen">;
  fire: FireTrigger;
  /** Fires nothing by a clock that is wrong: the other processes do. */
  process: Pick<Process, "isSkewed">;
  clock: Clock;
  log: Log;
  settings(): Pick<Settings, "agents">;
}

/** agents.does.trigger: each instant of a schedule fires once, even with several processes. */
export class Scheduler implements Service {
  readonly name = "trigger scheduler";
  readonly #options: SchedulerOptions;
  readonly #triggers: Bound<typeof triggerStore>;
  readonly #loop: WorkerLoop;
  readonly #backoffs: Backoffs;
  readonly #clockAdjustment: ClockAdjustment;
  #unlisten: (() => void)[] = [];
  #isStopping = false;
  #isPaused = false;
  #failuresInARow = 0;

  constructor(options: SchedulerOptions) {
    const { database, clock, log } = options;
    this.#options = options;
    this.#triggers = database.bind(triggerStore);
    this.#backoffs = new Backoffs(clock);
    this.#clockAdjustment = new ClockAdjustment({
      triggers: this.#triggers,
      clock,
      log,
      isStopping: () => this.#isStopping || this.#isPaused,
    });
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: () => this.#fireDue(),
      onError: (error) => log.error("triggers: due triggers could not be read", { error }),
    });
  }

  start(): void {
    this.#unlisten = ["triggers.due", "installation"].map((channel) =>
      this.#options.database.listen(channel, () => this.#loop.wake()),
    );
    this.#loop.wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    await settlesWithin(this.#options.clock, deadlineMs, this.#loop.stop());
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#loop.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#loop.resume();
  }

  async #fireDue(): Promise<NextPass> {
    const { clock } = this.#options;
    // Clock changes are noticed even while nothing fires.
    this.#clockAdjustment.checkClock();
    this.#failuresInARow = 0;
    for (;;) {
      if (!this.#isOpen()) return { inMs: CHECK_EVERY_MS };
      if (this.#isTroubled) return { inMs: RETRY_MS };
      await this.#clockAdjustment.apply();
      const now = clock.now();
      if (await this.#fireRound(now)) continue;
      const next = await this.#triggers.findNextDue(now);
      const waitMs = next === undefined ? CHECK_EVERY_MS : Math.max(next - clock.now(), 0);
      return { inMs: Math.min(waitMs, this.#backoffs.nextEndIn(), CHECK_EVERY_MS) };
    }
  }

  /** agents.errors.not_enabled: instants that pass meanwhile are caught up with, or missed. */
  #isOpen(): boolean {
    const { settings, process } = this.#options;
    const { agents } = settings();
    if (this.#isStopping || this.#isPaused || process.isSkewed) return false;
    return agents.open && agents.triggers;
  }

  get #isTroubled(): boolean {
    return this.#failuresInARow >= FAILURES_IN_A_ROW_MAX;
  }

  /** Gives each account a turn; false when nothing is due but what backs off. */
  async #fireRound(now: number): Promise<boolean> {
    const accounts = await this.#triggers.listDueAccounts(now);
    let fired = 0;
    for (let at = 0; at < accounts.length; at += FIRES_AT_ONCE) {
      if (!this.#isOpen() || !this.#clockAdjustment.checkClock()) return true;
      if (this.#isTroubled) return true;
      fired += await this.#fireBatch(accounts.slice(at, at + FIRES_AT_ONCE));
    }
    return fired > 0;
  }

  async #fireBatch(accounts: readonly string[]): Promise<number> {
    const perAccount = Math.floor(FIRES_AT_ONCE / accounts.length);
    const limits = accounts.map((accountId) => {
      return { accountId, limit: perAccount + this.#backoffs.count(accountId) };
    });
    const taken = new Map<string, number>();
    const due = (await this.#triggers.listDue(this.#options.clock.now(), limits)).filter(
      (trigger) => {
        const count = taken.get(trigger.account_id) ?? 0;
        if (count === perAccount || this.#backoffs.has(trigger)) return false;
        taken.set(trigger.account_id, count + 1);
        return true;
      },
    );
    await Promise.all(due.map((trigger) => this.#tryFire(trigger)));
    await yieldToEventLoop();
    return due.length;
  }

  /** A failure of one trigger holds up no other. */
  async #tryFire(trigger: TriggerRow): Promise<void> {
    try {
      await this.#fire(trigger);
      this.#backoffs.clear(trigger);
      this.#failuresInARow = 0;
    } catch (error) {
      this.#backoffs.begin(trigger);
      this.#failuresInARow += 1;
      const { id: trigger_id, account_id } = trigger;
      this.#options.log.error("triggers: a fire failed", { error, trigger_id, account_id });
    }
  }

  async #fire(trigger: TriggerRow): Promise<void> {
    const { id, account_id, next_fire_at, cron, time_zone } = trigger;
    if (next_fire_at === null) return;
    const now = this.#options.clock.now();
    const due = computeDue({ ...trigger, next_fire_at }, now);
    switch (due.kind) {
      case "unreadable": {
        // agents.states.p12: only its owner can mend it, with another schedule.
        const message = `Its schedule cannot be read any more. ${due.fault}`;
        const reason = pausedManually(message, now, "invalid_request");
        await this.#triggers.change({
          id,
          account_id,
          fields: {},
          transition: { to: "paused", reason },
          key_id: null,
          seen: { cron, time_zone },
          next_fire_at: null,
          now,
        });
        return;
      }
      case "moved":
        await this.#triggers.realign([{ trigger_id: id, from: next_fire_at, to: due.nextFireAt }]);
        return;
      case "due":
        await this.#options.fire({ trigger, source: "cron", instant: due.instant });
    }
  }
}

const BACKOFF_FIRST_MS = 5_000;
/** Once the cause is mended, an instant of the same minute is still on time. */
const BACKOFF_MS_MAX = 30_000;
/** Maximum remembered triggers; those that failed longest ago are forgotten. */
const BACKOFFS_MAX = 10_000;

interface Backoff {
  accountId: string;
  durationMs: number;
  /** On the monotonic clock. */
  endsAt: number;
}

type TriggerRef = Pick<TriggerRow, "id" | "account_id">;

/** Triggers whose fire failed; each rests longer with every further failure. */
export class Backoffs {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #byTrigger = new Map<string, Backoff>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  begin({ id, account_id: accountId }: TriggerRef): void {
    const lastMs = this.#byTrigger.get(id)?.durationMs ?? BACKOFF_FIRST_MS / 2;
    const durationMs = Math.min(lastMs * 2, BACKOFF_MS_MAX);
    // Deleting first keeps the map in the order of the last failures.
    this.#byTrigger.delete(id);
    if (this.#byTrigger.size >= BACKOFFS_MAX) {
      this.#byTrigger.delete(this.#byTrigger.keys().next().value!);
    }
    const endsAt = this.#clock.monotonic() + durationMs;
    this.#byTrigger.set(id, { accountId, durationMs, endsAt });
  }

  clear({ id }: TriggerRef): void {
    this.#byTrigger.delete(id);
  }

  has({ id }: TriggerRef): boolean {
    return (this.#byTrigger.get(id)?.endsAt ?? 0) > this.#clock.monotonic();
  }

  count(accountId: string): number {
    return [...this.#byTrigger.values()].filter((found) => found.accountId === accountId).length;
  }

  nextEndIn(): number {
    const now = this.#clock.monotonic();
    let leastMs = Number.POSITIVE_INFINITY;
    for (const { endsAt } of this.#byTrigger.values()) {
      if (endsAt > now) leastMs = Math.min(leastMs, endsAt - now);
    }
    return leastMs;
  }
}
