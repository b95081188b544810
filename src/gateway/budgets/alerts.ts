// Events about limits that are nearly or wholly used, once for each limit and period.
import { type LimitName, showAmount, showLimit, splitLimitName } from "../../access/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { PeriodUse, SubjectUse } from "./amounts.ts";
import type { Excess, LimitedSubject } from "./excess.ts";
import { listLimits } from "./excess.ts";
import type { LimitAlert } from "./store.ts";

/** Shares of a limit that are announced. */
const NEARLY = 80;
const WHOLLY = 100;

export interface AlertContext {
  /** Account, or key without one, whose endpoints get the event. */
  account_id: string;
  ids: Pick<Ids, "uuid">;
  now: number;
}

/** Lists the limits that have reached a share, unless this process has announced them. */
export function findReached(
  subject: LimitedSubject,
  uses: SubjectUse,
  context: AlertContext,
): LimitAlert[] {
  return [...listLimits(subject)].flatMap(({ name, maximum, measure, period }) => {
    const use = uses[period];
    return [NEARLY, WHOLLY].flatMap((percent) =>
      use.used[measure] >= (maximum * percent) / 100
        ? announce(subject, { name, maximum, use, percent }, context)
        : [],
    );
  });
}

/** A limit that has refused a request when nearly used counts as wholly used. */
export function findRefused(excesses: readonly Excess[], context: AlertContext): LimitAlert[] {
  return excesses.flatMap(({ subject, name, maximum, use, lasts }) => {
    const [measure] = splitLimitName(name);
    const isNearlyUsed = use.used[measure] >= (maximum * NEARLY) / 100;
    const isReached = lasts !== "reserved" && isNearlyUsed;
    return isReached ? announce(subject, { name, maximum, use, percent: WHOLLY }, context) : [];
  });
}

interface ReachedShare {
  name: LimitName;
  maximum: number;
  use: PeriodUse;
  percent: number;
}

function announce(
  subject: LimitedSubject,
  { name, maximum, use, percent }: ReachedShare,
  { account_id, ids, now }: AlertContext,
): LimitAlert[] {
  const mark = `${name} ${maximum} ${percent}`;
  if (use.announced.has(mark)) return [];
  use.announced.add(mark);
  const [measure] = splitLimitName(name);
  const limit = { kind: subject.kind, id: subject.id, ...showLimit(name, maximum, use) };
  const data = { limit, percent, used: showAmount(measure, use.used[measure]) };
  const event = { id: ids.uuid(), account_id, type: "limit.reached" as const, at: now, data };
  return [{ subject: subject.name, name, start: use.start, maximum, percent, event }];
}
