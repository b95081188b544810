// `wadi accounts delete` before a server that deletes an account in parts.
import { expect, test } from "bun:test";
import { readArguments } from "../../src/cli/arguments.ts";
import type { CommandTable } from "../../src/cli/command.ts";
import { loadAllCommands } from "../../src/cli/families.ts";
import { createOutput } from "../../src/cli/output.ts";

const account = "acme";
const rows = (what: string, count: number) => ({ what, rows: count });
const contents = [rows("keys", 1), rows("runs", 3), rows("agents", 0)];
const CONTENTS = { account, is_begun: false, contents };
const PARTS = [
  { account, is_done: false, next: "a.1.r-2", deleted: [rows("keys", 1), rows("runs", 2)] },
  { account, is_done: false, next: "a.2.", deleted: [rows("runs", 1)] },
  { account, is_done: true, next: null, deleted: [] },
];

/** What the command prints, and where each part that it asked for began. */
async function run(...flags: string[]) {
  const asked: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    fetch({ method, url }) {
      if (method !== "DELETE") return Response.json(CONTENTS);
      asked.push(new URL(url).searchParams.get("from"));
      return Response.json(PARTS[asked.length - 1]);
    },
  });
  const { WADI_OPERATOR_TOKEN: token } = process.env;
  process.env.WADI_OPERATOR_TOKEN = "t";
  try {
    const command = (await loadAllCommands()).find(({ name }) => name === "accounts delete")!;
    const printed: string[] = [];
    const said: string[] = [];
    const output = createOutput(
      true,
      (text) => printed.push(text),
      (text) => said.push(text),
    );
    const input = await readArguments(command, [account, ...flags, "--server", server.url.origin]);
    const code = await command.run(input, output, {} as CommandTable);
    return { code, asked, reply: JSON.parse(printed.join("")), said: said.join("") };
  } finally {
    if (token === undefined) delete process.env.WADI_OPERATOR_TOKEN;
    else process.env.WADI_OPERATOR_TOKEN = token;
    await server.stop(true);
  }
}

test("an account is deleted part by part until nothing is left, and the sums are told", async () => {
  const { code, asked, reply, said } = await run("--yes");
  expect(asked).toEqual([null, "a.1.r-2", "a.2."]);
  expect(code).toBe(0);
  expect(reply).toEqual({ account, deleted: [rows("keys", 1), rows("runs", 3)] });
  expect(said).toStartWith("deleting acme (keys: 1, runs: 3)\n");
});

test("without --yes its rows are counted, and nothing is asked to be deleted", async () => {
  const { code, asked, reply, said } = await run();
  expect(asked).toEqual([]);
  expect(code).toBe(1);
  expect(reply).toEqual(CONTENTS);
  expect(said).toContain("nothing was deleted");
});
