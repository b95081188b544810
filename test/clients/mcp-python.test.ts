// The Python package `mcp` 2, whose own types judge each reply. Needs a Python with it:
// WADI_TEST_PYTHON, or the one on the path.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { hasPython, runPython } from "../support/python.ts";
import { registerDev } from "./dev.ts";

const isThere = hasPython(["-c", "from mcp import Client"], "mcp 2 for Python");
const dev = registerDev({ isOwn: true });

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
  expect(JSON.parse(await runPython(program, [url, key, mode]))).toEqual({
    ...{ revision, tools: "guide", said: "Slowly.", progress: [[1, true]] },
    ...{ status: "succeeded", wrong: true, failure: -32_602 },
  });
});
