// One start of a unit: what starts it, and its health until that is good or the time is over.
import { abortAfter, type Clock, wait } from "../../platform/clock.ts";
import { formatDuration } from "../../platform/duration.ts";
import type { UnitPlan } from "./plan.ts";

/** Its health is looked at so often. */
const POLL_MS = 1_000;

export type Outcome = { isUp: true; start_ms: number } | Fall;

export interface Fall {
  isUp: false;
  code: "model_offline" | "upstream_timeout";
  why: string;
}

export interface BringOptions {
  clock: Clock;
  /**
   * False: we put it to sleep, and its health may be good for all that. It is believed once it was
   * started by its action, or has been down since.
   */
  isBelieved: boolean;
}

/** Health decides: a command that is the server itself goes on, and is left alone then. */
export async function bringUp(
  { look, start, timeout_ms }: Pick<UnitPlan, "look" | "start" | "timeout_ms">,
  { clock, isBelieved }: BringOptions,
): Promise<Outcome> {
  const begun_ms = clock.monotonic();
  const end = new AbortController();
  const deadline = abortAfter(clock, timeout_ms, end.signal);
  const refused = Promise.withResolvers<Outcome>();
  let isHealthBelieved = isBelieved;
  start?.(deadline.signal).then((why) => {
    if (why === null) isHealthBelieved = true;
    else if (!deadline.signal.aborted) refused.resolve(fall("model_offline", why));
  }, refused.reject);
  const poll = async (): Promise<Outcome> => {
    while (!deadline.signal.aborted) {
      const isGood = await look();
      if (deadline.signal.aborted) break;
      const start_ms = Math.round(clock.monotonic() - begun_ms);
      if (isGood && isHealthBelieved) return { isUp: true, start_ms };
      if (!isGood) isHealthBelieved = true;
      await wait(clock, POLL_MS, deadline.signal);
    }
    return fall("upstream_timeout", `it was not up within ${formatDuration(timeout_ms)}`);
  };
  try {
    const outcome = await Promise.race([refused.promise, poll()]);
    deadline.cancel();
    if (!outcome.isUp) end.abort();
    return outcome;
  } catch (bug) {
    end.abort();
    throw bug;
  }
}

function fall(code: Fall["code"], why: string): Fall {
  return { isUp: false, code, why };
}
