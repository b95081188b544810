// The two pages that balancers and supervisors ask: alive, and ready.
import type { Clock } from "../platform/clock.ts";
import type { Page } from "./entrance.ts";

/** Anybody may ask: a burst of questions must not become a burst of database writes. */
const ANSWER_KEPT_MS = 1_000;

/**
 * `isReady` says whether requests can be served, `isStopping` that no new ones are; no detail is
 * given to strangers.
 */
export function createHealthPages(
  clock: Clock,
  isReady: () => Promise<boolean>,
  isStopping: () => boolean = () => false,
): Page[] {
  let asked_at = Number.NEGATIVE_INFINITY;
  let answer: Promise<boolean> = Promise.resolve(false);
  return [
    { path: "/healthz", answer: () => writeWord("ok", 200) },
    {
      path: "/readyz",
      async answer() {
        if (clock.monotonic() - asked_at >= ANSWER_KEPT_MS) {
          asked_at = clock.monotonic();
          answer = isReady().catch(() => false);
        }
        return (await answer) && !isStopping()
          ? writeWord("ready", 200)
          : writeWord("not ready", 503);
      },
    },
  ];
}

function writeWord(word: string, status: number): Response {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${word}\n`, { status, headers });
}
