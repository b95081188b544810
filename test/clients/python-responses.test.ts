// The Python packages `openai` and `openai-agents` with the Responses API. Needs a Python with them
// and with `openresponses-types`: WADI_TEST_AGENTS_PYTHON, or the one on the path.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { AGENTS_PYTHON, hasPython, runPython } from "../support/python.ts";
import { baseOf, registerDev } from "./dev.ts";

const NEEDED = "import openai, agents, openresponses_types";
const isThere = hasPython(["-c", NEEDED], "openai or openai-agents for Python", AGENTS_PYTHON);
const dev = registerDev();

test.skipIf(!isThere)(
  "they talk, stream, parse, call tools, and find every event valid",
  async () => {
    const script = join(import.meta.dir, "responses_client.py");
    const out = await runPython(script, [baseOf(dev()), dev().key], AGENTS_PYTHON);
    expect(out.trim()).toBe("all well");
  },
);
