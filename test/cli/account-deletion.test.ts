// `wadi accounts delete` before a server that deletes an account in parts.
import { expect, test } from "bun:test";
import { runServed } from "./served-command.ts";

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
  const answer = (method: string, { searchParams }: URL) => {
    if (method !== "DELETE") return CONTENTS;
    asked.push(searchParams.get("from"));
    return PARTS[asked.length - 1];
  };
  const served = { answer, isJson: true };
  const { code, text, said } = await runServed("accounts delete", [account, ...flags], served);
  return { code, asked, reply: JSON.parse(text), said };
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
