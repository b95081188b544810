// Tests values with commas between them, for spreadsheets.
import { expect, test } from "bun:test";
import { writeCsv } from "../../src/platform/csv.ts";

test("CSV quotes what it must, and no text becomes a formula of a spreadsheet", () => {
  const rows = [
    ["key", "account", "cost", "left"],
    ['=HYPERLINK("x")', "a,b", "0.000020", 0],
    ["-1", null, undefined, 3],
  ];
  expect(writeCsv(rows)).toBe(
    'key,account,cost,left\r\n"\'=HYPERLINK(""x"")","a,b",0.000020,0\r\n\'-1,,,3\r\n',
  );
});

test("a spreadsheet takes no text of CSV for a formula, and no number for a text", () => {
  const write = (value: unknown) => writeCsv([[value]]);
  for (const begin of ["=", "+", "-", "@", "\t"]) expect(write(`${begin}1`)).toBe(`'${begin}1\r\n`);
  expect(write("\r1")).toBe(`"'\r1"\r\n`);
  expect([write(-1), write("1-1"), write(null)]).toEqual(["-1\r\n", "1-1\r\n", "\r\n"]);
  const quoted = ['a"b', "a,b", "a\rb", "a\nb"].map(write);
  expect(quoted).toEqual(['"a""b"', '"a,b"', '"a\rb"', '"a\nb"'].map((cell) => `${cell}\r\n`));
});
