// Tests lists in parts: the same JSON as in one piece, at the reader's pace.
import { expect, test } from "bun:test";
import {
  answerList,
  type ListParts,
  listPage,
  streamList,
  streamNumbered,
} from "../../src/http/streamed-list.ts";

const URL_HERE = "http://localhost/v1/runs";

function answer(parts: ListParts, errors: unknown[] = [], signal?: AbortSignal) {
  const request = new Request(URL_HERE, { signal });
  const log = { error: (message: string) => void errors.push(message) };
  return streamList(parts, { request, requestId: "mine", log });
}

test("the parts form one list, with its other fields", async () => {
  const one = [{ a: 1 }, { b: '"é\n' }];
  for (const [parts, rest] of [
    [[one, [], [{ c: null }]], { next_before: "x" }],
    [[[], one], {}],
    [[], {}],
    [[[]], { next_before: null }],
  ] as const) {
    async function* tell(): ListParts {
      for (const part of parts) yield part;
      return rest;
    }
    const response = answer(tell());
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-request-id")).toBe("mine");
    expect(await response.json()).toEqual({ data: parts.flat(), ...rest });
  }
});

test.each([
  ["ends after its last row", 9, 10, [4, 4, 1], null],
  ["ends at its limit if that is the last row", 8, 8, [4, 4], null],
  ["continues after its limit if there is more", 9, 8, [4, 4], "after 8"],
  ["continues within a part", 9, 6, [4, 2], "after 6"],
  ["without rows is one empty part", 0, 5, [0], null],
])("a page %s", async (_what, length, limit, sizes, next_before) => {
  const all = Array.from({ length }, (_, at) => at + 1);
  const reads: number[] = [];
  const parts = listPage<number>({
    ...{ limit, partSize: 4 },
    async list(last = 0, count) {
      if (reads.push(count) > sizes.length) throw new Error("the page is over");
      return all.filter((row) => row > last).slice(0, count);
    },
    show: (row) => ({ row }),
    cursor: (last) => `after ${last}`,
  });
  const found: (readonly object[])[] = [];
  let next = await parts.next();
  for (; !next.done; next = await parts.next()) found.push(next.value);
  expect(found.map((part) => part.length)).toEqual(sizes);
  expect(found.flat()).toEqual(all.slice(0, limit).map((row) => ({ row })));
  expect(next.value).toEqual({ next_before });
});

test("a list of up to one part is sent whole, and a longer one in parts", async () => {
  const context = { request: new Request(URL_HERE), requestId: "mine", log: { error() {} } };
  const rest = { next_before: "x" };
  const list = (...parts: object[][]) => {
    async function* tell(): ListParts {
      yield* parts;
      return rest;
    }
    return answerList(tell(), context);
  };
  expect(await list()).toEqual([200, { data: [], ...rest }]);
  expect(await list([{ a: 1 }])).toEqual([200, { data: [{ a: 1 }], ...rest }]);
  const response = (await list([{ a: 1 }], [{ a: 2 }], [{ a: 3 }])) as Response;
  expect(await response.json()).toEqual({ data: [{ a: 1 }, { a: 2 }, { a: 3 }], ...rest });
});

test("a caller who does not read is sent little, and nothing after leaving", async () => {
  let sent = 0;
  async function* tell(): ListParts {
    for (; sent < 1_000; sent++) yield [{ text: "x".repeat(100_000) }];
    return {};
  }
  const reader = answer(tell()).body!.getReader();
  await reader.read();
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toBeLessThan(10);
  await reader.cancel();
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toBeLessThan(10);
});

test("a failure within the list cuts it off, which makes it invalid JSON", async () => {
  const errors: unknown[] = [];
  async function* tell(): ListParts {
    yield [{ a: 1 }];
    throw new Error("gone");
  }
  expect(await answer(tell(), errors).text()).toBe('{"data":[{"a":1}');
  expect(errors).toEqual(["http: a list was cut off in the middle"]);
});

test("numbered rows are sent whole if they fit one read, else in parts, up to the last one present", async () => {
  const rows = Array.from({ length: 130 }, (_, i) => ({ seq: i + 1 }));
  let reads = 0;
  const list = async (after: number, limit: number) => {
    reads++;
    // As with long rows, a read returns fewer than the limit.
    return rows.slice(after, after + Math.min(limit, 20));
  };
  const context = { request: new Request(URL_HERE), requestId: "mine", log: { error() {} } };
  const ask = async (after: number, until: number) => {
    reads = 0;
    return streamNumbered({ after, until, list, show: (row) => row }, context);
  };
  for (const [after, until, count] of [
    [0, 0, 0],
    [7, 5, 0],
    [10, 30, 1],
  ] as const) {
    const data = rows.slice(after, Math.max(after, until));
    expect([await ask(after, until), reads]).toEqual([[200, { data }], count]);
  }
  const reply = (await ask(3, 124)) as Response;
  expect(await reply.json()).toEqual({ data: rows.slice(3, 124) });
  expect(reads).toBe(7);
  // They were deleted meanwhile.
  expect(await ask(130, 150)).toEqual([200, { data: [] }]);
  expect(await ((await ask(120, 150)) as Response).json()).toEqual({ data: rows.slice(120) });
});
