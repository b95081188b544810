// Tests the messages to systemd over a datagram socket of its kind, on Linux.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSupervisorNotifier } from "../../src/platform/sd-notify.ts";
import { createManualClock } from "../support/clock.ts";
import { hasDatagrams, listenForDatagrams } from "../support/datagrams.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

function listen(name: string): () => string[] {
  const { read, close } = listenForDatagrams(name);
  undo.push(close);
  return read;
}

if (!hasDatagrams) test.skip("systemd is told (Linux)", () => {});
else {
  for (const kind of ["file", "abstract"]) {
    test(`states and the main process reach a socket of the kind ${kind}`, () => {
      const directory = mkdtempSync(join(tmpdir(), "wadi-notify-"));
      undo.push(() => rmSync(directory, { recursive: true }));
      const name = kind === "file" ? join(directory, "notify") : `@${directory}`;
      const receive = listen(name);
      const supervisor = createSupervisorNotifier(createManualClock(), { NOTIFY_SOCKET: name });
      supervisor.ready();
      supervisor.reloading();
      supervisor.replaced(42);
      supervisor.stopping();
      const [ready, reloading, ...rest] = receive();
      expect(ready).toBe("READY=1");
      expect(reloading).toMatch(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
      expect(rest).toEqual(["MAINPID=42", "STOPPING=1"]);
    });
  }

  test("the watchdog of systemd hears twice in its interval, from the first ready on", async () => {
    const name = `@wadi-notify-${process.pid}`;
    const receive = listen(name);
    const clock = createManualClock();
    const env = { NOTIFY_SOCKET: name, WATCHDOG_USEC: "10000000" };
    const supervisor = createSupervisorNotifier(clock, env);
    await clock.advance(20_000);
    expect(receive()).toEqual([]);
    supervisor.ready();
    supervisor.ready();
    await clock.advance(10_000);
    const beats = receive().filter((text) => text === "WATCHDOG=1");
    expect(beats).toHaveLength(3);
  });

  test("nothing is sent without a supervisor, or to one that is gone", () => {
    createSupervisorNotifier(createManualClock(), {}).ready();
    createSupervisorNotifier(createManualClock(), { NOTIFY_SOCKET: "@nobody" }).ready();
  });
}
