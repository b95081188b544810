// Holds the line to its order, its end, and one at a time.
import { expect, test } from "bun:test";
import { createLine } from "../../../src/models/bundled-tokenizer/line.ts";

const { signal } = new AbortController();

/** Work that ends when it is told to, and notes that it began. */
function createWork(begun: string[]) {
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const work = (name: string) => () => {
    begun.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  return { work, end: (name: string) => ends.get(name)!.resolve(name) };
}

test("one is served at a time, in order of arrival, and who left is skipped", async () => {
  const serve = createLine(9);
  const begun: string[] = [];
  const { work, end } = createWork(begun);
  const caller = new AbortController();
  const a = serve(work("a"), signal);
  const b = serve(work("b"), caller.signal);
  const c = serve(async () => "c", signal);
  const d = serve(async () => "d", signal);
  expect(begun).toEqual(["a"]);
  caller.abort();
  expect(await b).toBeNull();
  expect(begun).toEqual(["a"]);
  end("a");
  expect([await a, await c, await d]).toEqual(["a", "c", "d"]);
  expect(begun).toEqual(["a"]);
  expect(await serve(async () => "e", signal)).toBe("e");
});

test("work that fails makes room for the next", async () => {
  const serve = createLine(9);
  const broken = serve(() => Promise.reject(new Error("broken")), signal);
  const next = serve(async () => "next", signal);
  await expect(broken).rejects.toThrow("broken");
  expect(await next).toBe("next");
});

test("only so many wait; who left makes room", async () => {
  const serve = createLine(1);
  const { work, end } = createWork([]);
  const caller = new AbortController();
  const first = serve(work("a"), signal);
  const second = serve(async () => "b", caller.signal);
  expect(await serve(async () => "c", signal)).toBeNull();
  caller.abort();
  expect(await second).toBeNull();
  const third = serve(async () => "d", signal);
  end("a");
  expect(await first).toBe("a");
  expect(await third).toBe("d");
});

test("who left before coming is not served", async () => {
  expect(await createLine(1)(async () => "a", AbortSignal.abort())).toBeNull();
});
