// A Valkey server of a test, which it can stop, freeze and start again without its data.
import { RedisClient } from "bun";
import { findClosedPort } from "./ports.ts";

const PROGRAM = Bun.which("valkey-server") ?? Bun.which("redis-server");

export const HAS_VALKEY = PROGRAM !== null;

export interface TestValkey {
  port: number;
  url: string;
  /** Ends it; what it held is lost. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Sends a command while it runs, such as FLUSHALL. */
  send(command: string, ...given: string[]): Promise<unknown>;
}

export async function startValkey(): Promise<TestValkey> {
  const port = findClosedPort();
  let running: Bun.Subprocess<"ignore", "pipe"> | null = null;
  const start = async () => {
    const given = [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    running = Bun.spawn([PROGRAM!, ...given], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    for await (const text of running.stdout.pipeThrough(new TextDecoderStream())) {
      if (text.includes("eady to accept connections")) break;
    }
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    async send(command, ...given) {
      const client = new RedisClient(`redis://127.0.0.1:${port}`);
      const reply = await client.send(command, given);
      client.close();
      return reply;
    },
    async stop() {
      running?.kill("SIGKILL");
      await running?.exited;
    },
  };
}
