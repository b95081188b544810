// The two pages that balancers and supervisors ask: alive, and ready.
import { type Clock, endsWithin } from "../platform/clock.ts";
import type { StaticPage } from "./server.ts";

/** Anybody may ask: a burst of questions must not become a burst of database writes. */
const ANSWER_KEPT_MS = 1_000;

/** A database that has not answered for so long is frozen, or its network is. */
const PATIENCE_MS = 5_000;

/** What stands beside chat; it decides nothing, so that its outage takes no chat away. */
export interface ServiceHealth {
  name: string;
  state: "on" | "down" | "off" | "damaged";
}

export interface HealthPageOptions {
  clock: Clock;
  /** Whether requests can be served. */
  isReady(): Promise<boolean>;
  /** True: no new ones are. */
  isStopping(): boolean;
  /** As it stands now. */
  listBeside(): readonly ServiceHealth[];
}

/** Strangers are told words, and no detail. */
export function createHealthPages({
  clock,
  isReady,
  isStopping,
  listBeside,
}: HealthPageOptions): StaticPage[] {
  let asked_at = Number.NEGATIVE_INFINITY;
  let answer: Promise<boolean> = Promise.resolve(false);
  /** null: nothing is being asked. One question at a time: each waits for a connection. */
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
    return (await endsWithin(clock, PATIENCE_MS, heard)) && isGood;
  };
  return [
    { path: "/healthz", answer: () => writeLines(["ok"], 200) },
    {
      path: "/readyz",
      async answer() {
        if (clock.monotonic() - asked_at >= ANSWER_KEPT_MS) {
          asked_at = clock.monotonic();
          answer = ask();
        }
        const beside = listBeside().map(({ name, state }) => `${name} ${state}`);
        return (await answer) && !isStopping()
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
