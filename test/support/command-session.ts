// One process that runs command lines from the source: a start costs more than most commands.

import type { Ended } from "./binary.ts";
import { type CommandLine, END } from "./command-runner.ts";

const RUNNER = new URL("./command-runner.ts", import.meta.url).pathname;

interface Session {
  run(line: CommandLine): Promise<Ended>;
  /** Whether it can run another command line. */
  isFree(): boolean;
  end(): Promise<void>;
}

/** One for all test files of a process; it ends with the process. */
let session: Session | undefined;

export function runLine(line: CommandLine): Promise<Ended> {
  session ??= openSession();
  return session.run(line);
}

/** Ends the process if a command still runs in it, since the next one would wait. */
export async function endRunning(): Promise<void> {
  if (!session || session.isFree()) return;
  const busy = session;
  session = undefined;
  await busy.end();
}

function openSession(): Session {
  const child = Bun.spawn([process.execPath, RUNNER], {
    // Commands name homes of their own; none may write to that of the person who runs the tests.
    env: { PATH: process.env.PATH, HOME: "/dev/null" },
    stdio: ["ignore", "pipe", "pipe"],
    ipc() {},
  });
  const stdout = readParts(child.stdout);
  const stderr = readParts(child.stderr);
  let before: Promise<unknown> = Promise.resolve();
  let count = 0;
  const perform = async (line: CommandLine): Promise<Ended> => {
    child.send(line);
    const [printed, said] = await Promise.all([stdout(), stderr()]);
    return { code: Number(printed.tail), stdout: printed.text, stderr: said.text };
  };
  return {
    run(line) {
      count++;
      const ended = before.then(() => perform(line));
      before = ended.then(
        () => count--,
        () => undefined,
      );
      return ended;
    },
    isFree: () => count === 0,
    async end() {
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
