// Requests that an operator sends as a key, without its secret: through the key's own route.

import type { Path, Route, SentAs } from "./route.ts";
import type { HttpServer } from "./server.ts";

/** Sends `body` to the route in the place of a caller; `from` is the operator's request. */
export type SendAs = (from: Request, body: unknown, sentAs: SentAs) => Promise<Response>;

/** The route checks the key like that of any caller: scopes, models, limits, budgets. */
export function createSendAs(
  server: Pick<HttpServer, "derive">,
  routes: readonly Route[],
  path: Path,
): SendAs {
  const route = routes.find((one) => one.method === "POST" && one.path === path)!;
  return (from, body, sentAs) => {
    const request = new Request(`http://localhost${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: from.signal,
    });
    server.derive(request, from);
    return route.answer(request, sentAs);
  };
}
