// Tests the TOML parser with positions, and the formatting of values.
import { expect, test } from "bun:test";
import { placeTable, readToml, writeValue } from "../../src/settings/toml.ts";

const values: [title: string, value: unknown][] = [
  ["text", "Qwen/Qwen3-32B"],
  ["quotes, backslashes and line ends", 'a"b\\c\nd\r\te\u0000f\u007fg'],
  ["letters of other scripts", "نموذج 模型 🦙"],
  ["numbers", [0, -2.5, 100_000_000]],
  ["true and false", [true, false]],
  ["an empty list, an empty table", [[], {}]],
  ["tables in tables", { chat_template_kwargs: { enable_thinking: true } }],
  ["names that are no bare keys", { "a b": 1, "": 2, 'c"d': 3 }],
];

for (const [title, value] of values) {
  test(`${title} are parsed as they were written`, () => {
    expect(readToml(`value = ${writeValue(value)}`).value.value).toEqual(value as never);
  });
}

test("half a surrogate pair is written as a text that can be read", () => {
  expect(readToml(`value = ${writeValue("a\ud800b")}`).value.value).toBe("a\ufffdb");
});

test("tables and lists may have 32 levels", () => {
  const names = (count: number) => Array.from({ length: count }, () => "a").join(".");
  for (const write of [
    (levels: number) => `[${names(levels)}]`,
    (levels: number) => `${names(levels)} = 1`,
    (levels: number) => `a = ${"[".repeat(levels)}${"]".repeat(levels)}`,
  ]) {
    expect(() => readToml(write(32))).not.toThrow();
    expect(() => readToml(write(34))).toThrow("more than 32 levels");
  }
});

test.each<[title: string, text: string, positions: string[]]>([
  ["at the top", "a = 1\r\n b = 2", ["a 1:1", "b 2:2"]],
  ["after a byte order mark", "\uFEFFa = 1", ["a 1:2"]],
  ["in a table", "# c\n[t]\na = 1", ["t 2:2", "t.a 3:1"]],
  ["with dots", "[t]\na . b = 1\n", ["t 1:2", "t.a 2:1", "t.a.b 2:5"]],
  ["in quotes", "\"a.b\" = 1\n'c' = 2", ['"a.b" 1:1', "c 2:1"]],
  [
    "in an inline table",
    "p = {\n a = 1, b = { c = 2 } }",
    ["p 1:1", "p.a 2:2", "p.b 2:9", "p.b.c 2:15"],
  ],
  ["in a list", "l = [1,\n # ]\n [2],\n]", ["l 1:1", "l[0] 1:6", "l[1] 3:2", "l[1][0] 3:3"]],
  [
    "in a list of tables",
    "[[m]]\na = 1\n[m.u]\nb = 1\n[[m]]\nu.b = 2",
    [
      "m 1:3",
      "m[0] 1:3",
      "m[0].a 2:1",
      "m[0].u 3:4",
      "m[0].u.b 4:1",
      "m[1] 5:3",
      "m[1].u 6:1",
      "m[1].u.b 6:3",
    ],
  ],
  [
    "in front of a text with lines",
    'a = """\n[x]\nb = 2\n"" \\""" c = 3\n"""\nend = 1',
    ["a 1:1", "end 6:1"],
  ],
])("every key has its position %s", (_, text, positions) => {
  const found = [...readToml(text).positions].map(
    ([path, { line, column }]) => `${path} ${line}:${column}`,
  );
  expect(found).toEqual(positions);
});

test.each<[text: string, place: ReturnType<typeof placeTable>]>([
  ["[other]\nt = 1", { kind: "absent" }],
  ["[t]\n[u]", { kind: "empty", at: 4 }],
  ["\uFEFF[t] # none\n", { kind: "empty", at: 12 }],
  ["[t]", { kind: "empty", at: 3 }],
  ["\n[t]\na = 1", { kind: "filled", line: 2 }],
  ["[t]\n[t.u]", { kind: "filled", line: 1 }],
  ["[t.u]", { kind: "filled", line: 1 }],
  ["t = {}", { kind: "filled", line: 1 }],
  ["[[t]]", { kind: "filled", line: 1 }],
])("the place of a table in %j", (text, place) => {
  expect(placeTable(text, "t")).toEqual(place);
});
