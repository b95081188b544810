// The health pages for load balancers and supervisors: alive and ready.
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { StaticPage } from "./server.ts";

/** Time for which an answer is kept: a burst of requests must not reach the database. */
const ANSWER_KEPT_MS = 1_000;

/** Time after which a silent database counts as down, below the patience of load balancers. */
const PATIENCE_MS = 900;

/** A service beside chat; its outage does not make the server unready. */
export interface ServiceHealth {
  name: string;
  state: "on" | "down" | "off" | "damaged" | "differ";
}

export interface HealthPageOptions {
  clock: Clock;
  isReady(): Promise<boolean>;
  /** The process ends, or begins no more work. */
  isLeaving(): boolean;
  listServices(): readonly ServiceHealth[];
}

/** Strangers get single words and no detail. */
export function createHealthPages({
  clock,
  isReady,
  isLeaving,
  listServices,
}: HealthPageOptions): StaticPage[] {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<boolean> = Promise.resolve(false);
  /** The only probe under way, since each waits for a connection. */
  let asking: Promise<boolean> | null = null;
  const ask = async () => {
    asking ??= isReady()
      .catch(() => false)
      .finally(() => {
        asking = null;
      });
    let isGood = false;
    const heard = asking.then((is) => {
      isGood = is;
    });
    return (await settlesWithin(clock, PATIENCE_MS, heard)) && isGood;
  };
  return [
    { path: "/healthz", answer: () => writeLines(["ok"], 200) },
    {
      path: "/readyz",
      async answer() {
        if (clock.monotonic() - askedAt >= ANSWER_KEPT_MS) {
          askedAt = clock.monotonic();
          answer = ask();
        }
        const beside = listServices().map(({ name, state }) => `${name} ${state}`);
        return (await answer) && !isLeaving()
          ? writeLines(["ready", ...beside], 200)
          : writeLines(["not ready", ...beside], 503);
      },
    },
  ];
}

function writeLines(lines: readonly string[], status: number): Response {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${lines.join("\n")}\n`, { status, headers });
}
