// Holds every file of src/ to the rules, src/README.md to the imports, and the language to its budget.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { findBreaches, readSources } from "../scripts/language.ts";
import { fileRules } from "./support/file-rules.ts";
import { importRules, mayImport } from "./support/import-rules.ts";
import languageBudget from "./support/language-budget.json" with { type: "json" };
import {
  buildGraph,
  drawGraph,
  type ModuleGraph,
  readGraph,
  readSection,
  writeImportTable,
  writeSection,
} from "./support/module-graph.ts";
import type { Rule } from "./support/rule.ts";

const rules = [...importRules, ...fileRules];

const check = (rule: Rule, graph: ModuleGraph): string[] =>
  [...graph.values()].flatMap((file) =>
    rule.check(file, graph).map(([line, says]) => `${file.path}:${line} ${says}`),
  );

const graph = await readGraph();

describe("the rules of src/", () => {
  for (const rule of rules) {
    test(rule.says, () => {
      expect(check(rule, graph)).toEqual([]);
    });
  }

  for (const rule of rules) {
    test(`reports a breach: ${rule.says}`, () => {
      for (const texts of rule.refuses) {
        expect([texts, check(rule, buildGraph(texts))]).not.toEqual([texts, []]);
      }
      for (const texts of rule.allows ?? []) {
        expect([texts, check(rule, buildGraph(texts))]).toEqual([texts, []]);
      }
    });
  }

  test.each(["README.md", "rules.md"])("every file that src/%s names exists", async (page) => {
    const named = (await Bun.file(join(import.meta.dir, "../src", page)).text()).matchAll(
      /`((?:[\w-]+\/)*[\w-]+\.ts)`/g,
    );
    const paths = [...graph.keys(), "test/docs/commands.test.ts"];
    const isThere = (name: string) => paths.some((path) => `/${path}`.endsWith(`/${name}`));
    expect([...named].map(([, name]) => name!).filter((name) => !isThere(name))).toEqual([]);
  });

  const generated = {
    graph: drawGraph(graph, Object.keys(mayImport)),
    table: writeImportTable(mayImport, graph),
  };
  for (const [name, content] of Object.entries(generated)) {
    test(`the ${name} in src/README.md is generated from the imports`, async () => {
      if (process.env.UPDATE_MAP) await writeSection(name, content);
      expect(await readSection(name), "write it with UPDATE_MAP=1").toBe(content);
    });
  }
});

// A budget only falls: UPDATE_BUDGET=1 writes what is counted, never more than before.
describe("the language of src/", async () => {
  const findings = findBreaches(await readSources(join(import.meta.dir, "..")));
  const budget: Record<string, number> = languageBudget;
  if (process.env.UPDATE_BUDGET) {
    for (const [name, { length }] of Object.entries(findings)) {
      budget[name] = Math.min(length, budget[name] ?? length);
    }
    const file = join(import.meta.dir, "support/language-budget.json");
    await Bun.write(file, `${JSON.stringify(budget, null, 2)}\n`);
  }
  for (const [name, places] of Object.entries(findings)) {
    test(`${name} keep to their budget`, () => {
      expect(places.length, `${name}:\n${places.join("\n")}`).toBeLessThanOrEqual(budget[name]!);
      expect(budget[name], "lower the budget: UPDATE_BUDGET=1").toBe(places.length);
    });
  }
});
