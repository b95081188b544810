// What crosses to the writer: text where nothing is lost by it, else the value itself.
import { expect, test } from "bun:test";
import { pack, unpack } from "../../src/database/writer-protocol.ts";

test("plain data crosses as one text and arrives as it was", () => {
  const value = { a: [1, -2.5, "Ü\0\ud800 \u2028", true, null, [], {}], b: { c: "" } };
  const packed = pack(value);
  expect(typeof packed).toBe("string");
  expect(unpack(packed)).toEqual(value);
});

test("what JSON would lose or change crosses as it is", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const lost = [
    ...[Number.NaN, Number.POSITIVE_INFINITY, -0, undefined, 1n, () => 1, new Date(0)],
    ...[new Map(), new Error("no"), new Uint8Array(1), Array(1), cycle, Symbol("s")],
  ];
  for (const value of lost) {
    const around = { values: [1, { value }] };
    expect(pack(around)).toBe(around);
    expect(unpack(around)).toBe(around);
  }
});

test("a long text crosses as it is", () => {
  const around = { text: "x".repeat(65_537) };
  expect(pack(around)).toBe(around);
});
