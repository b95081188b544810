// The Python package `anthropic`, whose own types judge each event and reply. Needs a Python with
// it: WADI_TEST_PYTHON, or the one on the path.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { hasPython, runPython } from "../support/python.ts";
import { ANSWER, registerDev } from "./dev.ts";

const isThere = hasPython(["-c", "import anthropic"], "anthropic for Python");
const dev = registerDev();

test.skipIf(!isThere)(
  "it gets messages, streams, calls, counts and errors of its types",
  async () => {
    const { url, key } = dev();
    const program = join(import.meta.dir, "anthropic_client.py");
    expect(JSON.parse(await runPython(program, [url, key]))).toEqual({
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
