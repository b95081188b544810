// Joins each rule of the specs with the file that enforces it and the test that proves it.

import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { type Layers, lineAt, readLayers } from "./source.ts";

// Parts of the spec in which every rule needs a place and a test.
const complete: readonly string[] = ["gateway", "agents"];

interface Rule {
  id: string;
  /** Reason that no caller can test it; such a rule has no empty cell. */
  untestable: string | undefined;
  /** `file:line` of comments under src/ that cite it. */
  places: string[];
  /** `file:line` of each test whose title, or row of a table, carries it. */
  tests: string[];
}

type Rules = ReadonlyMap<string, Rule>;

const root = dirname(import.meta.dir);

const readRules = async (): Promise<Rules> => {
  const list = await Bun.file(join(import.meta.dir, "rules.tsv")).text();
  const rows = list.split("\n").filter((row) => row && !row.startsWith("#"));
  const rules = rows.map((row): Rule => {
    const [id = "", , mark] = row.split("\t");
    return { id, untestable: mark?.replace("untestable: ", ""), places: [], tests: [] };
  });
  return new Map(rules.map((rule) => [rule.id, rule]));
};

/** `gateway.errors` of `gateway.errors.headers.link`; what opens a spec has no chapter's name. */
const chapterOf = (id: string): string => {
  const [half = "", chapter = ""] = id.split(".");
  return /^p\d+$/.test(chapter) ? half : `${half}.${chapter}`;
};

// The full stop of a sentence is no part of an id: every segment has a letter or a digit.
const citation = /(?<![\w./-])(?:gateway|agents)(?:\.[a-z0-9_]+)+/g;

/** Collects the citations in one layer of the files under a folder; returns unknown ids. */
const collect = async (
  folder: string,
  layer: keyof Layers,
  rules: Rules,
  to: "places" | "tests",
) => {
  const chapters = new Set([...rules.keys()].map(chapterOf));
  const unknown: string[] = [];
  for (const path of [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: root })].sort()) {
    const text = readLayers(await Bun.file(join(root, path)).text())[layer];
    for (const { 0: id, index } of text.matchAll(citation)) {
      const place = `${path}:${lineAt(text, index)}`;
      const rule = rules.get(id);
      if (rule) rule[to].push(place);
      // `agents.approve` is a scope: only what goes on inside a chapter of ours claims to be an id.
      else if (!chapters.has(id) && chapters.has(chapterOf(id))) unknown.push(`${place} ${id}`);
    }
  }
  return unknown;
};

const isEmpty = ({ untestable, places, tests }: Rule): boolean =>
  untestable === undefined && (places.length === 0 || tests.length === 0);

const showCell = ([first = "-", ...more]: string[]): string =>
  more.length > 0 ? `${first} +${more.length}` : first;

const showTable = (rules: Rule[]): string => {
  const rows = rules.map((rule) => [
    rule.id,
    showCell(rule.places),
    rule.untestable ? `(untestable: ${rule.untestable})` : showCell(rule.tests),
  ]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  "))
    .join("\n");
};

const showEmpty = (rules: Rule[]): string => {
  const chapters = Object.entries(Object.groupBy(rules, ({ id }) => chapterOf(id)));
  const blocks = chapters.map(([chapter, all = []]) => {
    const empty = all.filter(isEmpty).map((rule) => {
      const missing = [rule.places.length === 0 && "code", rule.tests.length === 0 && "test"];
      return `  ${rule.id}: no ${missing.filter(Boolean).join(", no ")}`;
    });
    return [`${chapter}: ${empty.length} of ${all.length} empty`, ...empty].join("\n");
  });
  return blocks.join("\n");
};

const showSum = (half: string, rules: Rule[]): string => {
  const count = (test: (rule: Rule) => boolean) => rules.filter(test).length;
  return (
    `${half}: ${rules.length} rules, ${count(({ places }) => places.length > 0)} placed, ` +
    `${count(({ tests }) => tests.length > 0)} tested, ` +
    `${count(({ untestable }) => untestable !== undefined)} untestable, ${count(isEmpty)} empty`
  );
};

const { values: flags } = parseArgs({
  options: { chapter: { type: "string" }, empty: { type: "boolean", default: false } },
});
const isWithin = ({ id }: Rule, chapter: string) => `${id}.`.startsWith(`${chapter}.`);

const rules = await readRules();
const unknown = [
  ...(await collect("src", "comments", rules, "places")),
  ...(await collect("test", "strings", rules, "tests")),
];
const all = [...rules.values()];
const broken = all.filter(
  (rule) => isEmpty(rule) && complete.some((chapter) => isWithin(rule, chapter)),
);

const chosen = all.filter((rule) => !flags.chapter || isWithin(rule, flags.chapter));
if (chosen.length === 0) {
  console.error(`No rule belongs to ${flags.chapter}.`);
  process.exit(1);
}
if (!flags.empty) console.log(`${showTable(chosen)}\n`);
console.log(`${showEmpty(chosen)}\n`);
for (const place of unknown) console.log(`unknown rule: ${place}`);
for (const { id } of broken) console.log(`empty in a chapter that was complete: ${id}`);
for (const half of ["gateway", "agents"]) {
  const inHalf = chosen.filter((rule) => isWithin(rule, half));
  if (inHalf.length > 0) console.log(showSum(half, inHalf));
}
process.exit(unknown.length + broken.length > 0 ? 1 : 0);
