// Tests what the bundler makes of the ids of texts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createShortener, type Shortener } from "../../src/console/short-texts.ts";

const ENGLISH = `export const texts = {
  "door.open": "Open",
  "door.is.on": "on",
  "door.is.half.open": "half open",
  "door.count": (doors: number) =>
    \`\${doors} doors\`,
  gone: "Gone",
} as const;
`;
const ARABIC = `export const door = {\n  "door.open": "افتح",\n};\n`;
const PAGE = `a(t("door.count", 2), t(\`door.is.\${state}\`), <Page title="door.open" />, "door.none");`;

describe("the ids of texts in the page", () => {
  let folder: string;
  let shorten: Shortener;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "texts-"));
    await Promise.all([
      Bun.write(join(folder, "english.ts"), ENGLISH),
      Bun.write(join(folder, "page.tsx"), PAGE),
    ]);
    shorten = await createShortener(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const evaluate = (source: string): unknown =>
    new Function(
      new Bun.Transpiler({ loader: "ts" })
        .transformSync(source)
        .replace("export const texts =", "return"),
    )();

  test("are places in a list, except those that are composed", () => {
    const table = evaluate(shorten(ENGLISH)) as Record<string, string>;
    expect(Object.keys(table)).toEqual(["1", "2", "door.is.on", "door.is.half.open", "gone"]);
    expect([table[1], table["door.is.on"], table.gone]).toEqual(["Open", "on", "Gone"]);
    expect((table[2] as unknown as (doors: number) => string)(3)).toBe("3 doors");
  });

  test("are numbers where they are used, and in another language", () => {
    expect(shorten(PAGE)).toBe(
      `a(t(2, 2), t(\`door.is.\${state}\`), <Page title={1} />, "door.none");`,
    );
    expect(shorten(ARABIC)).toBe('export const door = {\n  1: "افتح",\n};\n');
  });
});
