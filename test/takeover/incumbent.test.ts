// Tests both sides of a takeover over a real socket, with parts that record what they are told.
import { afterEach, expect, spyOn, test } from "bun:test";
import { EventEmitter } from "node:events";
import * as files from "node:fs";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, yieldToEventLoop } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { Channel, ChannelClosed } from "../../src/takeover/channel.ts";
import { TakeoverRefused } from "../../src/takeover/errors.ts";
import type { IncumbentOptions } from "../../src/takeover/incumbent.ts";
import {
  connectToControl,
  type Handover,
  Incumbent,
  listenForControl,
  Predecessor,
} from "../../src/takeover/index.ts";
import { openProcesses, type Processes } from "../../src/takeover/processes.ts";
import { createManualClock } from "../support/clock.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

type OnFollow = (claim: Parameters<Handover["limits"]["follow"]>[0]) => void;

/** Parts of a server; `events` has the calls in their order. */
function createParts(
  name: string,
  events: string[],
  { onFollow, shares = true }: Pick<Situation, "onFollow" | "shares"> = {},
): Handover {
  const note = (what: string) => void events.push(`${name} ${what}`);
  return {
    drain: async () => note("drains"),
    undrain: () => note("undrains"),
    epoch: 7,
    installation: "i",
    addresses: [{ host: "127.0.0.1", port: 80 }],
    limits: {
      export: () => ({ keys: [["a", 0, [1]]] }),
      import: (states) => note(`imports ${Object.keys(states)}`),
      async claim(limiter, who) {
        note(`counts ${limiter} ${who}`);
        return 3;
      },
      follow(claim) {
        note(claim ? "follows" : "counts again");
        follow.limits = claim;
        onFollow?.(claim);
      },
    },
    slots: {
      export: () => ({ search: 2 }),
      import: (counts) => note(`counts ${JSON.stringify(counts)}`),
      take: (service) => service === "search",
      release: (service) => note(`releases ${service}`),
      follow(leader) {
        follow.slots = leader;
      },
    },
    share() {
      note("shares");
      return shares;
    },
    spare: (spares) => note(spares(8) ? "spares" : "spares none"),
    leave: (isLeaving) => note(isLeaving ? "leaves" : "stays"),
    pause: async () => note("pauses"),
    resume: () => note("resumes"),
    retire: async () => {},
    inherit: async () => {},
  };
}

/** How the old process asks the new one. */
const follow: {
  limits: Parameters<Handover["limits"]["follow"]>[0];
  slots: Parameters<Handover["slots"]["follow"]>[0];
} = { limits: null, slots: null };

interface Situation {
  onFollow?: OnFollow;
  mayGoOn?: boolean;
  processes?: Partial<Processes>;
  /** Throws to refuse the new process. */
  onBegin?(): void;
  /** The old process can share its listening sockets. */
  shares?: boolean;
  predecessor?: IncumbentOptions["predecessor"];
}

const LATE = "t: it was not ready in time, and it";

const begin = (path: string, version = "2") =>
  Predecessor.begin(path, { version, token: "t", clock: createManualClock() });

async function startIncumbent(situation: Situation = {}) {
  const { mayGoOn = false, processes, predecessor = null } = situation;
  const directory = mkdtempSync(join(tmpdir(), "wadi-takeover-"));
  const events: string[] = [];
  const begun: number[] = [];
  const clock = createManualClock();
  const takenBack = Promise.withResolvers<void>();
  const askedToGoOn = Promise.withResolvers<void>();
  const reasons: string[] = [];
  const log = createLog(clock, (line) => line.includes("goes on") && takenBack.resolve(), false);
  const incumbent = new Incumbent({
    ...{
      handover: createParts("old", events, situation),
      version: "1",
      clock,
      log,
      predecessor,
    },
    onBegin({ pid }) {
      situation.onBegin?.();
      begun.push(pid);
    },
    onFailed: ({ token }, reason) => reasons.push(`${token}: ${reason}`),
    onReplaced({ pid }) {
      events.push(`replaced by ${pid === process.pid}`);
      return () => {
        askedToGoOn.resolve();
        return mayGoOn;
      };
    },
    processes: {
      // Both sides are this process.
      namespace: openProcesses().namespace,
      endsContainer: () => false,
      kill: (pid) => events.push(`kills ${pid === process.pid}`),
      ...processes,
    },
  });
  const path = join(directory, "control.sock");
  const answered = Promise.withResolvers<unknown>();
  const server = await listenForControl(path, (...request) => {
    const reply = incumbent.answer(...request);
    answered.resolve(reply.catch(({ message }) => message));
    return reply;
  });
  undo.push(server.close, () => rmSync(directory, { recursive: true }));
  const promises = {
    answered: answered.promise,
    takenBack: takenBack.promise,
    askedToGoOn: askedToGoOn.promise,
  };
  return { path, events, clock, begun, ...promises, incumbent, reasons };
}

test("the parts change hands in order, and the new process counts for the old one", async () => {
  const { path, events, clock } = await startIncumbent();
  const predecessor = (await begin(path))!;
  expect(predecessor).toMatchObject({ pid: process.pid, epoch: 7, installation: "i" });
  await predecessor.change(createParts("new", events));
  expect(await follow.limits!("keys", "b")).toBe(3);
  expect(await follow.slots!.take("search")).toBeTrue();
  follow.slots!.release("search");
  expect(await follow.slots!.take("other")).toBeFalse();
  await predecessor.listening();
  await predecessor.ready();
  // However long the old process still ends requests, the new one is not ended.
  await clock.advance(30 * 60_000);
  expect(events).toEqual([
    "old spares",
    "old shares",
    "old follows",
    "new imports keys",
    'new counts {"search":2}',
    "new counts keys b",
    "new releases search",
    "old leaves",
    "old pauses",
    "replaced by true",
  ]);
});

test("a request of the old process waits for the limits, which would replace its count", async () => {
  const early = Promise.withResolvers<number>();
  const { path, events } = await startIncumbent({
    onFollow: (claim) => early.resolve(claim!("keys", "early")),
  });
  const predecessor = (await begin(path))!;
  await predecessor.change(createParts("new", events));
  expect(await early.promise).toBe(3);
  const own = events.filter((event) => event.startsWith("new"));
  expect(own).toEqual(["new imports keys", 'new counts {"search":2}', "new counts keys early"]);
});

test("a new process that fails gives everything back, and its reason is kept", async () => {
  const { path, events, takenBack, reasons } = await startIncumbent();
  const predecessor = (await begin(path))!;
  await predecessor.change(createParts("new", events));
  await predecessor.listening();
  events.length = 0;
  await predecessor.failed("no luck");
  await takenBack;
  expect(follow).toEqual({ limits: null, slots: null });
  expect(events).toEqual(["old spares none", "old counts again", "old stays", "old resumes"]);
  expect(reasons).toEqual(["t: no luck"]);
  expect(await begin(path, "3")).not.toBeNull();
});

test("a new process that dies after it served gives back what the old one still can do", async () => {
  const { path, events, takenBack } = await startIncumbent({ mayGoOn: true });
  const predecessor = (await begin(path))!;
  await predecessor.change(createParts("new", events));
  await predecessor.listening();
  await predecessor.ready();
  events.length = 0;
  await predecessor.failed("");
  await takenBack;
  expect(events).toEqual(["old spares none", "old counts again", "old stays", "old resumes"]);
  expect(await begin(path, "3")).not.toBeNull();
});

test("where the old process is too late to go on, it takes nothing back", async () => {
  const { path, events, askedToGoOn } = await startIncumbent();
  const predecessor = (await begin(path))!;
  await predecessor.change(createParts("new", events));
  await predecessor.listening();
  await predecessor.ready();
  events.length = 0;
  await predecessor.failed("");
  await askedToGoOn;
  expect(await begin(path, "3").catch(({ message }) => message)).toContain("takes over already");
  expect(events).toEqual([]);
});

test("sockets that cannot be shared end the takeover before anything changes hands", async () => {
  const { path, events, takenBack } = await startIncumbent({ shares: false });
  const predecessor = (await begin(path))!;
  const change = predecessor.change(createParts("new", events));
  expect(await change.catch(({ message }) => message)).toContain("could not be shared");
  await predecessor.failed("no luck");
  await takenBack;
  expect(events).toEqual(["old spares", "old shares", "old spares none"]);
});

test("a process that has not ended its own takeover is not taken over", async () => {
  const situation = { predecessor: { pid: 7, hasEnded: false } };
  const { path, begun } = await startIncumbent(situation);
  const early = begin(path).catch(({ message }) => message);
  expect(await early).toContain("process 7 still ends its requests");
  expect(begun).toEqual([]);
  situation.predecessor.hasEnded = true;
  expect(await begin(path)).not.toBeNull();
});

test("a new process that was refused keeps no other one from a takeover", async () => {
  const situation: Situation = {
    onBegin() {
      throw new TakeoverRefused("not now");
    },
  };
  const { path, begun } = await startIncumbent(situation);
  expect(await begin(path).catch(({ message }) => message)).toBe("not now");
  delete situation.onBegin;
  expect(await begin(path)).not.toBeNull();
  expect(begun).toEqual([process.pid]);
});

test("only the process that has begun goes on with the takeover", async () => {
  const { path, events } = await startIncumbent();
  await begin(path);
  const other = (await connectToControl(path, async () => null))!;
  for (const method of ["change", "listening", "ready", "failed"]) {
    const refusal = other.request(method).catch(({ message }) => message);
    expect(await refusal).toBe("no takeover has begun");
  }
  expect(events).toEqual(["old spares"]);
});

test.each([
  ["the first process of a container", 1, openProcesses().namespace],
  ["a process of an unknown namespace", 7, null],
] as const)("%s is never ended", async (_, pid, namespace) => {
  const processes = { namespace };
  const { path, events, clock, takenBack, reasons } = await startIncumbent({ processes });
  const other = (await connectToControl(path, async () => null))!;
  await other.request("begin", { pid, namespace, version: "2", token: "t" });
  await clock.advance(30 * 60_000);
  await takenBack;
  expect(events).toEqual(["old spares", "old spares none"]);
  expect(reasons).toEqual([`${LATE} may still run: end it where it runs`]);
});

test("a second process cannot take over meanwhile", async () => {
  const { path, begun } = await startIncumbent();
  await begin(path);
  const second = begin(path, "3");
  await expect(second).rejects.toThrow(`process ${process.pid} takes over already`);
  expect(begun).toEqual([process.pid]);
});

test("a new process that is not ready in time is ended before the old one goes on", async () => {
  const { path, events, clock, takenBack, reasons } = await startIncumbent();
  const predecessor = (await begin(path))!;
  await predecessor.change(createParts("new", events));
  await clock.advance(30_000);
  await takenBack;
  expect(events.slice(-5)).toEqual([
    "kills true",
    "old spares none",
    "old counts again",
    "old stays",
    "old resumes",
  ]);
  expect(reasons).toEqual([`${LATE} was ended`]);
  await predecessor.ended;
});

test("a new process that hangs before it listens blocks others for half an hour at most", async () => {
  const { path, events, clock, takenBack, reasons } = await startIncumbent();
  await begin(path);
  await clock.advance(30 * 60_000 - 1);
  expect(await begin(path).catch(({ message }) => message)).toContain(
    "wait, or end it if it hangs",
  );
  await clock.advance(1);
  await takenBack;
  expect(events).toEqual(["old spares", "kills true", "old spares none"]);
  expect(reasons).toEqual([`${LATE} was ended`]);
  expect(await begin(path)).not.toBeNull();
});

test("a number of another namespace names another process here, which is not ended", async () => {
  const processes = { namespace: "pid:[1]" };
  const { path, events, clock, takenBack, reasons } = await startIncumbent({ processes });
  const predecessor = (await begin(path))!;
  await predecessor.change(createParts("new", events));
  await clock.advance(30_000);
  await takenBack;
  expect(events).not.toContain("kills true");
  expect(events.at(-1)).toBe("old resumes");
  expect(reasons).toEqual([`${LATE} may still run: end it where it runs`]);
});

test("an upgrade that has failed ends its own process only", async () => {
  const { path, events, takenBack, incumbent } = await startIncumbent();
  await begin(path);
  incumbent.abandon("other", "");
  expect(events).toEqual(["old spares"]);
  incumbent.abandon("t", "its upgrade has failed");
  await takenBack;
  expect(events).toEqual(["old spares", "kills true", "old spares none"]);
});

test("a process that would end with its container is not taken over from inside", async () => {
  const refused = "the container may end with the running server";
  const inside = await startIncumbent({ processes: { endsContainer: () => true } });
  await expect(begin(inside.path)).rejects.toThrow(refused);
  expect(inside.events).toEqual([]);
  const processes = { endsContainer: () => true, namespace: "pid:[1]" };
  const outside = await startIncumbent({ processes });
  expect(await begin(outside.path)).not.toBeNull();
});

test("a process that has gone by the time of the answer begins nothing", async () => {
  const { path, events, begun, answered } = await startIncumbent();
  const client = connect(path);
  const begins = { id: 1, method: "begin", params: { pid: 7, version: "2", token: "t" } };
  client.write(`${JSON.stringify(begins)}\n`, () => client.destroy());
  expect(await answered).toContain("has closed the control connection");
  expect([events, begun]).toEqual([[], []]);
});

test("a socket is removed by the server that made it, and by no other", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-takeover-"));
  undo.push(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "control.sock");
  const first = await listenForControl(path, async () => null);
  const second = await listenForControl(path, async () => null);
  first.close();
  expect(readdirSync(directory)).toEqual(["control.sock"]);
  second.close();
  expect(readdirSync(directory)).toEqual([]);
  second.close();
});

test("a server that does not answer is given up", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-takeover-"));
  const path = join(directory, "control.sock");
  const asked = Promise.withResolvers<Channel>();
  const hangs = await listenForControl(path, (_, __, channel) => {
    asked.resolve(channel);
    return new Promise(() => {});
  });
  undo.push(hangs.close, () => rmSync(directory, { recursive: true }));
  const clock = createManualClock();
  const waits = Promise.withResolvers<number>();
  const after: Clock["after"] = (delayMs, run) => {
    waits.resolve(delayMs);
    return clock.after(delayMs, run);
  };
  const about = { version: "2", token: null, clock: { ...clock, after } };
  const refusal = Predecessor.begin(path, about).catch(({ message }) => message);
  await clock.advance(await waits.promise);
  expect(await refusal).toBe("the running server does not answer: restart it");
  // It does nothing for this request once it wakes up.
  await (await asked.promise).closed;
});

test("requests are read whole, however they arrive", async () => {
  const replies: string[] = [];
  const socket = Object.assign(new EventEmitter(), {
    setEncoding() {},
    write: (text: string) => replies.push(text),
  });
  new Channel(socket as unknown as Socket, async (method) => method);
  for (const text of ['{"id":1,"meth', 'od":"one"}\n{"id":2,"method":"two"}\n{"id"', ":3,"]) {
    socket.emit("data", text);
  }
  socket.emit("data", '"method":"three"}');
  socket.emit("data", "\n");
  while (replies.length < 3) await yieldToEventLoop();
  expect(replies).toEqual(
    ["one", "two", "three"].map((result, at) => `{"id":${at + 1},"result":"${result}"}\n`),
  );
});

test("a connection that has ended takes no more requests", async () => {
  const socket = Object.assign(new EventEmitter(), { setEncoding() {}, write() {} });
  const channel = new Channel(socket as unknown as Socket, async () => null);
  const early = channel.request("early");
  socket.emit("close");
  await expect(early).rejects.toBeInstanceOf(ChannelClosed);
  await expect(channel.request("late")).rejects.toBeInstanceOf(ChannelClosed);
});

test("a takeover keeps the port that callers know", async () => {
  const { path } = await startIncumbent();
  const predecessor = (await begin(path))!;
  for (const same of [0, 80]) predecessor.requirePort(same);
  expect(() => predecessor.requirePort(81)).toThrow(
    "the running server listens on port 80, and a takeover cannot change it to 81",
  );
  await predecessor.failed("");
});

test("only the owner of a socket may open it, from its first moment on", async () => {
  const { renameSync: rename } = files;
  const modes: number[] = [];
  const note = (path: files.PathLike) => void modes.push(statSync(path).mode & 0o777);
  using _ = spyOn(files, "renameSync").mockImplementation((from, to) => {
    note(from);
    rename(from, to);
  });
  const { path } = await startIncumbent();
  note(path);
  expect(modes).toEqual([0o600, 0o600]);
});

test("nobody listens at the socket that a killed process has left", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-takeover-"));
  undo.push(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "control.sock");
  const killed = createServer();
  await new Promise<void>((resolve) => killed.listen(`${path}.1`, resolve));
  // A server removes the name that it was opened with only.
  renameSync(`${path}.1`, path);
  killed.close();
  expect(existsSync(path)).toBeTrue();
  expect(await begin(path)).toBeNull();
});

test("the path of a socket has 200 bytes at most", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-takeover-"));
  undo.push(() => rmSync(directory, { recursive: true }));
  const inner = join(directory, "d".repeat(200 - `${directory}//s`.length));
  mkdirSync(inner);
  const longest = join(inner, "s");
  const server = await listenForControl(longest, async () => "here");
  undo.push(server.close);
  const channel = (await connectToControl(longest, async () => null))!;
  expect(await channel.request("ping")).toBe("here");
  const listening = listenForControl(`${longest}s`, async () => null);
  await expect(listening).rejects.toThrow("longer than 200 bytes");
});

test("nobody listens at a socket that does not exist", async () => {
  expect(await begin("/nowhere/control.sock")).toBeNull();
  expect(await begin(`${import.meta.path}/control.sock`)).toBeNull();
  expect(await begin(`/nowhere/${"x".repeat(300)}/control.sock`)).toBeNull();
});
