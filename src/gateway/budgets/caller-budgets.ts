// Budgets of callers: checks limits, reserves what a request may use, and settles what it has used.
import { accountOf, type Caller, type LimitUse, PERIODS } from "../../access/index.ts";
import type { Bound, Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import { type AlertContext, findReached, findRefused } from "./alerts.ts";
import { type Amounts, type PeriodUse, UseCounters } from "./counters.ts";
import {
  explainExcesses,
  explainUnpriced,
  findExcesses,
  type LimitedSubject,
  makeSubject,
} from "./excess.ts";
import { type ReservedUse, writeLimitHeaders } from "./headers.ts";
import { showLimitUses } from "./limit-reader.ts";
import { createCalendar } from "./period.ts";
import { SettlementWriter } from "./settlement-writer.ts";
import { budgetStore, type UsedAmounts } from "./store.ts";

/** Minimum time for the last settlements, even if the stop has less. */
const LAST_WRITES_MS = 2_000;

/** Maximum that a request may use; a cost of null is unknown. */
export interface NeededAmounts {
  requests: number;
  tokens: number;
  cost: number | null;
}

const UNUSED = { requests: 0, estimated: 0, tokens: 0, cost: 0 } as const;
const NO_HEADERS: Readonly<Record<string, string>> = {};

/** One request under way; only the first call settles it. */
export interface Reservation {
  settle(used: Pick<Amounts, "tokens" | "cost">, isEstimated: boolean): void;
  /** Gives everything back: nothing was asked to do the work. */
  release(): void;
}

export interface CallerBudgetsOptions {
  database: Pick<Database, "bind">;
  clock: Clock;
  ids: Pick<Ids, "uuid">;
  log: Log;
  /** A process before this one still settles what it has reserved, until `inherit`. */
  predecessor?: object | null;
  /** Time zone of days and months. */
  zone: string;
  /** Read for each reply, since a reload may change them. */
  hasHeaders(): boolean;
  currency(): string;
}

export class CallerBudgets {
  readonly service: Service = {
    name: "budgets",
    start: () => this.#counters.recover(),
    stop: (deadlineMs) => this.#stop(deadlineMs),
  };
  readonly #options: CallerBudgetsOptions;
  readonly #store: Bound<typeof budgetStore>;
  readonly #counters: UseCounters;
  readonly #writer: SettlementWriter;
  /** Requests under way, each with what settles it at a stop. */
  readonly #open = new Map<Reservation, () => void>();

  constructor(options: CallerBudgetsOptions) {
    const { database, zone, predecessor } = options;
    const store = database.bind(budgetStore);
    this.#options = options;
    this.#store = store;
    this.#counters = new UseCounters({
      store: {
        sum: store.sum,
        recover: async () => predecessor ?? store.recover(Number.MAX_SAFE_INTEGER),
      },
      findPeriod: createCalendar(zone),
    });
    this.#writer = new SettlementWriter({ ...options, store });
  }

  /** Charges what the process before this one has left unsettled; `until`: it served till then. */
  async inherit(until: number): Promise<void> {
    await this.#store.recover(until);
  }

  /** Throws an ApiError if this much does not fit now; reserves nothing. */
  async check(caller: Caller, needed: NeededAmounts): Promise<void> {
    const subjects = listSubjects(caller);
    if (subjects.length === 0) return;
    const now = this.#options.clock.now();
    this.#requireRoom(caller, await this.#findUses(subjects, now), needed, now);
  }

  /**
   * Reserves this much, durably; null for a caller without limits. Throws an ApiError if it does
   * not fit. `estimate` returns what was used until now, for a stop of the program.
   */
  async reserve(
    caller: Caller,
    needed: NeededAmounts,
    estimate: () => Pick<Amounts, "tokens" | "cost">,
  ): Promise<Reservation | null> {
    const subjects = listSubjects(caller);
    if (subjects.length === 0) return null;
    const now = this.#options.clock.now();
    const found = await this.#findUses(subjects, now);
    // An await between the check and the addition would give the same room to two requests.
    const amounts = this.#requireRoom(caller, found, needed, now);
    addReserved(found, amounts, 1);
    const id = this.#options.ids.uuid();
    const { tokens, cost } = amounts;
    try {
      const names = subjects.map(({ name }) => name);
      await this.#store.reserve({ id, at: now, subjects: names, tokens, cost });
    } catch (error) {
      addReserved(found, amounts, -1);
      // A commit whose answer was lost has left a row, which the next start would charge.
      this.#writer.add([{ id, ...UNUSED }], []);
      throw error;
    }
    const reservation = this.#openReservation(caller, id, found, amounts);
    this.#open.set(reservation, () => reservation.settle(estimate(), true));
    return reservation;
  }

  /** Lists the limits of the caller's account and key with their use. */
  async list(caller: Caller): Promise<Record<LimitedSubject["kind"], LimitUse[]>> {
    const now = this.#options.clock.now();
    const shown: Record<LimitedSubject["kind"], LimitUse[]> = { account: [], key: [] };
    for (const subject of listSubjects(caller)) {
      const uses = await this.#counters.find(subject.name, now);
      shown[subject.kind] = showLimitUses(subject, uses);
    }
    return shown;
  }

  /** Headers that show a caller its limits; none where they are switched off. */
  async writeHeaders(caller: Caller): Promise<Readonly<Record<string, string>>> {
    const subjects = listSubjects(caller);
    if (subjects.length === 0 || !this.#options.hasHeaders()) return NO_HEADERS;
    const now = this.#options.clock.now();
    return writeLimitHeaders(await this.#findUses(subjects, now), now);
  }

  #requireRoom(
    caller: Caller,
    found: readonly ReservedUse[],
    needed: NeededAmounts,
    now: number,
  ): Amounts {
    const { cost } = needed;
    if (cost === null && found.some(limitsMoney)) throw explainUnpriced();
    const amounts = { ...needed, cost: cost ?? 0 };
    const excesses = found.flatMap(({ subject, uses }) => findExcesses(subject, uses, amounts));
    if (excesses.length === 0) return amounts;
    this.#writer.add([], findRefused(excesses, this.#alertContext(caller)));
    const error = explainExcesses(excesses, now, this.#options.currency());
    if (!this.#options.hasHeaders()) throw error;
    const headers = { ...error.details.headers, ...writeLimitHeaders(found, now) };
    throw apiError(error.code, { ...error.details, headers });
  }

  #findUses(subjects: readonly LimitedSubject[], now: number): Promise<ReservedUse[]> {
    const find = async (subject: LimitedSubject) => {
      return { subject, uses: await this.#counters.find(subject.name, now) };
    };
    return Promise.all(subjects.map(find));
  }

  #openReservation(
    caller: Caller,
    id: string,
    found: readonly ReservedUse[],
    reserved: Amounts,
  ): Reservation {
    const end = (requests: 0 | 1, used: Pick<Amounts, "tokens" | "cost">, isEstimated: boolean) => {
      if (!this.#open.delete(reservation)) return;
      const { tokens, cost } = used;
      const amounts = { requests, estimated: isEstimated ? 1 : 0, tokens, cost };
      addReserved(found, reserved, -1);
      for (const { uses } of found) for (const period of PERIODS) addUsed(uses[period], amounts);
      const context = this.#alertContext(caller);
      const alerts = found.flatMap(({ subject, uses }) => findReached(subject, uses, context));
      this.#writer.add([{ id, ...amounts }], alerts);
    };
    const reservation: Reservation = {
      settle: (used, isEstimated) => end(1, used, isEstimated),
      release: () => end(0, UNUSED, false),
    };
    return reservation;
  }

  #alertContext(caller: Caller): AlertContext {
    const { ids, clock } = this.#options;
    return { account_id: accountOf(caller), ids, now: clock.now() };
  }

  async #stop(deadlineMs: number): Promise<void> {
    for (const settle of [...this.#open.values()]) settle();
    await this.#writer.finish(Math.max(deadlineMs, LAST_WRITES_MS));
  }
}

/** Reports if a reservation needs the tokens of a request. */
export function limitsTokens(caller: Caller): boolean {
  const limits = { ...caller.limits?.account, ...caller.limits?.key };
  return Object.keys(limits).some((name) => !name.startsWith("requests_"));
}

function limitsMoney({ subject }: ReservedUse): boolean {
  return Object.keys(subject.limits).some((name) => name.startsWith("cost_"));
}

function listSubjects({ limits, account_id, key_id }: Caller): LimitedSubject[] {
  if (!limits) return [];
  const subjects: LimitedSubject[] = [];
  const { account, key } = limits;
  if (account) subjects.push(makeSubject("account", account_id!, account));
  if (key) subjects.push(makeSubject("key", key_id, key));
  return subjects;
}

function addUsed({ used }: PeriodUse, amounts: UsedAmounts): void {
  addAmounts(used, amounts);
  used.estimated += amounts.estimated;
}

function addReserved(found: readonly ReservedUse[], amounts: Amounts, sign: 1 | -1): void {
  for (const { uses } of found) {
    for (const period of PERIODS) addAmounts(uses[period].reserved, amounts, sign);
  }
}

function addAmounts(sum: Amounts, { requests, tokens, cost }: Amounts, sign = 1): void {
  sum.requests += sign * requests;
  sum.tokens += sign * tokens;
  sum.cost += sign * cost;
}
