// Lists of any length, read and written in parts at the pace of the reader.
import type { Log } from "../platform/log.ts";
import type { HandlerReply } from "./route.ts";
import { openEventStream } from "./sse.ts";

/** Number of items in a part; a list of one part is sent in one piece. */
export const ITEMS_AT_ONCE = 50;

const HEADERS = { "content-type": "application/json" };

/** Yields the items of `data`; returns the fields beside it. */
export type ListParts = AsyncGenerator<readonly object[], object>;

export interface StreamedListDeps {
  request: Request;
  requestId: string;
  log: Pick<Log, "error">;
}

/** Streams `{"data": […], …}`. A failure cuts the list off, since its status has been sent. */
export function streamList(parts: ListParts, deps: StreamedListDeps): Response {
  const { request, requestId, log } = deps;
  const onFailure = (error: unknown) =>
    log.error("http: a list was cut off in the middle", { request_id: requestId, error });
  const stream = openEventStream(request.signal, onFailure, HEADERS);
  const write = async () => {
    let between = '{"data":[';
    for (;;) {
      const { done, value } = await parts.next();
      if (stream.left.aborted) return;
      if (done) return void stream.pass(`${between === "," ? "" : between}]${writeRest(value)}`);
      if (value.length === 0) continue;
      await stream.pass(between + JSON.stringify(value).slice(1, -1));
      between = ",";
    }
  };
  void write()
    .catch(onFailure)
    .finally(() => stream.close());
  return stream.answer(200, { "x-request-id": requestId });
}

export async function answerList(parts: ListParts, deps: StreamedListDeps): Promise<HandlerReply> {
  const first = await parts.next();
  if (first.done) return [200, { data: [], ...first.value }];
  const next = await parts.next();
  if (next.done) return [200, { data: first.value, ...next.value }];
  const begun = [first.value, next.value];
  async function* listAll(): ListParts {
    yield* begun;
    return yield* parts;
  }
  return streamList(listAll(), deps);
}

export interface PagedRows<R> {
  limit: number;
  partSize: number;
  list(last: R | undefined, limit: number): Promise<readonly R[]>;
  show(row: R): object;
  cursor(last: R): string;
}

export async function* listPage<R>(rows: PagedRows<R>): ListParts {
  const { limit, partSize, list, show, cursor } = rows;
  let last: R | undefined;
  for (let left = limit; ; left -= partSize) {
    const wanted = Math.min(left, partSize);
    // One row more than shown reveals the next page.
    const found = await list(last, wanted + 1);
    const part = found.slice(0, wanted);
    yield part.map(show);
    if (found.length <= wanted) return { next_before: null };
    last = part.at(-1)!;
    if (left <= wanted) return { next_before: cursor(last) };
  }
}

export interface NumberedRows<R extends { seq: number }> {
  after: number;
  until: number;
  /** Reads the next rows; none if they were deleted. */
  list(after: number, limit: number): Promise<readonly R[]>;
  show(row: R): object;
}

export async function streamNumbered<R extends { seq: number }>(
  { after, until, list, show }: NumberedRows<R>,
  deps: StreamedListDeps,
): Promise<HandlerReply> {
  const read = async (from: number) =>
    from < until ? await list(from, Math.min(ITEMS_AT_ONCE, until - from)) : [];
  const first = await read(after);
  if ((first.at(-1)?.seq ?? until) >= until) return [200, { data: first.map(show) }];
  async function* listRest(): ListParts {
    for (let rows = first; rows.length > 0; rows = await read(rows.at(-1)!.seq)) {
      yield rows.map(show);
    }
    return {};
  }
  return streamList(listRest(), deps);
}

function writeRest(rest: object): string {
  const fields = JSON.stringify(rest).slice(1);
  return fields === "}" ? fields : `,${fields}`;
}
