// Tests that lists decode their own cursors, and no others.
import { expect, test } from "bun:test";
import {
  decodeCursor,
  decodePosition,
  encodeCursor,
  encodePosition,
  type ListPosition,
  readPage,
} from "../../src/http/paging.ts";
import type { ApiError } from "../../src/platform/errors.ts";

const ID = "01920000-0000-7000-8000-00000000000a";

function read(list: string, text: string) {
  try {
    return decodeCursor(list, text);
  } catch (failure) {
    const { code, details: say } = failure as ApiError;
    return [code, say.param];
  }
}
const REFUSED = ["validation", "before"];

test("a cursor has at most 128 characters, also where it is read", () => {
  const position = ["x".repeat(86)];
  const text = encodeCursor("runs", position);
  expect(text).toHaveLength(128);
  expect(decodeCursor("runs", text)).toEqual(position);
  expect(() => encodeCursor("runs", ["x".repeat(87)])).toThrow("too long");
});

test("a cursor decodes to its position, and is safe in a URL", () => {
  for (const position of [[], [1_795_269_600_000, ID], ["é\n\"'", -1, 0.5], [0]]) {
    const text = encodeCursor("runs", position);
    expect(text).toMatch(/^[A-Za-z0-9_-]{1,128}$/);
    expect(decodeCursor("runs", text)).toEqual(position);
  }
});

test("agents.errors.p9 the cursor of another list is refused", () => {
  const text = encodeCursor("runs", [1, ID]);
  expect(read("threads", text)).toEqual(REFUSED);
  expect(read("runs", encodeCursor("threads", [1, ID]))).toEqual(REFUSED);
});

test("agents.errors.p9 a modified cursor is refused", () => {
  const text = encodeCursor("runs", [1_795_269_600_000, ID]);
  for (let at = 0; at < text.length; at++) {
    const other = text[at] === "A" ? "B" : "A";
    expect(read("runs", text.slice(0, at) + other + text.slice(at + 1))).toEqual(REFUSED);
    expect(read("runs", text.slice(0, at))).toEqual(REFUSED);
    expect(read("runs", text.slice(0, at) + text.slice(at + 1))).toEqual(REFUSED);
  }
  for (const more of ["A", "=", " ", "\n", "?"]) expect(read("runs", text + more)).toEqual(REFUSED);
});

test("agents.errors.p9 a text that was never a cursor is refused", () => {
  const bare = (json: string) => Buffer.concat([Buffer.alloc(6), Buffer.from(json)]);
  for (const text of ["", "1", ID, "null", "A".repeat(129), "A".repeat(1e6), "\ud800", "…"]) {
    expect(read("runs", text)).toEqual(REFUSED);
  }
  for (const json of ["[1]", "{}", "null", '"a"', "[", ""]) {
    expect(read("runs", bare(json).toString("base64url"))).toEqual(REFUSED);
  }
});

test("agents.errors.p9 a cursor with a valid checksum and invalid content is refused", () => {
  for (const place of [{}, null, true, [1]]) {
    const text = encodeCursor("runs", [1, place] as never);
    expect(read("runs", text)).toEqual(REFUSED);
  }
});

test("a position too long for a cursor is a bug", () => {
  expect(() => encodeCursor("runs", ["x".repeat(100)])).toThrow("too long");
});

test("agents.errors.p9 a position is an instant and an id, whichever process wrote the cursor", () => {
  const place = { at: 1_795_269_600_000, id: ID };
  expect(decodePosition("threads", encodePosition("threads", place))).toEqual(place);
  for (const position of [[], [ID, 1], [1], [0.5, ID], [1, "x"], [1, ID, 2], [1, `${ID}'`]]) {
    const refused = { code: "validation", details: { param: "before" } };
    expect(() => decodePosition("threads", encodeCursor("threads", position))).toThrow(
      expect.objectContaining({ ...refused, details: expect.objectContaining(refused.details) }),
    );
  }
});

test("pages hold each row once, and only the last page has no next one", async () => {
  const rows = ["d", "c", "b", "a"].map((last, at) => ({
    id: `${ID.slice(0, -1)}${last}`,
    created_at: 4_000 - at,
  }));
  const reads: (ListPosition | null)[] = [];
  const read = async ({ before, limit }: { before: ListPosition | null; limit: number }) => {
    reads.push(before);
    return rows.filter(({ id }) => before === null || id < before.id).slice(0, limit);
  };
  const page = (limit: number, before?: string) =>
    readPage({ name: "runs", limit, before, read, show: ({ id }) => ({ id: id.at(-1) }) });
  const ids = async (limit: number, before?: string) => {
    const { data, next_before } = await page(limit, before);
    return [data.map((row) => (row as { id: string }).id).join(""), next_before] as const;
  };
  const [first, next] = await ids(2);
  expect(first).toBe("dc");
  expect(await ids(2, next!)).toEqual(["ba", null]);
  expect(reads).toEqual([null, { at: 3_999, id: rows[1]!.id }]);
  expect(await ids(4)).toEqual(["dcba", null]);
  const [most, last] = await ids(3);
  expect([most, await ids(3, last!)]).toEqual(["dcb", ["a", null]]);
});
