// Tests the scripts of shells: valid, complete, and completing what a person types.
import { describe, expect, test } from "bun:test";
import { commands } from "../../src/cli/completion.ts";
import { FAMILIES, loadAllCommands } from "../../src/cli/families.ts";
import { createOutput } from "../../src/cli/output.ts";
import type { Terminal } from "../../src/cli/terminal.ts";

const ALL = await loadAllCommands();
const SHELLS = ["bash", "zsh", "fish"] as const;

async function write(shell: string, terminal: Terminal | null = null) {
  const out: string[] = [];
  const said: string[] = [];
  const output = createOutput(
    false,
    (text) => void out.push(text),
    (text) => void said.push(text),
    terminal,
  );
  const table = { families: FAMILIES, loadAllCommands, writeCommands: async () => "" };
  expect(await commands[0]!.run({ args: [shell], flags: {} }, output, table)).toBe(0);
  return { script: out.join(""), said };
}

const run = async (command: string[], stdin: string) => {
  const child = Bun.spawn(command, { stdio: [new Blob([stdin]), "pipe", "pipe"] });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, errors };
};

/** What bash would offer for the words of a line, of which the last is begun. */
async function complete(...words: string[]) {
  const { script } = await write("bash");
  const line = words.map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(wadi ${line}); COMP_CWORD=${words.length}; _wadi; echo "\${COMPREPLY[@]}"`;
  const { out, errors } = await run(["bash"], `${script}${ask}`);
  expect(errors).toBe("");
  return out.trim().split(" ").filter(Boolean);
}

describe.each(SHELLS)("the script of %s", (shell) => {
  test("names every family and command", async () => {
    const { script } = await write(shell);
    for (const { name } of FAMILIES) expect(script).toContain(name);
    for (const { name } of ALL) expect(script).toContain(name.split(" ")[1] ?? name);
  });

  test.skipIf(Bun.which(shell) === null)("is valid", async () => {
    const { script } = await write(shell);
    expect(await run([shell, "-n"], script)).toEqual({ code: 0, out: "", errors: "" });
  });

  test("comes with a hint on a terminal, and without one where a shell reads it", async () => {
    expect((await write(shell)).said).toEqual([]);
    const { said } = await write(shell, { columns: 80, hasColour: false, now: 0 });
    expect(said.join("")).toContain("wadi completion");
  });
});

describe.skipIf(Bun.which("bash") === null)("bash completes", () => {
  test("the first word from the families", async () => {
    expect(await complete("ac")).toEqual(["accounts"]);
    expect(await complete("")).toHaveLength(FAMILIES.length + 1);
  });

  test("the second word from the verbs of a noun", async () => {
    expect(await complete("keys", "re")).toEqual(["revoke"]);
    expect(await complete("runs", "")).toEqual(
      ALL.filter(({ name }) => name.startsWith("runs ")).map(({ name }) => name.split(" ")[1]!),
    );
  });

  test("options of the command, also of one word", async () => {
    expect(await complete("keys", "create", "--max")).toEqual(["--max-output-tokens"]);
    expect(await complete("dev", "--po")).toEqual(["--port"]);
    expect(await complete("serve", "--config", "x", "--acc")).toEqual(["--accept-loss"]);
  });

  test("nothing of its own for an argument, so that files are offered", async () => {
    expect(await complete("init", "wadi")).toEqual([]);
  });
});

test("another shell is refused", async () => {
  await expect(write("tcsh")).rejects.toThrow("bash, zsh, fish");
});
