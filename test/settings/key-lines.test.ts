// The lines of keys in texts that try to look like other texts.
import { describe, expect, test } from "bun:test";
import { parse } from "smol-toml";
import { findKeyLines } from "../../src/settings/key-lines.ts";

/** `path:line` for every key, as the scanner saw them. */
function linesOf(text: string): string[] {
  return findKeyLines(text).map(({ path, line }) => `${path}:${line}`);
}

describe("a key is found on its line", () => {
  test.each<[string, string, string[]]>([
    ["at the top", "a = 1\nb = 2", ["a:1", "b:2"]],
    ["in a table", "# c\n\n[t]\na = 1", ["t:3", "t.a:4"]],
    ["with dots", "[t]\n a . b = 1\n", ["t:1", "t.a:2", "t.a.b:2"]],
    ["in a nested table", "[t.u]\na = 1", ["t:1", "t.u:1", "t.u.a:2"]],
    ["after Windows line ends", "a = 1\r\n\r\nb = 2\r\n", ["a:1", "b:3"]],
    ["after a byte order mark", "\uFEFFa = 1", ["a:1"]],
    ["in quotes", "\"a.b\" = 1\n'c d' = 2", ['"a.b":1', '"c d":2']],
    ["quoted although bare", '"a" = 1', ["a:1"]],
    ["without a last line end", "[t]\na=1", ["t:1", "t.a:2"]],
    ["in an inline table", "p = { a = 1, b = { c = 2 } }", ["p:1", "p.a:1", "p.b:1", "p.b.c:1"]],
    ["in an inline table of several lines", "p = {\n a = 1,\n b = 2\n}", ["p:1", "p.a:2", "p.b:3"]],
    [
      "in a list",
      "l = [\n 1,\n # ]\n [2, 3],\n]\nm = 1",
      ["l:1", "l[0]:2", "l[1]:4", "l[1][0]:4", "l[1][1]:4", "m:6"],
    ],
    [
      "in tables of a list",
      "l = [\n{ a = 1 },\n{ a = 2 } ]",
      ["l:1", "l[0]:2", "l[0].a:2", "l[1]:3", "l[1].a:3"],
    ],
    [
      "in a list of tables",
      "[[m]]\na = 1\n[m.u]\nb = 1\n[[m]]\n[m.u]\nb = 2",
      [
        "m:1",
        "m[0]:1",
        "m[0].a:2",
        "m:3",
        "m[0].u:3",
        "m[0].u.b:4",
        "m:5",
        "m[1]:5",
        "m:6",
        "m[1].u:6",
        "m[1].u.b:7",
      ],
    ],
  ])("%s", (_, text, lines) => {
    expect(() => parse(text)).not.toThrow();
    expect(linesOf(text)).toEqual(lines);
  });
});

describe("what stands in a value is no key", () => {
  test.each([
    ["a comment", "1 # b = 2"],
    ["a text", '"[x] b = 2 # c = 3"'],
    ["a text with quotes", '"\\" b = 2 \\\\"'],
    ["a literal text", "'\\' # b = \""],
    ["an empty text", '""'],
    ["a text of several lines", '"""\n[x]\nb = 2\n"" \\""" c = 3\n"""'],
    ["a text of several lines that ends with quotes", '"""\nb = 2"""""'],
    ["a literal text of several lines", "'''\n[x]\nb = \\'''"],
    ["a time", "1979-05-27 07:32:00"],
  ])("%s", (_, value) => {
    const text = `a = ${value}\nend = 1`;
    const last = text.split("\n").length;
    expect(() => parse(text)).not.toThrow();
    expect(linesOf(text)).toEqual(["a:1", `end:${last}`]);
  });
});

test("random documents: every key has the line it was written on", () => {
  const values = [
    "1",
    '"]#{"',
    "'''\nk0 = 1\n[t]\n'''",
    '"""\n\\"""k = [\n"""',
    '[ # ]\n "}", \n [1] ]',
    "{ }",
    "true # = [",
  ];
  let seed = 1;
  const below = (limit: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % limit;
  };
  for (let round = 0; round < 500; round++) {
    let text = "";
    const expected: string[] = [];
    const add = (path: string, source: string) => {
      expected.push(`${path}:${text.split("\n").length}`);
      text += `${source}\n${"\n".repeat(below(2))}`;
    };
    for (let section = 0, lists = 0; section < 5; section++) {
      const isList = below(2) === 0;
      const table = isList ? `m[${lists++}]` : `t${section}`;
      add(table, isList ? "[[m]]" : `[ t${section} ] # [no]`);
      for (let pair = 0; pair < 4; pair++) {
        add(
          `${table}.k${pair}`,
          `${" ".repeat(below(3))}k${pair} = ${values[below(values.length)]}`,
        );
      }
    }
    expect(() => parse(text)).not.toThrow();
    const found = new Set(linesOf(text));
    expect(expected.filter((one) => !found.has(one))).toEqual([]);
    expect(linesOf(text).filter((one) => /k\d:/.test(one))).toHaveLength(20);
  }
});

describe("a text that is no TOML", () => {
  test.each([
    ["", []],
    ["[", []],
    ["[[", []],
    ["= 1", []],
    ["a", ["a:1"]],
    ["a = [1 2\nb = 1", ["a:1", "a[0]:1"]],
    ['a = "x\nb = 1', ["a:1", "b:2"]],
    ["a = { b = 1", ["a:1", "a.b:1"]],
    ["[t\na = 1", ["t:1", "t.a:2"]],
  ])("%j is scanned to its end", (text, lines) => {
    expect(linesOf(text)).toEqual(lines);
  });

  test("endless nesting ends the scan", () => {
    expect(linesOf(`a = ${"[".repeat(100_000)}`)).toHaveLength(18);
    expect(linesOf(`a = ${"{a=".repeat(100_000)}`)).toHaveLength(18);
    expect(linesOf(`${"a.".repeat(100_000)}b = 1\nc = 1`)).toHaveLength(17);
  });

  test("every beginning of a document can be scanned", () => {
    const text = '[[m]]\nid = "a"\nl = [ \'b\', # c\n { d = """\n""" } ]\n[m."x\\"y"]\n';
    for (let length = 0; length <= text.length; length++) {
      expect(findKeyLines(text.slice(0, length)).length).toBeLessThanOrEqual(9);
    }
  });
});
