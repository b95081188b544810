// Limits with their use, as memory or the database has it.
import type { Limits, LimitUse } from "../../access/index.ts";
import { showAmount, showLimit } from "../../access/index.ts";
import type { Database } from "../../database/index.ts";
import type { SubjectUse } from "./amounts.ts";
import { UseCounters } from "./counters.ts";
import { type LimitedSubject, listLimits, makeSubject } from "./excess.ts";
import { createCalendar } from "./period.ts";
import { budgetStore } from "./store.ts";

export interface LimitReader {
  /** Lists the limits of an account or key with the use that is written. */
  list(kind: LimitedSubject["kind"], id: string, limits: Limits, now: number): Promise<LimitUse[]>;
}

/** Reads beside a server, which alone may charge reservations of dead processes. */
export function createLimitReader(database: Database, zone: string): LimitReader {
  const { sum, listReservations } = database.bind(budgetStore);
  const findPeriod = createCalendar(zone);
  return {
    async list(kind, id, limits, now) {
      const subject = makeSubject(kind, id, limits);
      const counters = new UseCounters({ store: { sum, recover: async () => 0 }, findPeriod });
      const uses = await counters.find(subject.name, now);
      for (const { at, subjects, tokens, cost } of await listReservations()) {
        if (!subjects.includes(subject.name)) continue;
        for (const { start, end, reserved } of Object.values(uses)) {
          if (at < start || at >= end) continue;
          reserved.requests += 1;
          reserved.tokens += tokens;
          reserved.cost += cost;
        }
      }
      return showLimitUses(subject, uses);
    },
  };
}

export function showLimitUses(subject: LimitedSubject, uses: SubjectUse): LimitUse[] {
  return [...listLimits(subject)].map(({ name, maximum, measure, period }) => {
    const use = uses[period];
    return {
      ...showLimit(name, maximum, use),
      used: showAmount(measure, use.used[measure]),
      reserved: showAmount(measure, use.reserved[measure]),
      estimated_requests: use.used.estimated,
    };
  });
}
