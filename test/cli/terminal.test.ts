// Tests tables for a terminal: their width, short ids, relative times, empty columns and colours.
import { describe, expect, test } from "bun:test";
import { createOutput, printTable } from "../../src/cli/output.ts";
import { drawTerminalTable, type Terminal, writeRelative } from "../../src/cli/terminal.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const at = (ms: number) => new Date(NOW + ms).toISOString();
const terminal = (columns: number, hasColour = false): Terminal => ({
  columns,
  hasColour,
  now: NOW,
});
const ID = "0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11";
const RUN = {
  id: ID,
  status: "running",
  reason: null,
  hosts: [],
  started_at: at(-7_200_000),
  ends_at: at(90_000),
};
const NAMES = ["id", "status", "reason", "hosts", "started_at", "ends_at"];

test("ids are short, times relative, and empty columns left out", () => {
  expect(drawTerminalTable(terminal(80), [RUN], NAMES).split("\n")).toEqual([
    "ID        STATUS   STARTED_AT  ENDS_AT",
    "1f6e0a11  running  2h ago      in 1m",
    "",
  ]);
});

test("states have colours, which other columns of the same word have not", () => {
  const rows = [{ status: "failed", name: "failed" }];
  expect(drawTerminalTable(terminal(80, true), rows, ["status", "name"])).toBe(
    "\u001b[2mSTATUS  NAME\u001b[0m\n\u001b[31mfailed\u001b[0m  failed\n",
  );
});

test("without rows there is a word in place of the columns", () => {
  expect(drawTerminalTable(terminal(80), [], NAMES)).toBe("none\n");
});

describe("a table never exceeds the width", () => {
  const rows = [
    { id: ID, name: "日本語の名前".repeat(4), url: "https://hooks.example.com/a/long/path", n: 1 },
    { id: ID, name: "short", url: "x", n: 12_345 },
  ];
  for (let columns = 8; columns <= 120; columns++) {
    test(`${columns} columns`, () => {
      const drawn = drawTerminalTable(terminal(columns), rows, ["id", "name", "url", "n"]);
      const lines = drawn.split("\n").filter((line) => !line.includes("more column"));
      for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
      expect(drawn).toContain("1f6e0a11");
    });
  }

  test("widest cells are cut first, and left-out columns are counted", () => {
    const drawn = drawTerminalTable(terminal(44), rows, ["id", "name", "url", "n"]);
    expect(drawn).toContain("…");
    expect(drawn).toContain("12345");
    const narrow = drawTerminalTable(terminal(20), rows, ["id", "name", "url", "n"]);
    expect(narrow).toEndWith("2 more columns: --json\n");
  });
});

test("a distance is written in its largest unit, and a far time as a date", () => {
  const written = [0, 999, -1_000, 59_999, -3_600_000, 86_400_000, -99 * 86_400_000].map((ms) =>
    writeRelative(NOW + ms, NOW),
  );
  expect(written).toEqual(["now", "now", "1s ago", "in 59s", "1h ago", "in 1d", "99d ago"]);
  expect(writeRelative(NOW - 100 * 86_400_000, NOW)).toBe("2026-08-12");
});

test("only a terminal gets the short form, and --json never does", () => {
  for (const [isJson, place, expected] of [
    [false, null, `ID${" ".repeat(36)}STATUS\n${ID}  running\n`],
    [true, terminal(80), `[{"id":"${ID}","status":"running"}]\n`],
    [false, terminal(80), "ID        STATUS\n1f6e0a11  running\n"],
  ] as const) {
    const written: string[] = [];
    const write = (text: string) => void written.push(text);
    const output = createOutput(isJson, write, write, place);
    printTable(output, [{ id: ID, status: "running" }], ["id", "status"]);
    expect(written).toEqual([expected]);
  }
});
