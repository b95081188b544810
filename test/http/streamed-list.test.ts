// Lists in parts: the same JSON as in one piece, at the pace of who reads it, and never all at once.
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

test("the parts are one list, with what stands beside it", async () => {
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
  ["ends behind its last row", 9, 10, [4, 4, 1], null],
  ["ends at its limit where that is the last row", 8, 8, [4, 4], null],
  ["goes on behind its limit where there is more", 9, 8, [4, 4], "after 8"],
  ["goes on in the middle of a part", 9, 6, [4, 2], "after 6"],
  ["of nothing is one empty part", 0, 5, [0], null],
])("a page %s", async (_what, length, limit, sizes, next_before) => {
  const all = Array.from({ length }, (_, at) => at + 1);
  const asked: number[] = [];
  const parts = listPage<number>({
    ...{ limit, partSize: 4 },
    async list(last = 0, count) {
      if (asked.push(count) > sizes.length) throw new Error("the page is over");
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

test("a list of one part or none comes in one piece, else in parts", async () => {
  const around = { request: new Request(URL_HERE), requestId: "mine", log: { error() {} } };
  const rest = { next_before: "x" };
  const list = (...parts: object[][]) => {
    async function* tell(): ListParts {
      yield* parts;
      return rest;
    }
    return answerList(tell(), around);
  };
  expect(await list()).toEqual([200, { data: [], ...rest }]);
  expect(await list([{ a: 1 }])).toEqual([200, { data: [{ a: 1 }], ...rest }]);
  const response = (await list([{ a: 1 }], [{ a: 2 }], [{ a: 3 }])) as Response;
  expect(await response.json()).toEqual({ data: [{ a: 1 }, { a: 2 }, { a: 3 }], ...rest });
});

test("who does not read is told little of it, and nothing once gone", async () => {
  let told = 0;
  async function* tell(): ListParts {
    for (; told < 1_000; told++) yield [{ text: "x".repeat(100_000) }];
    return {};
  }
  const reader = answer(tell()).body!.getReader();
  await reader.read();
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(told).toBeLessThan(10);
  await reader.cancel();
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(told).toBeLessThan(10);
});

test("what fails in the middle cuts the list off, and is no good JSON", async () => {
  const errors: unknown[] = [];
  async function* tell(): ListParts {
    yield [{ a: 1 }];
    throw new Error("gone");
  }
  expect(await answer(tell(), errors).text()).toBe('{"data":[{"a":1}');
  expect(errors).toEqual(["http: a list was cut off in the middle"]);
});

test("numbered rows come in one piece where they are one, else in parts, up to the last that was there", async () => {
  const rows = Array.from({ length: 130 }, (_, i) => ({ seq: i + 1 }));
  let reads = 0;
  const list = async (after: number, limit: number) => {
    reads++;
    // As of long rows, fewer are found than may be.
    return rows.slice(after, after + Math.min(limit, 20));
  };
  const around = { request: new Request(URL_HERE), requestId: "mine", log: { error() {} } };
  const ask = async (after: number, until: number) => {
    reads = 0;
    return streamNumbered({ after, until, list, show: (row) => row }, around);
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
