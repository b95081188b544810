// Use and reservations of limited accounts and keys in the current periods, kept in memory.
import { PERIODS, type Period } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import type { PeriodUse, SubjectUse } from "./amounts.ts";
import { type FindPeriod, type PeriodRange, spanOf } from "./period.ts";
import type { budgetStore } from "./store.ts";

/** Time without a request after which a subject is dropped from memory. */
const IDLE_MS = 86_400_000;
/** Periods kept of each kind: a clock that is set back finds the previous one. */
const PERIODS_KEPT = 2;

interface SubjectPeriods {
  foundAt: number;
  /** Keyed by their start; the latest is last. */
  periods: Readonly<Record<Period, Map<number, Promise<PeriodUse>>>>;
}

function makePeriods(): SubjectPeriods["periods"] {
  return { minute: new Map(), day: new Map(), month: new Map() };
}

export interface UseCountersOptions {
  store: Pick<Bound<typeof budgetStore>, "sum"> & { recover(): Promise<unknown> };
  findPeriod: FindPeriod;
}

export class UseCounters {
  readonly #options: UseCountersOptions;
  /** The subject that was asked for last is last. */
  readonly #subjects = new Map<string, SubjectPeriods>();
  #recovered: Promise<unknown> | undefined;

  constructor(options: UseCountersOptions) {
    this.#options = options;
  }

  /** Charges what dead processes have reserved; runs once, before anything is read. */
  async recover(): Promise<void> {
    this.#recovered ??= this.#options.store.recover();
    try {
      await this.#recovered;
    } catch (error) {
      this.#recovered = undefined;
      throw error;
    }
  }

  /** Returns the use of the periods that hold `now`; all calls share the same objects. */
  async find(subject: string, now: number): Promise<SubjectUse> {
    const periods = this.#subjects.get(subject)?.periods ?? makePeriods();
    this.#subjects.delete(subject);
    this.#subjects.set(subject, { foundAt: now, periods });
    this.#dropIdle(now);
    const uses = PERIODS.map((period) => this.#findPeriod(subject, periods, period, now));
    const [minute, day, month] = (await Promise.all(uses)) as [PeriodUse, PeriodUse, PeriodUse];
    return { minute, day, month };
  }

  /** Forgets subjects idle for longer than any request; their use is in the database. */
  #dropIdle(now: number): void {
    for (const [subject, { foundAt }] of this.#subjects) {
      if (now - foundAt < IDLE_MS) return;
      this.#subjects.delete(subject);
    }
  }

  #findPeriod(
    subject: string,
    periods: SubjectPeriods["periods"],
    period: Period,
    now: number,
  ): Promise<PeriodUse> {
    const range = this.#options.findPeriod(period, now);
    const uses = periods[period];
    const known = uses.get(range.start);
    if (known) return known;
    const loaded = this.#load(subject, range);
    uses.set(range.start, loaded);
    const [oldest] = uses.keys();
    if (uses.size > PERIODS_KEPT) uses.delete(oldest!);
    // A failed read is repeated by the next request.
    loaded.catch(() => uses.delete(range.start));
    return loaded;
  }

  async #load(subject: string, range: PeriodRange): Promise<PeriodUse> {
    await this.recover();
    const { start, end } = range;
    const used = await this.#options.store.sum(subject, spanOf(range), start, end);
    return {
      start,
      end,
      used,
      reserved: { requests: 0, tokens: 0, cost: 0 },
      announced: new Set(),
    };
  }
}
