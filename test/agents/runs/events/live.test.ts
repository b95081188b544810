// Replies under way, without sockets: their followers, slow ones, and those who come and go.
import { expect, test } from "bun:test";
import { LiveRuns } from "../../../../src/agents/runs/events/live.ts";
import { LiveReader } from "../../../../src/agents/runs/events/live-reader.ts";
import type { RunRow } from "../../../../src/agents/runs/run.ts";
import { cleanText } from "../../../../src/agents/tools/output.ts";
import { createDraw } from "../../../support/draw.ts";
import { countRounds } from "../../../support/rounds.ts";
import { ask, follow, makeRow, rebuild, sum, text } from "./live-client.ts";

test("pieces come as they are written, behind one snapshot with which a stream begins", () => {
  const live = new LiveRuns();
  const client = follow(live);
  const first = ask(live);
  first.send(text("Good "), text("day"));
  first.end();
  const second = ask(live, makeRow({ usage: { rounds: 1 } }));
  second.send({ kind: "call", index: 0, id: "c", name: "add", arguments: "{" });
  second.send({ kind: "call", index: 0, arguments: "}" });
  second.end();
  expect(client.frames.map(sum)).toEqual([
    ...["snapshot 0 ", "delta 0 Good ", "delta 1 day", "delta 0 ", "delta 1 "],
  ]);
  expect(client.frames.slice(3).map(({ round, tool_call }) => [round, tool_call])).toEqual([
    [2, { index: 0, id: "c", name: "add", arguments: "{" }],
    [2, { index: 0, arguments: "}" }],
  ]);
});

test("who comes in the middle of a round gets one snapshot, then pieces", () => {
  const live = new LiveRuns();
  const { send } = ask(live);
  send(text("One "), { kind: "call", index: 0, id: "c", name: "add", arguments: "{" });
  const client = follow(live);
  send(text("two"));
  expect(client.frames).toEqual([
    {
      ...{ type: "message.snapshot", round: 1, index: 2, text: "One " },
      tool_calls: [{ id: "c", name: "add", arguments: "{" }],
    },
    { type: "message.delta", round: 1, index: 2, text: "two" },
  ]);
});

test("a round that is tried again begins with an empty snapshot", () => {
  const live = new LiveRuns();
  const client = follow(live);
  const failed = ask(live);
  failed.send(text("Half a"));
  failed.end(false);
  const again = ask(live);
  again.send(text("Whole"));
  again.end();
  expect(client.frames.map(sum)).toEqual([
    ...["snapshot 0 ", "delta 0 Half a", "snapshot 0 ", "delta 0 Whole"],
  ]);
});

test("a slow reader gets a snapshot instead of a backlog, at the latest at the end", () => {
  const live = new LiveRuns();
  const [slow, slower] = [follow(live), follow(live)];
  const { send, end } = ask(live);
  send(text("a"));
  slow.unread = slower.unread = 100_000;
  for (let n = 0; n < 1_000; n++) send(text("b"));
  slow.unread = 0;
  send(text("c"));
  send(text("d"));
  end();
  const long = `a${"b".repeat(1_000)}c`;
  expect(slow.frames.map(sum)).toEqual([
    ...["snapshot 0 ", "delta 0 a", `snapshot 1002 ${long}`, "delta 1002 d"],
  ]);
  expect(slower.frames.map(sum)).toEqual([
    ...["snapshot 0 ", "delta 0 a", `snapshot 1003 ${long}d`],
  ]);
});

test("a reader is slow with more than 64 KiB unread", () => {
  const live = new LiveRuns();
  const [quick, slow] = [follow(live), follow(live)];
  const { send } = ask(live);
  quick.unread = 65_536;
  slow.unread = 65_537;
  send(text("a"));
  expect([quick.frames.map(sum), slow.frames.map(sum)]).toEqual([
    ...[["snapshot 0 ", "delta 0 a"], ["snapshot 0 "]],
  ]);
});

test("pieces of a round wait for the steps before it", () => {
  const live = new LiveRuns();
  const client = follow(live, 3);
  const { send, end } = ask(live, makeRow({ usage: { rounds: 1 }, last_seq: 5 }));
  send(text("too "), text("early"));
  client.reader.advance(4);
  expect(client.frames).toEqual([]);
  client.reader.advance(5);
  send(text("!"));
  end();
  expect(client.frames.map(sum)).toEqual(["snapshot 2 too early", "delta 2 !"]);
});

test("nothing of a round comes behind its end", () => {
  const live = new LiveRuns();
  const late = follow(live, 3);
  const { send, end } = ask(live, makeRow({ last_seq: 5 }));
  send(text("x"));
  end();
  const later = follow(live, 9);
  // The steps that come now are those of the reply.
  late.reader.advance(9);
  expect([late.frames, later.frames, live.read("r")]).toEqual([[], [], undefined]);
});

test("text rebuilt from snapshots and pieces is the final text, however clients come, go and read", () => {
  const draw = createDraw(26);
  const pick = <T>(list: readonly T[]) => list[Math.floor(draw() * list.length)]!;
  const parts = ["word ", "\ud83d", "\ude00", "\0", "é", '"', "", "\ud83d\ude00"];
  for (let times = 0; times < countRounds(500); times++) {
    const live = new LiveRuns();
    const clients = new Set([follow(live)]);
    const { send, end } = ask(live);
    for (let n = 0; n < 40; n++) {
      const act = draw();
      if (act < 0.1) clients.add(follow(live));
      else if (act < 0.2 && clients.size > 1) {
        const gone = pick([...clients]);
        gone.leave();
        clients.delete(gone);
      } else if (act < 0.4) pick([...clients]).unread = draw() < 0.5 ? 0 : 100_000;
      else if (act < 0.5) {
        send({
          kind: "call",
          index: 0,
          ...(n < 9 && { id: "c", name: "f" }),
          arguments: pick(parts),
        });
      } else send(text(pick(parts)));
    }
    const { content } = end();
    for (const { frames } of clients) expect(rebuild(frames)?.text).toBe(cleanText(content ?? ""));
  }
});

test("while nobody follows a piece costs nothing, and the model is asked for whole replies after three runs", () => {
  const live = new LiveRuns();
  const run = (fields: object) => {
    const { reply, send, end } = ask(live, makeRow(fields));
    send(text("a"));
    expect(reply.onPiece).toBeNull();
    end();
    live.leave((fields as RunRow).id);
    return reply.wantsPieces;
  };
  expect(["1", "2", "3", "4"].map((id) => run({ id }))).toEqual([true, true, true, false]);
  expect(run({ id: "5", started_by_key_id: "other" })).toBe(true);
  expect(run({ id: "6", trigger_kind: "cron" })).toBe(false);
  expect(run({ id: "13", trigger_kind: "cron", started_by_key_id: "another" })).toBe(false);
  // A key that follows is expected to follow its next runs, too, however many begin at once.
  live.expect("k");
  const begun = ["8", "9", "10", "11", "12"].map((id) => ask(live, makeRow({ id })).reply);
  expect(begun.every(({ wantsPieces }) => wantsPieces)).toBe(true);
  const client = follow(live);
  expect(ask(live).reply.wantsPieces).toBe(true);
  client.leave();
  expect(ask(live, makeRow({ usage: { rounds: 1 } })).reply.wantsPieces).toBe(true);
  live.leave("r");
  expect(run({ id: "7" })).toBe(true);
});

test("who leaves is told nothing more, and the last one takes the cost with him", () => {
  const live = new LiveRuns();
  const { reply, send } = ask(live);
  const [one, other] = [follow(live), follow(live)];
  send(text("a"));
  one.leave();
  send(text("b"));
  expect([one.frames.length, other.frames.length, reply.onPiece === null]).toEqual([2, 3, false]);
  other.leave();
  expect(reply.onPiece).toBeNull();
});

test("a bug of one follower reaches neither the run nor others", () => {
  const live = new LiveRuns();
  const bugs: unknown[] = [];
  const events = {
    countUnread() {
      throw new Error("a bug");
    },
  };
  const broken = new LiveReader({ events, pass() {} }, 0);
  live.follow(
    "r",
    broken.guard((bug) => bugs.push(bug)),
  );
  const sound = follow(live);
  const { send, end } = ask(live);
  send(text("a"));
  end();
  expect(sound.frames.map(sum)).toEqual(["snapshot 0 ", "delta 0 a"]);
  expect(bugs.length).toBeGreaterThan(0);
});

test("what a lost execution of a run still writes disturbs no stream of its next one", () => {
  const live = new LiveRuns();
  const client = follow(live);
  const lost = ask(live);
  lost.send(text("old"));
  const next = ask(live);
  lost.send(text(" text"));
  next.send(text("Hel"));
  lost.end(false);
  next.send(text("lo"));
  next.end();
  expect(rebuild(client.frames)!.text).toBe("Hello");
});

test("the unfollowed runs of at most 10,000 keys are remembered", () => {
  const live = new LiveRuns();
  const run = (started_by_key_id: string) => {
    const { wantsPieces } = live.begin(makeRow({ started_by_key_id }));
    live.leave("r");
    return wantsPieces;
  };
  for (let n = 0; n < 3; n++) run("k");
  for (let n = 0; n < 9_998; n++) run(`k-${n}`);
  expect(run("k")).toBe(false);
  for (const key of ["the last", "one more"]) run(key);
  expect(run("k")).toBe(true);
});
