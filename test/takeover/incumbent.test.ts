// Tests both sides of a takeover over a real socket, with parts that record what they are told.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/platform/log.ts";
import {
  type Handover,
  Incumbent,
  listenForControl,
  Predecessor,
} from "../../src/takeover/index.ts";
import { createManualClock } from "../support/clock.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

type OnFollow = (claim: Parameters<Handover["limits"]["follow"]>[0]) => void;

/** Parts of a server; `events` has the calls in their order. */
function createParts(name: string, events: string[], onFollow?: OnFollow): Handover {
  const note = (what: string) => void events.push(`${name} ${what}`);
  return {
    epoch: 7,
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
      return true;
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

async function startIncumbent(onFollow?: OnFollow, mayGoOn = false) {
  const directory = mkdtempSync(join(tmpdir(), "wadi-takeover-"));
  const events: string[] = [];
  const begun: number[] = [];
  const clock = createManualClock();
  const takenBack = Promise.withResolvers<void>();
  const log = createLog(clock, (line) => line.includes("goes on") && takenBack.resolve(), false);
  const incumbent = new Incumbent({
    ...{
      handover: createParts("old", events, onFollow),
      version: "1",
      clock,
      log,
      predecessor: null,
    },
    onBegin: (pid) => begun.push(pid),
    onReplaced(pid) {
      events.push(`replaced by ${pid === process.pid}`);
      return () => mayGoOn;
    },
  });
  const path = join(directory, "control.sock");
  const server = await listenForControl(path, (...request) => incumbent.answer(...request));
  undo.push(server.close, () => rmSync(directory, { recursive: true }));
  return { path, events, clock, begun, takenBack: takenBack.promise, incumbent };
}

test("the parts change hands in order, and the new process counts for the old one", async () => {
  const { path, events } = await startIncumbent();
  const predecessor = (await Predecessor.begin(path, "2"))!;
  expect(predecessor).toMatchObject({ pid: process.pid, epoch: 7 });
  await predecessor.change(createParts("new", events));
  expect(await follow.limits!("keys", "b")).toBe(3);
  expect(await follow.slots!.take("search")).toBeTrue();
  follow.slots!.release("search");
  expect(await follow.slots!.take("other")).toBeFalse();
  await predecessor.listening();
  await predecessor.ready();
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
  const { path, events } = await startIncumbent((claim) => {
    early.resolve(claim!("keys", "early"));
  });
  const predecessor = (await Predecessor.begin(path, "2"))!;
  await predecessor.change(createParts("new", events));
  expect(await early.promise).toBe(3);
  const own = events.filter((event) => event.startsWith("new"));
  expect(own).toEqual(["new imports keys", 'new counts {"search":2}', "new counts keys early"]);
});

test("a new process that fails gives everything back, and its reason is kept", async () => {
  const { path, events, takenBack, incumbent } = await startIncumbent();
  const predecessor = (await Predecessor.begin(path, "2"))!;
  await predecessor.change(createParts("new", events));
  await predecessor.listening();
  events.length = 0;
  await predecessor.failed("no luck");
  await takenBack;
  expect(events).toEqual(["old spares none", "old counts again", "old stays", "old resumes"]);
  expect(incumbent.reasonOf(process.pid)).toBe("no luck");
  expect(await Predecessor.begin(path, "3")).not.toBeNull();
});

test("a new process that dies after it served gives back what the old one still can do", async () => {
  const { path, events, takenBack } = await startIncumbent(undefined, true);
  const predecessor = (await Predecessor.begin(path, "2"))!;
  await predecessor.change(createParts("new", events));
  await predecessor.listening();
  await predecessor.ready();
  events.length = 0;
  await predecessor.failed("");
  await takenBack;
  expect(events).toEqual(["old spares none", "old counts again", "old stays", "old resumes"]);
  expect(await Predecessor.begin(path, "3")).not.toBeNull();
});

test("a second process cannot take over meanwhile, and its refusal is kept", async () => {
  const { path, begun, incumbent } = await startIncumbent();
  await Predecessor.begin(path, "2");
  const second = Predecessor.begin(path, "3");
  await expect(second).rejects.toThrow(`process ${process.pid} takes over already`);
  expect(begun).toEqual([process.pid]);
  expect(incumbent.reasonOf(process.pid)).toBe(`process ${process.pid} takes over already`);
});

test("a new process that is not ready in time loses what it was given", async () => {
  const { path, events, clock, takenBack } = await startIncumbent();
  const predecessor = (await Predecessor.begin(path, "2"))!;
  await predecessor.change(createParts("new", events));
  await clock.advance(30_000);
  await takenBack;
  expect(events.at(-1)).toBe("old resumes");
  await predecessor.ended;
});

test("nobody listens at a socket that does not exist", async () => {
  expect(await Predecessor.begin("/nowhere/control.sock", "2")).toBeNull();
});
