// Use and reservations of limited accounts and keys in the current periods, kept in memory.
import { PERIODS, type Period } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { type FindPeriod, MINUTE_MS, type PeriodRange, QUARTER_MS } from "./period.ts";
import type { budgetStore, UsedAmounts } from "./store.ts";

/** Amounts that a request may use, or has used; cost in micro-SAR. */
export interface Amounts {
  requests: number;
  tokens: number;
  cost: number;
}

export interface PeriodUse extends PeriodRange {
  used: UsedAmounts;
  /** Maximum use of the requests under way. */
  reserved: Amounts;
  /** Alerts that were written, by limit, amount and percentage. */
  announced: Set<string>;
}

export type SubjectUse = Readonly<Record<Period, PeriodUse>>;

/** Periods kept of each kind: a clock that is set back finds the previous one. */
const PERIODS_KEPT = 2;

export interface UseCountersOptions {
  store: Pick<Bound<typeof budgetStore>, "sum" | "recover">;
  findPeriod: FindPeriod;
}

export class UseCounters {
  readonly #options: UseCountersOptions;
  /** Keyed by subject and period, then by start; the latest is last. */
  readonly #uses = new Map<string, Map<number, Promise<PeriodUse>>>();
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
    const uses = PERIODS.map((period) => this.#findPeriod(subject, period, now));
    const [minute, day, month] = (await Promise.all(uses)) as [PeriodUse, PeriodUse, PeriodUse];
    return { minute, day, month };
  }

  #findPeriod(subject: string, period: Period, now: number): Promise<PeriodUse> {
    const range = this.#options.findPeriod(period, now);
    const name = `${subject} ${period}`;
    const uses = this.#uses.get(name) ?? new Map<number, Promise<PeriodUse>>();
    this.#uses.set(name, uses);
    const known = uses.get(range.start);
    if (known) return known;
    const loaded = this.#load(subject, period === "minute" ? MINUTE_MS : QUARTER_MS, range);
    uses.set(range.start, loaded);
    const [oldest] = uses.keys();
    if (uses.size > PERIODS_KEPT) uses.delete(oldest!);
    // A failed read is repeated by the next request.
    loaded.catch(() => uses.delete(range.start));
    return loaded;
  }

  async #load(subject: string, span: number, { start, end }: PeriodRange): Promise<PeriodUse> {
    await this.recover();
    const used = await this.#options.store.sum(subject, span, start, end);
    return {
      start,
      end,
      used,
      reserved: { requests: 0, tokens: 0, cost: 0 },
      announced: new Set(),
    };
  }
}
