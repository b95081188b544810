// Fires triggers by the clock: a service that wakes when the next one is due.

import type { Database } from "../database/index.ts";
import { type Cancel, type Clock, endsWithin, nextTurn } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import type { Settings } from "../settings/index.ts";
import { createBackoffs } from "./backoff.ts";
import { createClockAdjustment } from "./clock-adjustment.ts";
import { computeDue } from "./due.ts";
import type { FireTrigger } from "./fire-run.ts";
import { triggerStore } from "./store/index.ts";
import type { PausedReason, TriggerRow } from "./trigger.ts";

/** Others may have written, and a wall clock may be set at any time. */
const LOOK_EVERY_MS = 30_000;
/** Behind a look that failed. */
const LOOK_AGAIN_MS = 5_000;
/** Fires side by side: on SQLite they share a commit. */
const PLACES = 8;
/** So many without one between that went well: not the triggers are at fault. */
const FAILURES_IN_A_ROW_MAX = 50;

export interface SchedulerOptions {
  database: Pick<Database, "bind" | "listen">;
  fire: FireTrigger;
  clock: Clock;
  log: Log;
  /** The settings in force now: asked for each time, since a reload may change them. */
  settings(): Pick<Settings, "agents">;
}

/** agents.does.trigger: each instant of a schedule fires once, whichever process looks first. */
export function createScheduler(options: SchedulerOptions): Service {
  const { database, clock, log } = options;
  let isStopping = false;
  let isTold = false;
  let looking: Promise<void> | null = null;
  let cancel: Cancel | undefined;
  let leave: (() => void) | undefined;
  const findPause = createLook(options, () => isStopping);

  const look = async () => {
    let pause_ms = 0;
    do {
      isTold = false;
      try {
        pause_ms = await findPause();
      } catch (error) {
        log.error("triggers could not be looked at", { error });
        pause_ms = LOOK_AGAIN_MS;
      }
      // Who sets an instant while others fire says so: it may be the next one.
    } while (isTold && !isStopping);
    looking = null;
    if (!isStopping) cancel = clock.after(pause_ms, begin);
  };
  const begin = () => {
    cancel?.();
    looking ??= look();
  };
  return {
    name: "timekeeper",
    start() {
      leave = database.listen("triggers.due", () => {
        isTold = true;
        begin();
      });
      begin();
    },
    async stop(deadline_ms) {
      isStopping = true;
      leave?.();
      cancel?.();
      await endsWithin(clock, deadline_ms, Promise.resolve(looking ?? undefined));
    },
  };
}

/** Fires all that is due; then: in how many milliseconds to look again. */
function createLook(options: SchedulerOptions, isStopping: () => boolean) {
  const { database, clock, log } = options;
  const triggers = database.bind(triggerStore);
  const rests = createBackoffs(clock);
  const alignment = createClockAdjustment({ triggers, clock, log, isStopping });
  const fireOne = createFiringByClock(options);
  let failures = 0;

  const isOpen = () => {
    // agents.errors.not_enabled: what has passed by then is caught up with, or missed.
    const { agents } = options.settings();
    return agents.open && agents.triggers && !isStopping();
  };
  const tryOne = async (trigger: TriggerRow) => {
    try {
      await fireOne(trigger);
      rests.forget(trigger);
      failures = 0;
    } catch (error) {
      // What is wrong with one holds up no other.
      rests.begin(trigger);
      failures += 1;
      const { id: trigger_id, account_id } = trigger;
      log.error("a trigger could not be fired", { error, trigger_id, account_id });
    }
  };
  /** What fires side by side: of each account as many. */
  const takeTurn = async (accounts: readonly string[]): Promise<number> => {
    const places = Math.floor(PLACES / accounts.length);
    const turns = accounts.map((account_id) => {
      return { account_id, triggers_max: places + rests.count(account_id) };
    });
    const taken = new Map<string, number>();
    const due = (await triggers.listDue(clock.now(), turns)).filter((trigger) => {
      const count = taken.get(trigger.account_id) ?? 0;
      if (count === places || rests.has(trigger)) return false;
      taken.set(trigger.account_id, count + 1);
      return true;
    });
    await Promise.all(due.map(tryOne));
    // Callers are served in between.
    await nextTurn();
    return due.length;
  };
  /** One turn for each account; false: nothing is due any more but what rests. */
  const goRound = async (now: number): Promise<boolean> => {
    const accounts = await triggers.listDueAccounts(now);
    let fired = 0;
    for (let at = 0; at < accounts.length; at += PLACES) {
      if (!isOpen() || !alignment.isKept() || failures >= FAILURES_IN_A_ROW_MAX) return true;
      fired += await takeTurn(accounts.slice(at, at + PLACES));
    }
    return fired > 0;
  };
  return async (): Promise<number> => {
    // Looked at also while nothing fires.
    alignment.isKept();
    failures = 0;
    for (;;) {
      if (!isOpen()) return LOOK_EVERY_MS;
      if (failures >= FAILURES_IN_A_ROW_MAX) return LOOK_AGAIN_MS;
      await alignment.keep();
      const now = clock.now();
      if (await goRound(now)) continue;
      const next = await triggers.findNextDue(now);
      const wait_ms = next === undefined ? LOOK_EVERY_MS : Math.max(next - clock.now(), 0);
      return Math.min(wait_ms, rests.nextEndIn(), LOOK_EVERY_MS);
    }
  };
}

/** Fires a trigger that is due, or puts right why it is none any more. */
function createFiringByClock({ database, fire, clock }: SchedulerOptions) {
  const triggers = database.bind(triggerStore);
  return async (trigger: TriggerRow): Promise<void> => {
    const { id, next_fire_at, cron, time_zone } = trigger;
    if (next_fire_at === null) return;
    const now = clock.now();
    const reckoned = computeDue({ ...trigger, next_fire_at }, now);
    switch (reckoned.kind) {
      case "unreadable": {
        const turn = { to: "paused", reason: explainUnreadable(reckoned.fault, now) } as const;
        const nobody = { account_id: null, key_id: null, fields: {}, next_fire_at: null };
        await triggers.change({ ...nobody, id, turn, seen: { cron, time_zone }, now });
        return;
      }
      case "moved":
        await triggers.realign([{ trigger_id: id, from: next_fire_at, to: reckoned.next_fire_at }]);
        return;
      case "due":
        await fire({ trigger, source: "cron", instant: reckoned.instant });
    }
  };
}

/**
 * agents.states.p12: neither key, agent nor model is at fault, so that it is of the kind that its
 * owner ends by hand, here with another schedule.
 */
function explainUnreadable(fault: string, now: number): PausedReason {
  const message = `Its schedule cannot be read any more. ${fault}`;
  return { type: "manual", code: "invalid_request", message, at: new Date(now).toISOString() };
}
