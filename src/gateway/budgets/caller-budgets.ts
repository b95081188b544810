// Budgets of callers: checks limits, reserves what a request may use, and settles what it has used.
import { accountOf, type Caller, type LimitUse, PERIODS } from "../../access/index.ts";
import type { Process } from "../../cluster/index.ts";
import type { Bound, Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import { type AlertContext, findReached, findRefused } from "./alerts.ts";
import { type Amounts, addAmounts, addUsed, UNUSED } from "./amounts.ts";
import { UseCounters } from "./counters.ts";
import {
  explainExcesses,
  explainUnpriced,
  findExcesses,
  fitsLimits,
  type LimitedSubject,
  makeSubject,
} from "./excess.ts";
import { type ReservedUse, writeLimitHeaders } from "./headers.ts";
import { showLimitUses } from "./limit-reader.ts";
import { createCalendar } from "./period.ts";
import { SettlementWriter } from "./settlement-writer.ts";
import { SharedUse } from "./shared-use.ts";
import { budgetStore, type LimitAlert, type ReservationRow } from "./store.ts";

/** Minimum time for the last settlements, even if the stop has less. */
const LAST_WRITES_MS = 2_000;

/** Maximum that a request may use; a cost of null is unknown. */
export interface NeededAmounts {
  requests: number;
  tokens: number;
  cost: number | null;
}

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
  /** Set where other processes serve the same accounts. */
  shared?: Pick<Process, "epoch" | "join"> | null;
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
  readonly #shared: SharedUse | null;
  readonly #writer: SettlementWriter;
  /** Requests under way, each with what settles it at a stop. */
  readonly #open = new Map<Reservation, () => void>();

  constructor(options: CallerBudgetsOptions) {
    const { database, zone, predecessor, shared: process } = options;
    const store = database.bind(budgetStore);
    this.#options = options;
    this.#store = store;
    this.#shared = process ? new SharedUse({ store, process }) : null;
    const recoverAll = async () => predecessor ?? store.recover(Number.MAX_SAFE_INTEGER);
    this.#counters = new UseCounters({
      store: process
        ? { sum: async () => ({ ...UNUSED }), recover: store.forgetUses }
        : { sum: store.sum, recover: recoverAll },
      findPeriod: createCalendar(zone),
    });
    const settle: typeof store.settle = this.#shared
      ? (...ended) => this.#shared!.settle(...ended)
      : store.settle;
    this.#writer = new SettlementWriter({ ...options, store: { settle } });
  }

  /** Charges what the process before this one has left unsettled; `until`: it served till then. */
  async inherit(until: number): Promise<void> {
    if (!this.#shared) await this.#store.recover(until);
  }

  /** Throws an ApiError if this much does not fit now; reserves nothing. */
  async check(caller: Caller, needed: NeededAmounts): Promise<void> {
    const subjects = listSubjects(caller);
    if (subjects.length === 0) return;
    const now = this.#options.clock.now();
    const found = await this.#findUses(subjects, now);
    const amounts = measure(found, needed);
    const isFree = found.every(({ subject, uses }) =>
      fitsLimits(subject, (period) => uses[period], amounts),
    );
    // The database decides; that it has refused lately does not mean that it still would.
    if (!isFree) await this.#shared?.refresh(found);
    this.#requireRoom(caller, found, amounts, now);
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
    const amounts = measure(found, needed);
    const { tokens, cost } = amounts;
    const id = this.#options.ids.uuid();
    const row = { id, at: now, subjects: subjects.map(({ name }) => name), tokens, cost };
    if (this.#shared) await this.#reserveShared(this.#shared, caller, found, row);
    else await this.#reserveAlone(caller, found, row);
    const reservation = this.#openReservation(caller, id, found, amounts);
    this.#open.set(reservation, () => reservation.settle(estimate(), true));
    return reservation;
  }

  /** Lists the limits of the caller's account and key with their use. */
  async list(caller: Caller): Promise<Record<LimitedSubject["kind"], LimitUse[]>> {
    const now = this.#options.clock.now();
    const shown: Record<LimitedSubject["kind"], LimitUse[]> = { account: [], key: [] };
    const found = await this.#findUses(listSubjects(caller), now);
    await this.#shared?.refresh(found);
    for (const { subject, uses } of found) shown[subject.kind] = showLimitUses(subject, uses);
    return shown;
  }

  /** Headers that show a caller its limits; none where they are switched off. */
  async writeHeaders(caller: Caller): Promise<Readonly<Record<string, string>>> {
    const subjects = listSubjects(caller);
    if (subjects.length === 0 || !this.#options.hasHeaders()) return NO_HEADERS;
    const now = this.#options.clock.now();
    return writeLimitHeaders(await this.#findUses(subjects, now), now);
  }

  async #reserveAlone(
    caller: Caller,
    found: readonly ReservedUse[],
    row: ReservationRow,
  ): Promise<void> {
    const amounts = { ...row, requests: 1 };
    // An await between the check and the addition would give the same room to two requests.
    this.#requireRoom(caller, found, amounts, row.at);
    addReserved(found, amounts, 1);
    try {
      await this.#store.reserve(row);
    } catch (error) {
      addReserved(found, amounts, -1);
      this.#giveBack(row);
      throw error;
    }
  }

  async #reserveShared(
    shared: SharedUse,
    caller: Caller,
    found: readonly ReservedUse[],
    row: ReservationRow,
  ): Promise<void> {
    const onWritten = () => this.#writer.add([], this.#findReached(caller, found));
    const request = { root: accountOf(caller), found, onWritten };
    const reserve = () =>
      shared.reserve(row, request).catch((error: unknown) => {
        this.#giveBack(row);
        throw error;
      });
    // A request that ends meanwhile may have made room.
    while (!(await reserve())) {
      this.#requireRoom(caller, found, { ...row, requests: 1 }, row.at);
    }
  }

  /** A commit whose answer was lost has left a row, which the next start would charge. */
  #giveBack({ id }: ReservationRow): void {
    this.#writer.add([{ id, ...UNUSED }], []);
  }

  #requireRoom(caller: Caller, found: readonly ReservedUse[], amounts: Amounts, now: number): void {
    const excesses = found.flatMap(({ subject, uses }) => findExcesses(subject, uses, amounts));
    if (excesses.length === 0) return;
    this.#writer.add([], findRefused(excesses, this.#alertContext(caller)));
    const error = explainExcesses(excesses, now, this.#options.currency());
    if (!this.#options.hasHeaders()) throw error;
    const headers = { ...error.details.headers, ...writeLimitHeaders(found, now) };
    throw apiError(error.code, { ...error.details, headers });
  }

  #findReached(caller: Caller, found: readonly ReservedUse[]): LimitAlert[] {
    const context = this.#alertContext(caller);
    return found.flatMap(({ subject, uses }) => findReached(subject, uses, context));
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
      for (const { uses } of found) {
        for (const period of PERIODS) addUsed(uses[period].used, amounts);
      }
      this.#writer.add([{ id, ...amounts }], this.#findReached(caller, found));
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

/** A budget of money needs a price. */
function measure(found: readonly ReservedUse[], { cost, ...needed }: NeededAmounts): Amounts {
  if (cost === null && found.some(limitsMoney)) throw explainUnpriced();
  return { ...needed, cost: cost ?? 0 };
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

function addReserved(found: readonly ReservedUse[], amounts: Amounts, sign: 1 | -1): void {
  for (const { uses } of found) {
    for (const period of PERIODS) addAmounts(uses[period].reserved, amounts, sign);
  }
}
