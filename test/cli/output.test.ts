// Tests results as text or as one JSON document, and the messages beside them.
import { expect, test } from "bun:test";
import { createOutput, drawRow, drawTable } from "../../src/cli/output.ts";

function listen(isJson: boolean) {
  const out: string[] = [];
  const errors: string[] = [];
  const output = createOutput(
    isJson,
    (text) => out.push(text),
    (text) => errors.push(text),
  );
  return { output, out, errors };
}

test("people get text, programs one line of JSON, and both get the messages separately", () => {
  for (const [isJson, expected] of [
    [false, "id: 1\n"],
    [true, '{"id":1}\n'],
  ] as const) {
    const { output, out, errors } = listen(isJson);
    output.say("done");
    output.print({ id: 1 }, "id: 1\n");
    expect(out).toEqual([expected]);
    expect(errors).toEqual(["done\n"]);
  }
});

test("one line of JSON hides nothing on a terminal, and parses to the same value", () => {
  const value = { name: "\u009b2J\u202eeno\u0000\u200b", id: 1 };
  const { output, out } = listen(true);
  output.print(value, "");
  expect(out[0]).toBe('{"name":"\\u009b2J\\u202eeno\\u0000\\u200b","id":1}\n');
  expect(JSON.parse(out[0]!)).toEqual(value);
});

test("a table has a column for each name, as wide as its widest cell", () => {
  const rows = [
    { id: "a", scopes: ["think", "search"], ends: null },
    { id: "long-one", scopes: [], ends: 7 },
  ];
  expect(drawTable(rows, ["id", "scopes", "ends"]).split("\n")).toEqual([
    "ID        SCOPES        ENDS",
    "a         think,search  -",
    "long-one  -             7",
    "",
  ]);
  expect(drawTable([], ["id"])).toBe("ID\n");
});

test("a table of very many rows is drawn", () => {
  const rows = Array.from({ length: 400_000 }, (_, i) => ({ key: i }));
  expect(drawTable(rows, ["key"])).toEndWith("\n399999\n");
});

test("a single item has a line for each field", () => {
  expect(drawRow({ id: "a", models: null, is_open: false })).toBe(
    "id: a\nmodels: -\nis_open: false\n",
  );
});
