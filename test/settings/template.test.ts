// Tests that the file of `wadi init` is valid as it is, and with every setting uncommented.
import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { defaultSettings, readSettings, writeTemplate } from "../../src/settings/index.ts";
import { Model, OpenaiUpstream, StubUpstream } from "../../src/settings/model-table.ts";
import { Table } from "../../src/settings/table.ts";

const template = writeTemplate();
const read = (text: string) => readSettings(text, "wadi.toml", {}, {});
/** Settings follow the "#" directly, text follows a space. */
const uncomment = (text: string) => text.replaceAll(/^#(?=\S)/gm, "");

test("unchanged it equals the defaults", () => {
  expect(read(template)).toEqual(defaultSettings());
});

test("with every line uncommented it is valid, and changes nothing but models and prices", () => {
  const { models, ...rest } = read(uncomment(template));
  const { models: _, service, ...defaults } = defaultSettings();
  const expected = {
    ...defaults,
    service: { ...service, default_model: "my-model" },
    // Beside configured models no stub is used.
    embeddings: { ...defaults.embeddings, kind: "off", price: 100_000 },
    search: { ...defaults.search, kind: "off" },
  };
  expect(rest).toEqual(expected as typeof rest);
  expect(models.map(({ upstream }) => upstream.kind)).toEqual(["openai", "openai", "stub"]);
});

test("each setting is in its own table, and each example follows its announcement", () => {
  for (const [name, table] of Object.entries(Table.properties)) {
    if (name === "models") continue;
    const from = template.indexOf(`\n[${name}]`);
    const block = template.slice(from, template.indexOf("\n\n", from));
    const fields = Object.entries(table.properties as Record<string, object>);
    for (const [setting, field] of fields) {
      // A table within it stands behind it.
      if ("properties" in field) {
        expect(template).toContain(`\n#[${name}.${setting}]\n`);
        continue;
      }
      expect([name, block.split("\n").some((line) => line.startsWith(`#${setting} = `))]).toEqual([
        name,
        true,
      ]);
    }
  }
  expect(template.replaceAll("\n# ", " ")).not.toMatch(/For example:\n(?!#\S)/);
});

test("its first block alone serves a model that needs no grant", () => {
  const start = template.indexOf("#[[models]]");
  const end = template.indexOf("\n\n", start);
  const { models } = read(
    template.slice(0, start) + uncomment(template.slice(start, end)) + template.slice(end),
  );
  expect(models).toMatchObject([
    { id: "my-model", self_hosted: true, upstream: { model: "my-model" } },
  ]);
});

test("it has every setting of the table, with its description, on lines that fit a screen", () => {
  const lines = template.split("\n");
  const tables = [Model, OpenaiUpstream, StubUpstream, ...Object.values(Table.properties)];
  const fields = tables.flatMap((table) => Object.entries(table.properties ?? {}));
  for (const [name, field] of fields as [string, { description: string }][]) {
    if (name === "upstream") continue;
    const isIt = (line: string) => line.startsWith(`#${name} = `) || line.endsWith(`.${name}]`);
    expect([name, lines.some(isIt)]).toEqual([name, true]);
    expect(template.replaceAll("\n# ", " ")).toContain(field.description);
  }
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
});

test("words fill lines of 92 characters, and bounds stand behind them", () => {
  const write = (description: string) => {
    const one = Type.Integer({ description, default: 5, minimum: 0, maximum: 123_456 });
    const wait = Type.Unsafe({
      ...{ type: "string", format: "duration", description: "A time.", default: "5s" },
      maximum: 60_000,
    });
    const server = Type.Object({ one, wait }, { description: "Server.", default: {} });
    return writeTemplate(Type.Object({ ...Table.properties, server }));
  };
  const [a, b] = ["a".repeat(40), "b".repeat(49)];
  expect(write(`${a} ${b}`)).toContain(`\n# ${a} ${b}\n# From 0 to 123_456.\n#one = 5\n`);
  expect(write(`${a} ${b}b`)).toContain(`\n# ${a}\n# ${b}b From 0 to 123_456.\n#one = 5\n`);
  expect(write(a)).toContain('\n# A time. From 0s to 1m.\n#wait = "5s"\n');
});

test("a nested table follows its parent, with its own header; one with an example is on a line", () => {
  const word = (fallback: string) =>
    Type.String({ description: "A word.", default: fallback, maxLength: 9 });
  const inner = Type.Object({ b: word("x") }, { description: "Left out." });
  const some = { description: "May be left out.", default: null };
  const tls = Type.Object({ cert: word("") }, { description: "Both or neither.", default: {} });
  const limit = Type.Union([inner, Type.Null()], { ...some, example: { b: "y" } });
  const start = Type.Union([inner, Type.Null()], some);
  const fields = { tls, limit, start, port: word("z") };
  const table = Type.Object({
    ...Table.properties,
    server: Type.Object(fields, { description: "Where it listens.", default: {} }),
  });
  const written = writeTemplate(table);
  const from = written.indexOf("# Where it listens.");
  expect(written.slice(from, written.indexOf("# What callers see"))).toBe(`# Where it listens.
[server]
# May be left out. For example:
#limit = { b = "y" }
# A word.
#port = "z"

# Both or neither.
#[server.tls]
# A word.
#cert = ""

# May be left out.
#[server.start]
# A word.
#b = "x"

`);
});
