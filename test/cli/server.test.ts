// Tests that a failed start leaves nothing running, and that a fatal error ends the process.
import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runServer, type ServerRun, type Serving } from "../../src/cli/server.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { canTakeOver, listenForControl, Predecessor } from "../../src/takeover/index.ts";
import { createManualClock } from "../support/clock.ts";
import { NO_INSTALLATION } from "../support/installation.ts";

// The server's process listeners would hide bugs of other tests in this process.
const HEARD = ["SIGHUP", "SIGINT", "SIGTERM", "uncaughtException", "unhandledRejection"];
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const event of HEARD) process.removeAllListeners(event);
  process.stderr.removeAllListeners("error");
  for (const clean of cleanups.splice(0).reverse()) clean();
});

/** A server that records its calls. */
function pretend(overrides: Partial<ServerRun> = {}) {
  const events: string[] = [];
  let fail = () => {};
  const serving: Serving = {
    server: { url: "http://127.0.0.1:1", listClients: () => ({ served: [], refused: [] }) },
    admin: { models: { list: async () => [] as unknown } } as Serving["admin"],
    start: async () => void events.push("start"),
    stop: async (deadlineMs) => void events.push(`stop ${deadlineMs}`),
    change: async () => true,
    handover: {} as Serving["handover"],
  };
  const options: ServerRun = {
    settings: defaultSettings(),
    file: null,
    watchdog: null,
    control: null,
    clock: createManualClock(),
    installation: NO_INSTALLATION,
    storage: "nowhere",
    output: {
      terminal: null,
      say: () => {},
      print: (_, text) => void events.push(text.split("\n")[1]!),
    },
    async build({ onFatal }) {
      fail = onFatal;
      return serving;
    },
    async welcome() {
      events.push("welcome");
      return { keys: [], notes: [] };
    },
    ...overrides,
  };
  return { events, options, fail: () => fail() };
}

test("the server listens first, then creates the first key, then announces it", async () => {
  const { events, options, fail } = pretend();
  const code = runServer({
    ...options,
    output: {
      ...options.output,
      print: (_, text) => {
        options.output.print(_, text);
        fail();
      },
    },
  });
  expect(await code).toBe(1);
  expect(events).toEqual(["start", "welcome", "address   http://127.0.0.1:1/v1"]);
});

test("a port that is unavailable creates no key", async () => {
  const { events, options } = pretend();
  const build: ServerRun["build"] = async (deps) => ({
    ...(await options.build(deps)),
    start: async () => {
      throw new Error("taken");
    },
  });
  await expect(runServer({ ...options, build })).rejects.toThrow("taken");
  expect(events).toEqual([]);
});

test("a start that fails after listening is stopped at once", async () => {
  const welcome = async () => {
    throw new Error("no");
  };
  const { events, options } = pretend({ welcome });
  await expect(runServer(options)).rejects.toThrow("no");
  expect(events).toEqual(["start", "stop 0"]);
});

test("a stop that does not finish is not waited for", async () => {
  const clock = createManualClock();
  const { options } = pretend({ clock });
  const listening = Promise.withResolvers<void>();
  const code = runServer({
    ...options,
    output: { ...options.output, print: () => listening.resolve() },
    build: async (deps) => ({
      ...(await options.build(deps)),
      stop: () => new Promise(() => {}),
    }),
  });
  await listening.promise;
  process.emit("SIGTERM");
  const ended: number[] = [];
  const heard = code.then((is) => void ended.push(is));
  await clock.advance(options.settings.server.stop_timeout_ms + 9_999);
  expect(ended).toEqual([]);
  await clock.advance(1);
  await heard;
  expect(ended).toEqual([1]);
});

/** A file in a directory that is removed after the test. */
function placeFile(name: string) {
  const directory = mkdtempSync(join(tmpdir(), "wadi-server-"));
  cleanups.push(() => rmSync(directory, { recursive: true }));
  return join(directory, name);
}

test("the note of a crash is told to the start after it, and kept until one succeeds", async () => {
  const file = placeFile("watchdog.json");
  const note = { at: "2026-11-20T11:00:00.000Z", hung: null, runs: ["r-1"] };
  writeFileSync(file, JSON.stringify(note));
  const idle = new Blob(["onmessage = () => {};"], { type: "text/javascript" });
  const watchdog = { script: new URL(URL.createObjectURL(idle)), file };
  const crashes: unknown[] = [];
  const start = (fails: boolean) => {
    const { options, fail } = pretend({ watchdog });
    return runServer({
      ...options,
      output: { ...options.output, print: fail },
      async build(deps) {
        crashes.push(await deps.installation.readCrash());
        if (fails) throw new Error("no");
        return options.build(deps);
      },
    });
  };
  await expect(start(true)).rejects.toThrow("no");
  expect([await start(false), existsSync(file)]).toEqual([1, false]);
  await start(false);
  const crash = { at: note.at, run_id: null, call: null, runs: 1 };
  expect(crashes).toEqual([crash, crash, null]);
});

/** A server that another one has replaced, and that still has clients until `leave`. */
async function startReplaced(stopped = Promise.resolve()) {
  const clock = createManualClock();
  const listening = Promise.withResolvers<void>();
  const { events, options } = pretend({ clock });
  const clients = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const retire = (deadlineMs: number, waiting: AbortSignal) => {
    events.push(`retire ${deadlineMs}`);
    waiting.addEventListener("abort", () => goesOn.resolve());
    return clients.promise;
  };
  const file = placeFile("control.sock");
  const parts = { epoch: 1, installation: "i", addresses: [], spare() {}, retire };
  const code = runServer({
    ...options,
    control: { file, takesOver: false },
    output: { ...options.output, print: () => listening.resolve() },
    build: async (deps) => ({
      ...(await options.build(deps)),
      handover: parts as Partial<Serving["handover"]> as Serving["handover"],
      async stop(deadlineMs) {
        events.push(`stop ${deadlineMs}`);
        await stopped;
      },
    }),
  });
  await listening.promise;
  events.length = 0;
  const next = (await Predecessor.begin(file, { version: "2", token: null, clock }))!;
  await next.ready();
  return { clock, events, code, file, next, leave: clients.resolve, goesOn: goesOn.promise };
}

test.if(canTakeOver)("a replaced server stops in what its clients left of its time", async () => {
  const { clock, events, code, leave } = await startReplaced();
  await clock.advance(10_000);
  leave();
  expect(await code).toBe(0);
  expect(events).toEqual(["retire 30000", "stop 20000"]);
});

test.if(canTakeOver)("a replaced server that is stopping does not go on", async () => {
  const stopped = Promise.withResolvers<void>();
  const { clock, events, code, file, next, leave } = await startReplaced(stopped.promise);
  leave();
  while (events.length < 2) await clock.advance(0);
  await next.failed("");
  const again = Predecessor.begin(file, { version: "3", token: null, clock });
  await expect(again).rejects.toThrow("takes over already");
  stopped.resolve();
  expect(await code).toBe(0);
});

test.if(canTakeOver)("a replaced server that is late stops at once", async () => {
  const { clock, events, code, leave } = await startReplaced();
  await clock.advance(31_000);
  leave();
  expect(await code).toBe(0);
  expect(events).toEqual(["retire 30000", "stop 0"]);
});

test.if(canTakeOver)(
  "the first signal leaves a replaced server as it is, and the second ends it",
  async () => {
    const { events, code } = await startReplaced();
    process.emit("SIGTERM");
    expect(events).toEqual(["retire 30000"]);
    process.emit("SIGTERM");
    expect(await code).toBe(1);
    expect(events).toEqual(["retire 30000"]);
  },
);

test.if(canTakeOver)(
  "a replaced server that goes on stops at a signal like any other",
  async () => {
    const { events, code, next, leave, goesOn } = await startReplaced();
    await next.failed("");
    await goesOn;
    leave();
    process.emit("SIGTERM");
    expect(await code).toBe(0);
    expect(events).toEqual(["retire 30000", "stop 30000"]);
  },
);

test.if(canTakeOver)("the running server is told why a new one did not start", async () => {
  const told: unknown[] = [];
  const file = placeFile("control.sock");
  const socket = await listenForControl(file, async (method, params) => {
    told.push([method, params.reason]);
    return method === "begin" ? { pid: 7, epoch: 1, installation: "i", addresses: [] } : null;
  });
  cleanups.push(() => socket.close());
  const { options } = pretend({ control: { file, takesOver: true } });
  const build = async () => {
    throw new Error("The disk is full.");
  };
  await expect(runServer({ ...options, build })).rejects.toThrow("The disk is full.");
  expect(told).toEqual([
    ["begin", undefined],
    ["failed", "The disk is full."],
  ]);
});

test("a bug in a timer's callback is one log line, and ends nothing", async () => {
  const script = `
    import { runServer } from "${import.meta.dir}/../../src/cli/server.ts";
    import { createSystemClock } from "${import.meta.dir}/../../src/platform/clock.ts";
    import { defaultSettings } from "${import.meta.dir}/../../src/settings/index.ts";
    process.exit(await runServer({
      settings: defaultSettings(),
      file: null,
      clock: createSystemClock(),
      output: { print() {} },
      watchdog: null,
      async build({ clock, onFatal }) {
        clock.after(0, () => { throw new Error("bug 7"); });
        clock.after(1, () => setTimeout(onFatal, 1));
        return {
          server: { url: "http://127.0.0.1:1", listClients: () => ({ served: [], refused: [] }) },
          admin: { models: { list: async () => [] } },
          start() {},
          stop() {},
        };
      },
      welcome: async () => ({ keys: [], notes: [] }),
    }));`;
  const child = Bun.spawn([process.execPath, "-e", script], { stderr: "pipe" });
  const log = await child.stderr.text();
  expect(
    log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    {
      level: "error",
      message: "server: a timer's callback failed",
      error: expect.stringContaining("bug 7"),
    },
  ]);
  // Keeps the process alive until it is ended.
  expect(await child.exited).toBe(1);
});

for (const [title, bug] of [
  ["an uncaught exception", "setImmediate(() => { throw new Error('bug 7'); })"],
  ["an unhandled rejection", "Promise.reject(new Error('bug 7'))"],
] as const) {
  test(`${title} is one log line, and ends the program`, async () => {
    const script = `
      import { runServer } from "${import.meta.dir}/../../src/cli/server.ts";
      import { defaultSettings } from "${import.meta.dir}/../../src/settings/index.ts";
      process.exit(await runServer({
        settings: defaultSettings(),
        file: null,
        clock: { now: () => 0, monotonic: () => 0, after: () => () => {} },
        output: { print() {} },
        watchdog: null,
        build: async () => ({
          server: { url: "http://127.0.0.1:1", listClients: () => ({ served: [], refused: [] }) },
          admin: { models: { list: async () => [] } },
          start() { ${bug}; },
          stop() {},
        }),
        welcome: async () => ({ keys: [], notes: [] }),
      }));`;
    const child = Bun.spawn([process.execPath, "-e", script], { stderr: "pipe" });
    const log = await child.stderr.text();
    expect(JSON.parse(log)).toMatchObject({
      level: "error",
      message: "server: an uncaught error ends the process",
      error: expect.stringContaining("bug 7"),
    });
    expect(await child.exited).toBe(1);
  });
}
