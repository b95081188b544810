// Tests the valid and invalid forms of the stub model's `!` lines.
import { expect, test } from "bun:test";
import {
  readScript,
  SCRIPTED_CODES,
  type ScriptStep,
} from "../../../../src/models/providers/stub/script.ts";
import { publicCode } from "../../../../src/platform/errors.ts";

test.each<[string, ScriptStep[]]>([
  ["!say Hello there ", [{ do: "say", text: "Hello there" }]],
  ["!say", [{ do: "say", text: "" }]],
  ["!tool add", [{ do: "call", name: "add", arguments: "{}" }]],
  ['!tool add {"a": 1}', [{ do: "call", name: "add", arguments: '{"a": 1}' }]],
  ['!tool add{"a":"{"}', [{ do: "call", name: "add", arguments: '{"a":"{"}' }]],
  [
    "!tool add\n!tool math.sub_2 {}",
    [
      { do: "call", name: "add", arguments: "{}" },
      { do: "call", name: "math.sub_2", arguments: "{}" },
    ],
  ],
  ["!tokens 12", [{ do: "fill", tokens: 12 }]],
  ["!tokens 999999999", [{ do: "fill", tokens: 8_192 }]],
  ["!delay 2s", [{ do: "delay", delayMs: 2_000 }]],
  ["!delay 10m", [{ do: "delay", delayMs: 600_000 }]],
  ["!stall", [{ do: "stall" }]],
  [`!tool ${"a".repeat(128)}`, [{ do: "call", name: "a".repeat(128), arguments: "{}" }]],
  [`!finish ${"a".repeat(64)}`, [{ do: "finish", reason: "a".repeat(64) }]],
  ["!cut", [{ do: "cut" }]],
  ["!finish length", [{ do: "finish", reason: "length" }]],
  ["!garbage", [{ do: "fail", code: "upstream_error", reason: "it sent garbage" }]],
  ["!nousage", [{ do: "nousage" }]],
  ["!say a\n!next\n!say b", [{ do: "say", text: "a" }, { do: "next" }, { do: "say", text: "b" }]],
  ["Hello\n!say a\r\nand so on\n !say no\n!cut", [{ do: "say", text: "a" }, { do: "cut" }]],
])("%j is parsed", (message, steps) => {
  expect(readScript(message)).toEqual(steps);
});

test.each([["Hello"], [""], ["What!"], [" !say x"], ["a\n\nb ! c"]])(
  "%j is no script",
  (message) => {
    expect(readScript(message)).toBeNull();
  },
);

test.each<[string, ...string[]]>([
  ["!shout hello", '"!shout hello"', "There is no such line.", "!say TEXT"],
  ["!", '"!"', "There is no such line.", "!nousage"],
  ["!constructor", '"!constructor"', "There is no such line.", "!tool NAME {json}"],
  ["!tool", '"!tool"', "A tool's name is"],
  ["!tool a/b {}", "A tool's name is"],
  ["!tool add {a: 1}", "The arguments of add are not a JSON object"],
  ["!tool add [1]", "The arguments of add are not a JSON object"],
  ["!tool add null", "The arguments of add are not a JSON object"],
  ['!tool add {\n"a": 1}', "not a JSON object on the same line"],
  ["!tokens", "N is a whole number from 1."],
  ["!tokens 0", "N is a whole number from 1."],
  ["!tokens -3", "N is a whole number from 1."],
  ["!tokens 1.5", "N is a whole number from 1."],
  ["!delay soon", "A delay is a duration", '"500ms"'],
  ["!delay 11m", "at most ten minutes"],
  ["!delay 600001ms", "at most ten minutes"],
  [`!tool ${"a".repeat(129)}`, "1 to 128 of"],
  [`!finish ${"a".repeat(65)}`, "A reason is a word"],
  ["!stall now", "!stall takes nothing behind it."],
  ["!next round", "!next takes nothing behind it."],
  ["!finish", "A reason is a word"],
  ["!finish The End", "A reason is a word"],
  ["!error", "The codes are: invalid_request, "],
  ["!error thread_busy", "internal_error", "upstream_timeout."],
])("%j is explained", (message, ...parts) => {
  const steps = readScript(`${message}\n!say never said`);
  expect(steps).toEqual([{ do: "say", text: expect.any(String) }]);
  const [step] = steps!;
  for (const part of parts) expect(step!.do === "say" && step!.text).toContain(part);
});

test("a long line is quoted by its start, without half a character", () => {
  const [step] = readScript(`!${"😀".repeat(50_000)}`)!;
  const text = step!.do === "say" ? step!.text : "";
  expect(text).toContain(`"!${"😀".repeat(31)}…"`);
  expect(text.length).toBeLessThan(600);
});

test("every code that can be scripted is a code of the gateway", () => {
  for (const code of SCRIPTED_CODES) {
    expect(publicCode(code, "gateway")).toBe(code);
    expect(readScript(`!error ${code}`)).toEqual([
      { do: "fail", code, reason: expect.any(String) },
    ]);
  }
  expect(new Set(SCRIPTED_CODES).size).toBe(20);
  // gateway.errors.client_closed_request is never delivered.
  expect(SCRIPTED_CODES as readonly string[]).not.toContain("client_closed_request");
});

test("arguments that cannot be serialized again are sent as they were written", () => {
  const json = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  expect(readScript(`!tool deep ${json}`)).toEqual([{ do: "call", name: "deep", arguments: json }]);
});
