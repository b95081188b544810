// Tests the feed of changes alone: when it listens, how it gathers, and what slow readers get.
import { expect, test } from "bun:test";
import { ChangeFeed } from "../../../src/admin/changes/feed.ts";
import { TOPICS, topicsOf } from "../../../src/admin/changes/topics.ts";
import { WROTE } from "../../../src/database/index.ts";
import type { WakeListener } from "../../../src/database/store.ts";
import type { EventStream } from "../../../src/http/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { stores } from "../../../src/stores.ts";
import { createManualClock } from "../../support/clock.ts";

const GATHER_MS = 250;
const BEAT_MS = 3_000;

function open() {
  const clock = createManualClock();
  const listeners = new Map<string, WakeListener>();
  let models = "11";
  const feed = new ChangeFeed({
    clock,
    log: createLog(clock, () => {}, false),
    database: {
      listen(channel, run) {
        listeners.set(channel, run);
        return () => listeners.delete(channel);
      },
    },
    lookAtModels: () => models,
  });
  const follow = (role: "operator" | "approver" = "operator", id = "o-1", hasLeft = false) => {
    const leaving = new AbortController();
    if (hasLeft) leaving.abort();
    const page = { lines: [] as unknown[], unread: 0, isClosed: false, isInForce: true };
    const events = {
      left: leaving.signal,
      comment: (text: string) => void page.lines.push(text),
      send: (json: string) => void page.lines.push(Object.values(JSON.parse(json))),
      countUnread: () => page.unread,
      close() {
        page.isClosed = true;
      },
    };
    const isInForce = async () => page.isInForce;
    feed.open({ id, role, isInForce }, () => events as unknown as EventStream);
    return Object.assign(page, { leave: () => leaving.abort() });
  };
  const tell = (channel: string, id: string | null) => listeners.get(channel)?.(id, true);
  const turnModel = (state: string) => {
    models = state;
  };
  return { clock, feed, listeners, follow, tell, turnModel };
}

test("every store's writes have their topics", () => {
  for (const { name } of stores) expect(topicsOf(`${name}.x`), name).not.toBe(TOPICS);
  expect(topicsOf("new_store.write")).toBe(TOPICS);
});

test.each([
  ["accounts.create", ["accounts", "keys"]],
  ["budgets.settle", ["accounts", "keys"]],
  ["holds.hold", ["accounts", "agents"]],
  ["operators.revoke", ["sessions"]],
  ["sessions.end", ["sessions"]],
  ["approval_links.create", ["sessions"]],
  ["installation.resume", ["runs"]],
  ["models.turn", ["models"]],
  ["units.note", ["models"]],
  ["ledger.append", ["requests"]],
  ["ledger.foldDay", []],
  ["agents.create", ["agents"]],
  ["tools.disable", ["agents"]],
  ["connections.create", ["agents"]],
  ["triggers.setStatus", ["triggers"]],
  ["webhooks.create", ["webhooks"]],
  ["runs.start", ["runs"]],
  ["runs.claim", []],
  ["account_deletions.begin", ["accounts", "agents", "keys", "runs", "triggers", "webhooks"]],
])("the write %s changes what pages show of %j", (write, topics) => {
  expect(topicsOf(write) as readonly string[]).toEqual(topics);
});

test("it listens and looks only while somebody follows", async () => {
  const { clock, listeners, follow } = open();
  expect([listeners.size, clock.pending()]).toEqual([0, 0]);
  const [one, other] = [follow(), follow()];
  expect([...listeners.keys()]).toEqual(["run", "approval", WROTE]);
  one.leave();
  expect(listeners.size).toBe(3);
  other.leave();
  await clock.advance(GATHER_MS);
  expect([listeners.size, clock.pending()]).toEqual([0, 0]);
  const third = follow();
  expect([listeners.size, third.lines]).toEqual([3, ["open"]]);
});

test("the first change is told at once, and later ones four times a second", async () => {
  const { clock, follow, tell } = open();
  const { lines } = follow();
  tell("run", "r-1");
  expect(lines.splice(0)).toEqual(["open", ["runs", "r-1", 1]]);
  for (let i = 0; i < 3; i++) tell("run", "r-2");
  expect(lines).toEqual([]);
  await clock.advance(GATHER_MS);
  expect(lines.splice(0)).toEqual([["runs", "r-2", 3]]);
  for (let passed = 0; passed < 1_000; passed += 5) {
    tell("run", `r-${passed}`);
    await clock.advance(5);
  }
  expect(lines.length).toBeLessThanOrEqual(5);
  expect(lines.every((frame) => (frame as unknown[])[1] === null)).toBeTrue();
});

test("writes without an id, and those of unknown processes, say: read all again", () => {
  const { follow, tell } = open();
  const { lines } = follow();
  tell(WROTE, "holds.hold");
  expect(lines.splice(1)).toEqual([
    ["accounts", null, 1],
    ["agents", null, 1],
  ]);
  tell(WROTE, "audit.begin");
  tell(WROTE, "runs.settle");
  tell("run", null);
  expect(lines.splice(1)).toEqual([]);
  tell(WROTE, null);
  const told = lines.splice(1).map((frame) => (frame as unknown[])[0]);
  expect(told).toEqual(TOPICS.filter((topic) => topic !== "accounts" && topic !== "agents"));
});

test("an approver is told of approvals only", () => {
  const { follow, tell } = open();
  const { lines } = follow("approver");
  tell("run", "r-1");
  tell(WROTE, null);
  tell("approval", "a-1");
  expect(lines).toEqual(["open", ["approvals", null, 1]]);
});

test("a slow reader gets one frame of each topic that it missed", async () => {
  const { clock, follow, tell } = open();
  const page = follow();
  page.unread = 10_000;
  for (let i = 0; i < 5; i++) {
    tell("run", `r-${i}`);
    tell("approval", `a-${i}`);
    await clock.advance(GATHER_MS);
  }
  await clock.advance(BEAT_MS);
  expect(page.lines).toEqual(["open"]);
  page.unread = 0;
  await clock.advance(BEAT_MS);
  expect(page.lines.slice(1)).toEqual(["keep-alive", ["runs", null, 5], ["approvals", null, 5]]);
  tell("run", "r-9");
  expect(page.lines.at(-1)).toEqual(["runs", "r-9", 1]);
});

test("a reader is slow beyond 8 KiB, and then until its next comment", async () => {
  const { clock, follow, tell } = open();
  const page = follow();
  page.unread = 8 * 1_024;
  tell("run", "r-1");
  page.unread += 1;
  tell("approval", "a-1");
  page.unread = 0;
  await clock.advance(GATHER_MS);
  tell("run", "r-2");
  // What was missed comes before what is new.
  expect(page.lines).toEqual(["open", ["runs", "r-1", 1]]);
  await clock.advance(BEAT_MS);
  const missed = [
    ["approvals", null, 1],
    ["runs", null, 1],
  ];
  expect(page.lines.slice(2)).toEqual(["keep-alive", ...missed]);
});

test("a page that leaves while its caller is checked is told nothing more", async () => {
  const { clock, follow } = open();
  const page = follow();
  Object.defineProperty(page, "isInForce", {
    get() {
      page.leave();
      return true;
    },
  });
  await clock.advance(BEAT_MS);
  expect([page.lines, page.isClosed, clock.pending()]).toEqual([["open"], true, 0]);
});

test("one that reads nothing for half a minute loses its place", async () => {
  const { clock, follow } = open();
  const page = follow();
  page.unread = 1;
  await clock.advance(10 * BEAT_MS);
  page.unread = 0;
  await clock.advance(BEAT_MS);
  page.unread = 1;
  await clock.advance(10 * BEAT_MS);
  expect(page.isClosed).toBeFalse();
  await clock.advance(BEAT_MS);
  expect(page.isClosed).toBeTrue();
});

test("a comment comes every three seconds, while the caller is in force", async () => {
  const { clock, listeners, follow } = open();
  const page = follow();
  await clock.advance(BEAT_MS);
  expect(page.lines).toEqual(["open", "keep-alive"]);
  page.isInForce = false;
  await clock.advance(BEAT_MS);
  expect([page.lines.length, page.isClosed, listeners.size]).toEqual([2, true, 0]);
});

test("what only memory knows of the models is looked at each second", async () => {
  const { clock, follow, turnModel } = open();
  const { lines } = follow();
  await clock.advance(2_000);
  expect(lines.splice(0)).toEqual(["open"]);
  turnModel("10");
  await clock.advance(1_000);
  expect(lines.splice(0)).toContainEqual(["models", null, 1]);
  await clock.advance(2_000);
  expect(lines.filter((line) => Array.isArray(line))).toEqual([]);
});

test("a caller who has left before its stream was opened takes no place", () => {
  const { listeners, follow } = open();
  for (let n = 0; n < 20; n++) follow("operator", "o-1", true);
  expect(listeners.size).toBe(0);
  follow();
  expect(listeners.size).toBeGreaterThan(0);
});

test("there are so many streams, and so many of one operator", () => {
  const { feed, follow } = open();
  const own = Array.from({ length: 16 }, () => follow());
  expect(() => follow()).toThrow("Too many pages");
  own[0]!.leave();
  follow();
  for (let i = 0; i < 48; i++) follow("operator", `o-${i % 4}x`);
  expect(() => follow("operator", "late")).toThrow("Too many pages");
  feed.stop();
  expect(own[1]!.isClosed).toBeTrue();
  expect(() => follow()).toThrow();
});

test("a page that leaves while its caller is checked is told nothing more", async () => {
  const { clock, follow } = open();
  const page = follow();
  const answer = Promise.withResolvers<boolean>();
  Object.assign(page, { isInForce: answer.promise });
  await clock.advance(BEAT_MS);
  page.leave();
  const told = [...page.lines];
  answer.resolve(true);
  await clock.advance(0);
  expect([page.lines, clock.pending()]).toEqual([told, 0]);
});
