// Tests that an invalid recording is reported with its line, without quoting its text.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openReplay } from "../../../src/models/recording/replay.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-reading-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const HEAD = { wadi_recording: 1, recorded_at: "2026-11-20T12:00:00.000Z" };
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const call = { kind: "call", index: 0, id: "a", name: "add", arguments: "" };
const at = (at_ms: unknown, piece: unknown) => ({ at_ms, piece });
const FAILURE = { ok: false, code: "upstream_error", elsewhere: true, why: "it broke" };
const TAKE = {
  model: "test-1",
  key: "0".repeat(64),
  ask: { messages: [] },
  told: [at(1.5, { kind: "text", text: "Secret" }), at(2, call)],
  ended_ms: 3,
  ending: { ok: true, finish_reason: "stop", usage, attempts: 1 },
};
const write = (...lines: unknown[]) =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");

/** The error of opening a file with this content. */
function open(content: string | Uint8Array): string {
  const file = join(directory, "file");
  writeFileSync(file, content);
  try {
    const { requests, models } = openReplay(file);
    return `${requests} of ${[...models]}`;
  } catch (failure) {
    expect((failure as Error).name).toBe("RecordingProblem");
    const { message } = failure as Error;
    expect(message).not.toContain("Secret");
    return message.replace(`${file}`, "FILE");
  }
}

test("a valid file is counted by requests and models", () => {
  const bare = { ...TAKE, model: "test-2", told: [], ending: FAILURE };
  expect(open(write(HEAD, TAKE, bare, TAKE))).toBe("3 of test-1,test-2");
  // An editor may have added lines, and unknown fields are ignored.
  expect(open(`${write(HEAD, { ...TAKE, note: "mine" })}\r\n\n`)).toBe("1 of test-1");
  expect(open(write(HEAD, TAKE).trimEnd())).toBe("1 of test-1");
});

const FOREIGN = "FILE:1: this is no recording of `wadi dev --record`";
const DAMAGED = "this line is damaged: take it out, or record anew";
const BAD: [title: string, content: string | Uint8Array, says: string][] = [
  ["an empty file", "", FOREIGN.replace(":1", "")],
  ["a text", "[Secret]\nport = 0\n", FOREIGN],
  ["other JSON", write({ Secret: 1 }), FOREIGN],
  ["a recording behind an empty line", `\n${write(HEAD, TAKE)}`, FOREIGN],
  ["a recording without its first line", write(TAKE), FOREIGN],
  [
    "another version",
    write({ ...HEAD, wadi_recording: 2 }, "Secret"),
    "FILE:1: this recording is of another version of wadi: record it anew",
  ],
  ["one without requests", write(HEAD), "FILE holds no requests: record some with --record"],
  [
    "bytes that are no text",
    new Uint8Array([0xff, 0xfe]),
    "FILE is not UTF-8 text, and so no recording",
  ],
  ["a line that was cut off", write(HEAD, TAKE, TAKE).slice(0, -20), `FILE:3: ${DAMAGED}`],
];
for (const [title, content, says] of BAD) {
  test(`${title} is refused`, () => expect(open(content)).toStartWith(says));
}

const DAMAGES: [title: string, damage: object][] = [
  ["no key", { key: undefined }],
  ["a key of another form", { key: "Secret" }],
  ["a model that no settings could name", { model: "\u001b[31mSecret" }],
  ["pieces that are no list", { told: "Secret" }],
  ["a piece of no kind", { told: [at(1, { kind: "thought", text: "Secret" })] }],
  ["a piece before the ask", { told: [at(-1, TAKE.told[0]!.piece)] }],
  ["a piece at no time", { told: [at("1", TAKE.told[0]!.piece)] }],
  ["a piece after days", { told: [at(1e10, TAKE.told[0]!.piece)] }],
  ["a call without a begin", { told: [at(1, { kind: "call", index: 0, arguments: "" })] }],
  ["a call without an id", { told: [at(1, { ...call, id: undefined })] }],
  ["a call out of its order", { told: [at(1, { ...call, index: 1e9 })] }],
  ["no ending", { ending: undefined }],
  ["an ending without usage", { ending: { ok: true, finish_reason: "stop" } }],
  ["a reason that is a sentence", { ending: { ...TAKE.ending, finish_reason: "a Secret" } }],
  ["a code that no server causes", { ending: { ...FAILURE, code: "invalid_api_key" } }],
  ["a reason for the log in two lines", { ending: { ...FAILURE, why: "x\nSecret" } }],
  ["an answer without end", { ended_ms: null }],
];
for (const [title, damage] of DAMAGES) {
  test(`a line with ${title} is damaged`, () => {
    expect(open(write(HEAD, TAKE, { ...TAKE, ...damage }, TAKE))).toBe(`FILE:3: ${DAMAGED}`);
  });
}

test("names and texts may be as long as their bounds", () => {
  const x = (count: number) => "x".repeat(count);
  const why = (count: number) => ({ ending: { ...FAILURE, why: x(count) } });
  const end = (some: object) => ({ ending: { ...TAKE.ending, ...some } });
  for (const [whole, more] of [
    [{ model: x(128) }, { model: x(129) }],
    [{ key: "f".repeat(64) }, { key: "f".repeat(65) }],
    [end({ finish_reason: x(64) }), end({ finish_reason: x(65) })],
    [end({ stop_sequence: x(256) }), end({ stop_sequence: x(257) })],
    [why(500), why(501)],
    [{ ended_ms: 86_400_000 }, { ended_ms: 86_400_001 }],
  ]) {
    expect(open(write(HEAD, { ...TAKE, ...whole }))).toStartWith("1 of ");
    expect(open(write(HEAD, { ...TAKE, ...more }))).toBe(`FILE:2: ${DAMAGED}`);
  }
});

test("a file that is missing, irregular or too large is reported", () => {
  const missing = join(directory, "missing");
  expect(() => openReplay(missing)).toThrow(`${missing} does not exist: correct --replay`);
  expect(() => openReplay(directory)).toThrow(`${directory} is no file: name one with --replay`);
  const large = join(directory, "large");
  writeFileSync(large, write(HEAD, TAKE));
  truncateSync(large, 256 * 1024 * 1024 + 1);
  expect(() => openReplay(large)).toThrow(`${large} is larger than 256 MB`);
  const pipe = join(directory, "pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).success).toBeTrue();
  expect(() => openReplay(pipe)).toThrow(`${pipe} is no file`);
});
