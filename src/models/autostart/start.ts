// One start of a unit: what starts it, and its health until that is good or the time is over.
import { abortAfter, type Clock, wait } from "../../platform/clock.ts";
import { formatDuration } from "../../platform/duration.ts";
import type { StartPlan } from "./plan.ts";

/** Its health is looked at so often. */
const POLL_MS = 1_000;

export type StartResult = { isUp: true; start_ms: number } | StartFailure;

export interface StartFailure {
  isUp: false;
  code: "model_offline" | "upstream_timeout";
  why: string;
}

export interface StartOptions {
  clock: Clock;
  /**
   * False: we put it to sleep, and its health may be good for all that. It is believed once it was
   * started by its action, or has been down since.
   */
  isBelieved: boolean;
}

/** Health decides: a command that is the server itself goes on, and is left alone then. */
export async function startServer(
  { look, start, timeout_ms }: Pick<StartPlan, "look" | "start" | "timeout_ms">,
  { clock, isBelieved }: StartOptions,
): Promise<StartResult> {
  const begun_ms = clock.monotonic();
  const end = new AbortController();
  const deadline = abortAfter(clock, timeout_ms, end.signal);
  const refused = Promise.withResolvers<StartResult>();
  let isHealthBelieved = isBelieved;
  start?.(deadline.signal).then((why) => {
    if (why === null) isHealthBelieved = true;
    else if (!deadline.signal.aborted) refused.resolve(fall("model_offline", why));
  }, refused.reject);
  const poll = async (): Promise<StartResult> => {
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

function fall(code: StartFailure["code"], why: string): StartFailure {
  return { isUp: false, code, why };
}
