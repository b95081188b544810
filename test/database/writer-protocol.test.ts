// Tests messages to the writer: packed as JSON text only if that loses nothing.
import { expect, test } from "bun:test";
import { pack, readReply, unpack, writeReply } from "../../src/database/writer-protocol.ts";

test("plain data crosses as one text and arrives unchanged", () => {
  const value = { a: [1, -2.5, "Ü\0\ud800 \u2028", true, null, [], {}], b: { c: "" } };
  const packed = pack(value);
  expect(typeof packed).toBe("string");
  expect(unpack(packed)).toEqual(value);
});

test("data that JSON would change is not packed", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const lost = [
    ...[Number.NaN, Number.POSITIVE_INFINITY, -0, undefined, 1n, () => 1, new Date(0)],
    ...[new Map(), new Error("no"), new Uint8Array(1), Array(1), cycle, Symbol("s")],
  ];
  for (const value of lost) {
    const wrapper = { values: [1, { value }] };
    expect(pack(wrapper)).toBe(wrapper);
    expect(unpack(wrapper)).toBe(wrapper);
  }
});

test("a long text is not packed", () => {
  const wrapper = { text: "x".repeat(65_537) };
  expect(pack(wrapper)).toBe(wrapper);
});

test("a failure keeps its code, by which a full disk is told from a bug", () => {
  const failure = Object.assign(new Error("the disk is full"), { code: "SQLITE_FULL" });
  const reply = structuredClone(writeReply({ ok: false, failure }));
  expect(() => readReply(reply)).toThrow(expect.objectContaining({ code: "SQLITE_FULL" }));
});
