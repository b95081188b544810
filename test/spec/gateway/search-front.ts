// The app in front of a scripted search engine, and what a caller makes of its answers.
import { expect } from "bun:test";
import { type AskOptions, startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import { type SearchServer, startSearxng } from "../../support/search-servers.ts";
import { readRefusal } from "./refusal.ts";

/** `await using` stops it at the end of the block. */
export interface SearchFront extends TestApp, AsyncDisposable {
  server: SearchServer;
  /** POST /v1/search with exactly this body. */
  send(body: unknown, options?: AskOptions): Promise<Response>;
  /** POST /v1/search for this, and what else is given. */
  search(query: string, fields?: object, options?: AskOptions): Promise<Response>;
}

export interface SearchLines {
  /** Lines of `[search]` beside its kind and url. */
  search?: string;
  /** The server before the app's engine; a SearXNG by default. */
  server?: SearchServer;
  kind?: string;
  /** Address of the engine; the server's by default. */
  url?: string;
}

/** Other tests must not reach the limits. */
export const UNLIMITED = "requests_per_minute = 1_000_000\n";

export async function startSearchFront(
  { search = UNLIMITED, server = startSearxng(), kind = "searxng", url }: SearchLines = {},
  options: TestAppOptions = {},
): Promise<SearchFront> {
  const settings = `[limits]\n${UNLIMITED}
[search]
kind = "${kind}"
url = "${url ?? server.url}"
${search}
`;
  const app = await startApp({ settings, hasOpenMetrics: true, ...options });
  const stop = async () => {
    await app.stop();
    await server.stop();
  };
  const send = (body: unknown, askOptions?: AskOptions) => app.post("/v1/search", body, askOptions);
  return {
    ...app,
    server,
    send,
    search: (query, fields = {}, askOptions = {}) => send({ query, ...fields }, askOptions),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export interface SearchReply {
  object: string;
  data: { object: string; index: number; title: string; url: string; snippet: string }[];
  query: string;
}

/** The reply of a search that found something, or nothing. */
export async function readReply(response: Response): Promise<SearchReply> {
  const { status, headers } = response;
  expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
  return (await response.json()) as SearchReply;
}

/** `200 5` with the number of results, or status and code of a refusal. */
export async function readOutcome(response: Response): Promise<string> {
  if (response.status === 200) return `200 ${(await readReply(response)).data.length}`;
  const [status, code, param] = await readRefusal(response);
  expect(param).toBe(null);
  return `${status} ${code}`;
}

/** The headers on retries, if any. */
export function readWaits({ headers }: Response) {
  return [headers.get("retry-after"), headers.get("x-should-retry")];
}
