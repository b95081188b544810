// The help names every verb and every flag.
import { expect, test } from "bun:test";
import { COMMON } from "../../src/cli/arguments.ts";
import { writeHelp, writeVerbHelp } from "../../src/cli/help.ts";
import { VERBS } from "../../src/cli/verbs.ts";

test("the first page has a line for each verb, and fits a terminal", () => {
  const page = writeHelp(VERBS);
  for (const { name, help } of VERBS) {
    expect(page).toContain(`  wadi ${name}`);
    expect(page).toContain(help);
  }
  for (const line of page.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("a verb's page has a line for each flag, its own first", () => {
  for (const verb of VERBS) {
    const page = writeVerbHelp(verb);
    const flags = Object.keys({ ...verb.flags, ...COMMON });
    const shown = [...page.matchAll(/^ {2}--([\w-]+)/gm)].map(([, name]) => name!);
    expect(shown).toEqual(flags);
    for (const line of page.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  }
});

test("what is followed live is no one document, and its page says so", () => {
  const follow = VERBS.find(({ name }) => name === "runs follow")!;
  const page = writeVerbHelp(follow);
  expect(page).toContain("--json         a JSON document a line");
  expect(page).not.toContain(COMMON.json!.help);
});
