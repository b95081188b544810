// The answers of one listener: which paths are routed, and what the others get.
import { apiError } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { respondError } from "./envelope.ts";
import type { ListenAnswers } from "./listener.ts";
import { pathOf } from "./parameters.ts";

export interface AnswersOptions {
  /** Everything below them is routed; each ends with a slash. */
  prefixes: readonly string[];
  /** Single paths that are routed. */
  pages: readonly string[];
  /** Answers a request; one that is not `isKnown` is refused. */
  take(sent: Request, isKnown: boolean): Response | Promise<Response>;
  ids: Ids;
  log: Log;
}

export function createAnswers(options: AnswersOptions): ListenAnswers {
  const { prefixes, pages, take, ids, log } = options;
  // A proxy that forwards only one prefix must not reach other pages by dots in the path.
  const routeBelow = (prefix: string) => (sent: Request) =>
    take(sent, pathOf(sent.url).startsWith(prefix));
  const routes = Object.fromEntries([
    ...prefixes.map((prefix) => [`${prefix}*`, routeBelow(prefix)]),
    ...pages.map((path) => [path, (sent: Request) => take(sent, true)]),
  ]);
  return {
    routes,
    fetch: (sent) => take(sent, false),
    error(failure) {
      log.error("http: a request failed outside of every route", { error: failure });
      return respondError(apiError("internal_error"), "gateway", ids.uuid());
    },
  };
}
