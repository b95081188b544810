// Tests that the help fits one screen, and names every command and every option.
import { expect, test } from "bun:test";
import { COMMON } from "../../src/cli/command.ts";
import { FAMILIES, loadAllCommands, loadCommands } from "../../src/cli/families.ts";
import { writeCommandHelp, writeFamilyHelp, writeHelp } from "../../src/cli/help.ts";

const VERBS = await loadAllCommands();

test("the first page names each family on a line with its summary, and fits one screen", () => {
  const lines = writeHelp().trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(24);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  for (const { name, summary } of FAMILIES) {
    const named = new RegExp(` ${name}(?:,| ) *.*${summary}$`);
    expect(lines.filter((line) => named.test(line))).toHaveLength(1);
  }
});

test("a family's page has a line for each of its commands, and every command has a family", async () => {
  for (const family of FAMILIES) {
    const verbs = await loadCommands(family);
    expect(verbs).not.toEqual([]);
    const page = writeFamilyHelp(family, verbs);
    for (const { name, help } of verbs) {
      expect(page).toContain(`  wadi ${name}`);
      expect(page).toContain(`  ${help}\n`);
    }
    for (const line of page.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  }
});

test("a command's example parses as that command", async () => {
  for (const { name, example } of VERBS) expect(`${example} `).toStartWith(`wadi ${name} `);
});

test("a command's page has a line for each flag, its own first", () => {
  for (const verb of VERBS) {
    const page = writeCommandHelp(verb);
    const flags = Object.keys({ ...verb.flags, ...COMMON });
    const shown = [...page.matchAll(/^ {2}--([\w-]+)/gm)].map(([, name]) => name!);
    expect(shown).toEqual(flags);
    for (const line of page.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  }
});

test("the page of a live command offers no single JSON document", () => {
  const follow = VERBS.find(({ name }) => name === "runs follow")!;
  const page = writeCommandHelp(follow);
  expect(page).toContain("--json         one JSON document per line");
  expect(page).not.toContain(COMMON.json!.help);
});
