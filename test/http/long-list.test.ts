// Lists in parts: the same JSON as in one piece, at the pace of who reads it, and never all at once.
import { expect, test } from "bun:test";
import { answerInParts, type Parts } from "../../src/http/long-list.ts";

const URL_HERE = "http://localhost/v1/runs";

function answer(parts: Parts, errors: unknown[] = [], signal?: AbortSignal) {
  const request = new Request(URL_HERE, { signal });
  const log = { error: (message: string) => void errors.push(message) };
  return answerInParts(parts, { request, request_id: "mine", log });
}

test("the parts are one list, with what stands beside it", async () => {
  const one = [{ a: 1 }, { b: '"é\n' }];
  for (const [parts, rest] of [
    [[one, [], [{ c: null }]], { next_before: "x" }],
    [[[], one], {}],
    [[], {}],
    [[[]], { next_before: null }],
  ] as const) {
    async function* tell(): Parts {
      for (const part of parts) yield part;
      return rest;
    }
    const response = answer(tell());
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-request-id")).toBe("mine");
    expect(await response.json()).toEqual({ data: parts.flat(), ...rest });
  }
});

test("who does not read is told little of it, and nothing once gone", async () => {
  let told = 0;
  async function* tell(): Parts {
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
  async function* tell(): Parts {
    yield [{ a: 1 }];
    throw new Error("gone");
  }
  expect(await answer(tell(), errors).text()).toBe('{"data":[{"a":1}');
  expect(errors).toEqual(["a list was cut off in the middle"]);
});
