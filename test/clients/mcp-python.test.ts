// The Python package `mcp` 2, whose own types judge each reply. Needs a Python with it:
// WADI_TEST_PYTHON, or the one on the path.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { registerDev } from "./dev.ts";

const PYTHON = process.env.WADI_TEST_PYTHON ?? "python3";

function has(what: string): boolean {
  try {
    const command = [PYTHON, "-c", what];
    return Bun.spawnSync(command, { stdout: "ignore", stderr: "ignore" }).success;
  } catch {
    return false;
  }
}
const isThere = has("from mcp import Client");
if (!isThere) console.log("mcp 2 is not there: the client of Python is not tried.");

const dev = registerDev();

test.skipIf(!isThere).each([
  ["legacy", "2025-11-25"],
  ["2026-07-28", "2026-07-28"],
  ["auto", "2026-07-28"],
])("it lists and calls agents in the mode %s", async (mode, revision) => {
  const { url, key } = dev();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Guide", slug: "guide", system_prompt: "Hi.", expose: true });
  await fetch(`${url}/v1/agents`, { method: "POST", headers, body });
  const program = join(import.meta.dir, "mcp_client.py");
  const child = Bun.spawn([PYTHON, program, url, key, mode], { stdout: "pipe", stderr: "pipe" });
  const [out, problem] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, problem]).toEqual([0, ""]);
  expect(JSON.parse(out)).toEqual({
    ...{ revision, tools: "guide", said: "You said: Hello there", progress: [[1, true]] },
    ...{ status: "succeeded", wrong: true, failure: -32_602 },
  });
});
