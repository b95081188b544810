// The Python package `anthropic`, whose own types judge each event and reply. Needs a Python with
// it: WADI_TEST_PYTHON, or the one on the path.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { ANSWER, registerDev } from "./dev.ts";

const PYTHON = process.env.WADI_TEST_PYTHON ?? "python3";

function has(module: string): boolean {
  try {
    const command = [PYTHON, "-c", `import ${module}`];
    return Bun.spawnSync(command, { stdout: "ignore", stderr: "ignore" }).success;
  } catch {
    return false;
  }
}
const isThere = has("anthropic");
if (!isThere) console.log("anthropic is not there: the client of Python is not tried.");

const dev = registerDev();

test.skipIf(!isThere)(
  "it gets messages, streams, calls, counts and errors of its types",
  async () => {
    const { url, key } = dev();
    const program = join(import.meta.dir, "anthropic_client.py");
    const child = Bun.spawn([PYTHON, program, url, key], { stdout: "pipe", stderr: "pipe" });
    const [out, problem] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect([await child.exited, problem]).toEqual([0, ""]);
    expect(JSON.parse(out)).toEqual({
      said: "You said: Hello there",
      streamed: "You said: Hello there",
      events: [
        ...["message_start", "content_block_start"],
        ...Array(4).fill("content_block_delta"),
        ...["content_block_stop", "message_delta", "message_stop"],
      ],
      call_events: 3,
      stop_reason: "tool_use",
      answer: ANSWER,
      counted: true,
      failure: ["OverloadedError", 529, "upstream_rate_limited"],
    });
  },
);
