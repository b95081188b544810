// The Python packages `openai` and `openai-agents` with the Responses API. Needs a Python with them
// and with `openresponses-types`: WADI_TEST_PYTHON, or the one on the path.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { baseOf, registerDev } from "./dev.ts";

const PYTHON = process.env.WADI_TEST_PYTHON ?? "python3";
const NEEDED = "import openai, agents, openresponses_types";

const dev = registerDev();

function isThere(): boolean {
  try {
    return Bun.spawnSync([PYTHON, "-c", NEEDED], { stdout: "ignore", stderr: "ignore" }).success;
  } catch {
    return false;
  }
}
const hasPackages = isThere();
if (!hasPackages) console.log("openai and openai-agents for Python are not there: not tried.");

test.skipIf(!hasPackages)(
  "they talk, stream, parse, call tools, and find every event valid",
  async () => {
    const script = join(import.meta.dir, "responses_client.py");
    const child = Bun.spawn([PYTHON, script, baseOf(dev()), dev().key], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, problem] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect([await child.exited, out.trim(), problem]).toEqual([0, "all well", problem]);
  },
);
