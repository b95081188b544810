// One process that runs command lines from the source: a start costs more than most commands.

import type { Ended } from "./binary.ts";
import { type CommandLine, END } from "./command-runner.ts";

const RUNNER = new URL("./command-runner.ts", import.meta.url).pathname;

export interface CommandSession {
  run(line: CommandLine): Promise<Ended>;
  close(): Promise<void>;
}

export function openSession(env: CommandLine["env"]): CommandSession {
  const child = Bun.spawn([process.execPath, RUNNER], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    ipc() {},
  });
  const stdout = readParts(child.stdout);
  const stderr = readParts(child.stderr);
  let before: Promise<unknown> = Promise.resolve();
  const perform = async (line: CommandLine): Promise<Ended> => {
    child.send(line);
    const [printed, said] = await Promise.all([stdout(), stderr()]);
    return { code: Number(printed.tail), stdout: printed.text, stderr: said.text };
  };
  return {
    run(line) {
      const ended = before.then(() => perform(line));
      before = ended.catch(() => undefined);
      return ended;
    },
    async close() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Returns a reader of the output of the next command, and of what stands behind its end. */
function readParts(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  return async (): Promise<{ text: string; tail: string }> => {
    for (;;) {
      const end = rest.indexOf(END);
      const stop = end < 0 ? -1 : rest.indexOf("\n", end);
      if (stop >= 0) {
        const part = { text: rest.slice(0, end), tail: rest.slice(end + 1, stop) };
        rest = rest.slice(stop + 1);
        return part;
      }
      const { done, value } = await reader.read();
      if (done) throw new Error(`the process of the commands ended: ${rest}`);
      rest += decoder.decode(value, { stream: true });
    }
  };
}
