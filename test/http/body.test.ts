// Tests the reading of bodies: bytes, time, text and depth, before any field is checked.
import { describe, expect, test } from "bun:test";
import { readJson } from "../../src/http/body.ts";
import type { ApiError } from "../../src/platform/errors.ts";
import { createManualClock } from "../support/clock.ts";

const BYTES_MAX = 1_000;
const clock = createManualClock();

/** With a length as from a server, without one as a stream of chunks. */
function makeRequest(chunks: (string | Uint8Array)[], hasLength: boolean, type?: string): Request {
  const headers = new Headers(type === undefined ? {} : { "content-type": type });
  if (hasLength) {
    const whole = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)));
    headers.set("content-length", String(whole.length));
    return new Request("http://localhost/", { method: "POST", headers, body: whole });
  }
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
      controller.close();
    },
  });
  const request = new Request("http://localhost/", { method: "POST", headers, body });
  request.headers.delete("content-type");
  if (type !== undefined) request.headers.set("content-type", type);
  return request;
}

async function read(body: string | Uint8Array, type?: string): Promise<unknown> {
  const both = [true, false].map((hasLength) =>
    readJson(makeRequest([body], hasLength, type), BYTES_MAX, clock).catch(
      ({ code, message }: ApiError) => `${code}: ${message}`,
    ),
  );
  const [announced, chunked] = await Promise.all(both);
  expect(chunked).toEqual(announced);
  return announced;
}

test("JSON is read, with and without a length", async () => {
  expect(await read('{"a":[1,"ü",null]}')).toEqual({ a: [1, "ü", null] });
  expect(await read(" [] \n")).toEqual([]);
  expect(await read("null")).toBeNull();
});

test("a missing body is an empty object, whatever its content type", async () => {
  expect(await read("")).toEqual({});
  expect(await read("", "text/plain")).toEqual({});
});

test("a body split anywhere into chunks is the same body", async () => {
  const bytes = Buffer.from('{"text":"ü€😀"}');
  for (let cut = 0; cut <= bytes.length; cut++) {
    const request = makeRequest([bytes.subarray(0, cut), bytes.subarray(cut)], false);
    expect(await readJson(request, BYTES_MAX, clock)).toEqual({ text: "ü€😀" });
  }
});

test("a body that is too large counts as far as it was read", async () => {
  for (const hasLength of [true, false]) {
    const counted = { request_bytes: 0 };
    const request = makeRequest(["x".repeat(BYTES_MAX), "y"], hasLength);
    await expect(readJson(request, BYTES_MAX, clock, counted)).rejects.toMatchObject({
      code: "request_too_large",
    });
    expect(counted.request_bytes).toBe(BYTES_MAX + 1);
  }
});

describe("gateway.limits.body_size", () => {
  const fill = (length: number) => `"${"x".repeat(length - 2)}"`;

  test("a body of exactly the limit is read, and one more byte is request_too_large", async () => {
    expect(await read(fill(BYTES_MAX))).toHaveLength(BYTES_MAX - 2);
    const refusal = "request_too_large: The body is larger than 0.9765625 KB.";
    expect(await read(fill(BYTES_MAX + 1))).toBe(refusal);
  });

  test("bytes count, not characters", async () => {
    expect(await read(`"${"ü".repeat(499)}"`)).toHaveLength(499);
    expect(await read(`"${"ü".repeat(500)}"`)).toStartWith("request_too_large");
  });

  test("a body announced as too large is refused before it arrives", async () => {
    const body = new ReadableStream({ pull: () => new Promise(() => {}) });
    const headers = { "content-length": String(BYTES_MAX + 1) };
    const request = new Request("http://localhost/", { method: "POST", headers, body });
    const reading = readJson(request, BYTES_MAX, clock);
    await expect(reading).rejects.toMatchObject({ code: "request_too_large" });
  });

  test("an unannounced body is refused at the first excess byte, and no more is read", async () => {
    let pieces = 0;
    const body = new ReadableStream({
      pull(controller) {
        pieces++;
        controller.enqueue(new Uint8Array(100));
      },
    });
    const request = new Request("http://localhost/", { method: "POST", body });
    const reading = readJson(request, BYTES_MAX, clock);
    await expect(reading).rejects.toMatchObject({ code: "request_too_large" });
    expect(request.body?.locked).toBeFalse();
    expect(pieces).toBeLessThanOrEqual(BYTES_MAX / 100 + 2);
  });
});

describe("a body that arrives slowly", () => {
  for (const hasLength of [true, false]) {
    const how = hasLength ? "with" : "without";
    test(`is refused after 30 s, ${how} a length`, async () => {
      const clock = createManualClock();
      const started = Promise.withResolvers<void>();
      const body = new ReadableStream({
        pull(controller) {
          controller.enqueue(Buffer.from(" "));
          started.resolve();
          return new Promise(() => {});
        },
      });
      const headers: Record<string, string> = hasLength ? { "content-length": "5" } : {};
      const request = new Request("http://localhost/", { method: "POST", headers, body });
      let refusal: ApiError | undefined;
      const reading = readJson(request, BYTES_MAX, clock).catch((failure) => (refusal = failure));
      await started.promise;
      await clock.advance(29_999);
      expect(refusal).toBeUndefined();
      await clock.advance(1);
      await reading;
      expect(refusal).toMatchObject({
        code: "validation",
        message: "The body did not arrive in time.",
      });
    });
  }

  test("a complete body leaves no timer", async () => {
    const clock = createManualClock();
    await readJson(makeRequest(["{}"], true), BYTES_MAX, clock);
    await readJson(makeRequest(["{}"], false), BYTES_MAX, clock);
    const late = readJson(makeRequest(["{"], true), BYTES_MAX, clock);
    await expect(late).rejects.toMatchObject({ code: "validation" });
    expect(clock.pending()).toBe(0);
  });
});

test("gateway.errors.client_closed_request a body that breaks off is a caller who left", async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from("{"));
      controller.error(new Error("the connection was closed"));
    },
  });
  const request = new Request("http://localhost/", { method: "POST", body });
  const reading = readJson(request, BYTES_MAX, clock);
  await expect(reading).rejects.toMatchObject({ code: "client_closed_request" });
});

test("the content type may be missing, and must otherwise be JSON", async () => {
  const types = ["application/json", "Application/JSON; charset=utf-8", "application/json ;x=y"];
  for (const type of [...types, "application/vnd.api+json", "application/problem+json;a"]) {
    expect([type, await read("{}", type)]).toEqual([type, {}]);
  }
  const others = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
  for (const type of [...others, "text/json", "application/jsonx", "application/+json", "json"]) {
    const refusal = "validation: The content type must be application/json.";
    expect([type, await read("{}", type)]).toEqual([type, refusal]);
  }
});

describe("text", () => {
  test("that is not UTF-8 is refused", async () => {
    const texts = [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]];
    for (const bytes of texts) {
      const body = Buffer.concat([Buffer.from('"'), Buffer.from(bytes), Buffer.from('"')]);
      expect([bytes, await read(body)]).toEqual([
        bytes,
        "validation: The body is not valid UTF-8.",
      ]);
    }
    const utf16 = Buffer.from("{}", "utf16le");
    expect(await read(Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]))).toContain("UTF-8");
  });

  test("with a byte-order mark is read", async () => {
    expect(await read('\ufeff{"a":1}')).toEqual({ a: 1 });
  });

  test("with an escaped half of a surrogate pair stays unchanged", async () => {
    expect(await read('"\\ud800"')).toBe("\ud800");
  });
});

test("gateway.errors.invalid_request text that is not JSON is reported as such", async () => {
  const texts = [
    "{",
    "}",
    "{'a':1}",
    "{a:1}",
    "[1,]",
    "01",
    "NaN",
    "undefined",
    '"a',
    "{}{}",
    "\u0000",
  ];
  for (const text of texts) {
    expect([text, await read(text)]).toEqual([text, "validation: The body is not valid JSON."]);
  }
});

test("the last of equal names counts, and __proto__ is a name like any other", async () => {
  expect(await read('{"a":1,"a":2}')).toEqual({ a: 2 });
  const value = (await read('{"__proto__":{"polluted":1},"constructor":2}')) as object;
  expect(Object.keys(value)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
});

test("a number out of range is infinite, and its field's check refuses it", async () => {
  expect(await read("[1e400,-1e400,1e-400]")).toEqual([
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    0,
  ]);
});

describe("depth", () => {
  const refusal = "validation: The body is nested deeper than 64 levels.";
  const refusalOf = (field: string) => `validation: \`${field}\` is nested deeper than 63 levels.`;
  const nest = (depth: number, open: string, inner: string, close: string) =>
    open.repeat(depth) + inner + close.repeat(depth);

  test("64 levels are read, 65 are refused, of lists and of objects", async () => {
    expect(await read(nest(64, "[", "", "]"))).toBeArray();
    expect(await read(nest(65, "[", "", "]"))).toBe(refusal);
    expect(await read(nest(64, '{"a":', "1", "}"))).toBeObject();
    expect(await read(nest(65, '{"a":', "1", "}"))).toBe(refusalOf("a"));
  });

  test("the field that is too deep is named, however it is written", async () => {
    const deep = nest(64, "[", "", "]");
    const cases = [
      [`{"a":"x","b":{"c":[]},"tools":${deep}}`, "tools"],
      [` {"a":[${deep}],"b":1}`, "a"],
      [`{"a\\"[b":${deep}}`, 'a\\"[b'],
      [`{"${"n".repeat(100)}":${deep}}`, `${"n".repeat(64)}…`],
    ] as const;
    for (const [body, param] of cases) {
      const reading = readJson(makeRequest([body], true), BYTES_MAX, clock);
      const refusal = (await reading.catch((failure) => failure)) as ApiError;
      expect([refusal.message, refusal.details.param]).toEqual([
        refusalOf(param).slice("validation: ".length),
        param,
      ]);
    }
    expect(await read(`["a",${deep}]`)).toBe(refusal);
  });

  test("brackets inside strings are text", async () => {
    const brackets = "[{".repeat(100);
    for (const text of [brackets, `\\"${brackets}`, `${brackets}\\\\`, `\\\\\\"${brackets}`]) {
      expect(await read(`["${text}"]`)).toEqual([JSON.parse(`"${text}"`)]);
    }
    expect(await read(`["\\\\",${nest(64, "[", "", "]")}]`)).toBe(refusal);
  });

  test("many brackets side by side are not deep", async () => {
    expect(await read(`[${"[],".repeat(200)}[]]`)).toHaveLength(201);
  });

  test("leading closing brackets do not offset the depth", async () => {
    expect(await read(`${"]".repeat(300)}${"[".repeat(300)}`)).toContain("not valid JSON");
  });

  test("an unterminated string is not JSON", async () => {
    expect(await read(`"${"\\".repeat(500)}${"[".repeat(100)}`)).toContain("not valid JSON");
  });
});
