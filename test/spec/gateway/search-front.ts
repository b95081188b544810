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
  /** Of `[search]`, beside its kind and url. */
  search?: string;
  /** Stands in front of the app's engine; left out: a SearXNG. */
  server?: SearchServer;
  kind?: string;
  /** Where the app finds the engine; left out: the server. */
  url?: string;
}

/** No test of anything else is to meet the limits. */
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
  const send = (body: unknown, given?: AskOptions) => app.post("/v1/search", body, given);
  return {
    ...app,
    server,
    send,
    search: (query, fields = {}, given = {}) => send({ query, ...fields }, given),
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

/** The headers that say when to come back, where there are any. */
export function readWaits({ headers }: Response) {
  return [headers.get("retry-after"), headers.get("x-should-retry")];
}
