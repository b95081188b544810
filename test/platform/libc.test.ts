// Tests whether a line can be written without waiting for its reader.
import { afterAll, expect, test } from "bun:test";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canWriteLine } from "../../src/platform/libc.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-writable-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const WATCHDOG = new URL("../../src/watchdog-worker.ts", import.meta.url).href;
const MEMORY = new URL("../../src/cluster/watchdog-memory.ts", import.meta.url).href;

/** A full pipe that has no reader. */
function openFullPipe(): { path: string; descriptor: number } {
  const path = join(root, crypto.randomUUID());
  Bun.spawnSync(["mkfifo", path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const filler = Buffer.alloc(4_096);
  try {
    for (;;) writeSync(descriptor, filler);
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== "EAGAIN") throw failure;
  }
  return { path, descriptor };
}

test.skipIf(process.platform !== "linux")("a full pipe takes no line until it is read", () => {
  const { descriptor } = openFullPipe();
  expect(canWriteLine(descriptor)).toBe(false);
  readSync(descriptor, Buffer.alloc(8_192));
  expect(canWriteLine(descriptor)).toBe(true);
  closeSync(descriptor);
});

test("a file takes any", () => {
  const descriptor = openSync(join(root, "log"), "w");
  expect(canWriteLine(descriptor)).toBe(true);
  closeSync(descriptor);
});

test.skipIf(process.platform !== "linux")(
  "a process that hangs is ended even if its log has no reader",
  async () => {
    const { path, descriptor } = openFullPipe();
    const script = `
      import { MEMORY_BYTES } from "${MEMORY}";
      const memory = new SharedArrayBuffer(MEMORY_BYTES);
      const times = { checkEveryMs: 10, checksMax: 3 };
      const orders = { memory, file: null, isForPeople: false, pid: process.pid, ...times };
      new Worker("${WATCHDOG}").postMessage(orders);
      setTimeout(() => { for (;;); }, 50);`;
    const stderr = openSync(path, "r+");
    const child = Bun.spawn([process.execPath, "-e", script], { stderr });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    for (const one of [stderr, descriptor]) closeSync(one);
  },
);
