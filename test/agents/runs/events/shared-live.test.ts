// Live text of runs that other processes execute, told through a real Valkey server.
import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { RedisClient } from "bun";
import { deltaFrame } from "../../../../src/agents/runs/events/frames.ts";
import { LiveRuns } from "../../../../src/agents/runs/events/live.ts";
import type { ReplyNews } from "../../../../src/agents/runs/events/live-mirror.ts";
import { Outlets } from "../../../../src/agents/runs/events/live-outlet.ts";
import type { LiveReader } from "../../../../src/agents/runs/events/live-reader.ts";
import { SharedLive } from "../../../../src/agents/runs/events/shared-live.ts";
import type { StepRow } from "../../../../src/agents/runs/step.ts";
import { cleanText } from "../../../../src/agents/tools/output.ts";
import { createSystemClock } from "../../../../src/platform/clock.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createDraw } from "../../../support/draw.ts";
import { countRounds } from "../../../support/rounds.ts";
import { HAS_VALKEY, startValkey, type TestValkey } from "../../../support/valkey.ts";
import { ask, follow, makeRow, rebuild, sum, text } from "./live-client.ts";

type Subscribe = (channel: string, take: RedisClient.StringPubSubListener) => Promise<number>;

test("pieces that wait too long for a slow connection become a snapshot", () => {
  const live = new LiveRuns();
  const outlets = new Outlets(live, () => {});
  outlets.add(["r"], true);
  const { send, end } = ask(live);
  const take = () => JSON.parse(outlets.take()) as ReplyNews;
  expect(take()).toMatchObject({ run: "r", snapshot: { index: 0, text: "", after_seq: 0 } });
  send(text("a"), text("b"));
  expect(take()).toMatchObject({ from: 0, pieces: [{ index: 1, text: "ab" }] });
  const long = "c".repeat(1_000);
  for (let n = 0; n < 100; n++) send(text(long));
  end();
  const { snapshot, pieces, end: isWhole } = take();
  expect([snapshot!.text, pieces, isWhole]).toEqual([`ab${long.repeat(100)}`, undefined, true]);
  expect(outlets.hasNews).toBe(false);
});

test("a Valkey that takes connections and answers nothing delays no start", async () => {
  using frozen = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const lines: string[] = [];
  const shared = new SharedLive({
    ...{ url: `redis://127.0.0.1:${frozen.port}`, installation: "i", id: "p" },
    ...{ live: new LiveRuns(), writeDelta: deltaFrame },
    log: createLog(createSystemClock(), (line) => void lines.push(line), false),
  });
  shared.start();
  const client = follow(Object.assign(new LiveRuns(), { others: shared }));
  while (lines.length === 0) await new Promise(setImmediate);
  expect(client.frames).toEqual([]);
  await shared.stop();
  expect(lines.filter((line) => line.includes("replies of other servers come whole")).length).toBe(
    1,
  );
});

if (HAS_VALKEY) describe("two processes", testProcesses);
else test.skip("skipped: it needs a Valkey or Redis server", () => {});

function testProcesses(): void {
  let valkey: TestValkey;
  let opened = 0;
  const cleanUp: (() => unknown)[] = [];
  beforeAll(async () => {
    valkey = await startValkey();
  });
  afterEach(async () => {
    for (const end of cleanUp.splice(0).reverse()) await end();
  });
  afterAll(() => valkey.stop());

  const openProcess = async (installation = "i", renewEveryMs = 200) => {
    const live = new LiveRuns();
    const lines: string[] = [];
    const log = createLog(createSystemClock(), (line) => void lines.push(line), false);
    const id = `p${++opened}`;
    const { url } = valkey;
    const options = { url, installation, id, live, log, renewEveryMs, writeDelta: deltaFrame };
    const shared = new SharedLive(options);
    live.others = shared;
    shared.start();
    cleanUp.push(() => shared.stop());
    return { live, shared, lines };
  };
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise(setImmediate);
  };
  /** The step of the reply, as the database tells it. */
  const step = (seq: number, round: number, content: string) =>
    ({ kind: "assistant", seq, round, data: { content, tool_calls: [] } }) as unknown as StepRow;
  const takeStep = (reader: LiveReader, row: StepRow) => {
    reader.complete([row]);
    reader.advance(row.seq);
  };

  test("text and calls of a reply reach who follows at another process, whole and in order", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const client = follow(other.live);
    const { reply, send, end } = ask(one.live);
    send(text("Good "));
    await until(() => client.frames.length > 0);
    send(text("day"), { kind: "call", index: 0, id: "c", name: "add", arguments: "{" });
    send({ kind: "call", index: 0, arguments: "}" }, text("!"));
    await until(() => rebuild(client.frames)?.text === "Good day!");
    expect(rebuild(client.frames)).toEqual({ text: "Good day!", calls: ["add({}"] });
    // What the Console reads once a second.
    expect(other.live.read("r")).toEqual(one.live.read("r")!);
    expect(reply.onPiece).not.toBeNull();
    end();
    await until(() => other.live.read("r") === undefined);
    const next = ask(one.live, makeRow({ usage: { rounds: 1 }, last_seq: 3 }));
    client.reader.advance(3);
    next.send(text("Later"));
    await until(() => rebuild(client.frames, 2)?.text === "Later");
  });

  test("who comes in the middle of a round gets one snapshot, then pieces", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const { send } = ask(one.live);
    send(text("One "), { kind: "call", index: 0, id: "c", name: "add", arguments: "{" });
    const client = follow(other.live);
    await until(() => client.frames.length === 1);
    expect(sum(client.frames[0]!)).toBe("snapshot 2 One ");
    send(text("two"));
    await until(() => client.frames.length === 2);
    expect(client.frames[1]).toMatchObject({ type: "message.delta", round: 1, index: 2 });
    const late = follow(other.live);
    expect(late.frames.map(sum)).toEqual(["snapshot 3 One two"]);
  });

  test("what is asked for while a process still connects is told once it has", async () => {
    const other = await openProcess();
    const client = follow(other.live);
    while (((await valkey.send("PUBSUB", "CHANNELS", "*:p*")) as string[]).length === 0);
    const { subscribe } = RedisClient.prototype;
    const heard = Promise.withResolvers<void>();
    using _ = spyOn(RedisClient.prototype, "subscribe").mockImplementation(async function (
      this: RedisClient,
      channel: string,
      take: RedisClient.StringPubSubListener,
    ) {
      const listening = await (subscribe as Subscribe).call(this, channel, (text, from) => {
        take(text, from);
        if (text.includes('"runs":["r"]')) heard.resolve();
      });
      await heard.promise;
      return listening;
    } as never);
    const one = await openProcess();
    ask(one.live).send(text("Hel"));
    await until(() => rebuild(client.frames)?.text === "Hel");
  });

  test("the pieces of a turn are one piece", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const client = follow(other.live);
    const { send } = ask(one.live);
    await until(() => client.frames.length === 1);
    send(text("a"), text("b"), text("c"));
    await until(() => client.frames.length > 1);
    expect(client.frames.map(sum)).toEqual(["snapshot 0 ", "delta 2 abc"]);
  });

  test("while nobody at another process follows, a piece costs no more than one look", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const { reply, send } = ask(one.live);
    send(text("a"));
    expect(reply.onPiece).toBeNull();
    const client = follow(other.live);
    await until(() => reply.onPiece !== null);
    client.leave();
    await until(() => reply.onPiece === null);
    // A read asks for five seconds, as somebody does who looks at the Console.
    other.live.read("r");
    await until(() => other.live.read("r")?.text === "a");
    // Other data may use the same Valkey.
    const foreign = await openProcess("j");
    const stranger = follow(foreign.live);
    await until(() => other.live.read("r")?.text === "a");
    expect(stranger.frames).toEqual([]);
  });

  test("a process that is gone is told nothing more", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const { reply, send } = ask(one.live);
    follow(other.live);
    await until(() => reply.onPiece !== null);
    await other.shared.stop();
    send(text("a"));
    await until(() => reply.onPiece === null);
  });

  test("a run that another process takes over goes on with a snapshot", async () => {
    const [one, next, other] = [await openProcess(), await openProcess(), await openProcess()];
    const client = follow(other.live);
    const lost = ask(one.live);
    lost.send(text("Half a"));
    await until(() => rebuild(client.frames)?.text === "Half a");
    // The takeover has written a step, and the frozen process wakes.
    const { send, end } = ask(next.live, makeRow({ last_seq: 1 }));
    client.reader.advance(1);
    send(text("Who"));
    await until(() => rebuild(client.frames)?.text === "Who");
    lost.send(text(" reply"));
    send(text("le"));
    lost.end(false);
    await until(() => rebuild(client.frames)?.text === "Whole");
    end();
    await until(() => other.live.read("r") === undefined);
    expect(rebuild(client.frames)!.text).toBe("Whole");
    // And the run may come to the process of the follower.
    const own = ask(other.live, makeRow({ usage: { rounds: 1 }, last_seq: 1 }));
    own.send(text("Own"));
    expect(rebuild(client.frames, 2)!.text).toBe("Own");
  });

  test("without Valkey live text ends, the step tells the whole text, and it goes on afterwards", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const client = follow(other.live);
    const { send, end } = ask(one.live);
    send(text("Hel"));
    await until(() => rebuild(client.frames)?.text === "Hel");
    await valkey.stop();
    await until(() => other.live.read("r") === undefined);
    send(text("lo"));
    end();
    takeStep(client.reader, step(3, 1, "Hello"));
    expect(rebuild(client.frames)!.text).toBe("Hello");
    const next = ask(one.live, makeRow({ usage: { rounds: 1 }, last_seq: 3 }));
    next.send(text("Good "));
    await valkey.start();
    await until(() => rebuild(client.frames, 2)?.text === "Good ");
    next.send(text("day"));
    await until(() => rebuild(client.frames, 2)?.text === "Good day");
    expect(one.lines.concat(other.lines).filter((line) => line.includes('"error"'))).toEqual(
      one.lines.concat(other.lines).filter((line) => line.includes("come whole")),
    );
  });

  test("pieces never come behind the step of their reply", async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const client = follow(other.live);
    const { send, end } = ask(one.live);
    send(text("Half a"));
    await until(() => client.frames.length > 0);
    send(text(" reply"));
    end();
    takeStep(client.reader, step(2, 1, "Half a reply"));
    const { length } = client.frames;
    expect(rebuild(client.frames)!.text).toBe("Half a reply");
    await until(() => other.live.read("r") === undefined);
    expect(client.frames.length).toBe(length);
  });

  test("text rebuilt at random processes, left and joined at random points, is the final text", async () => {
    const processes = [await openProcess(), await openProcess(), await openProcess()];
    const draw = createDraw(2610);
    const pick = <T>(list: readonly T[]) => list[Math.floor(draw() * list.length)]!;
    const parts = ["word ", "\ud83d", "\ude00", "\0", "é", '"', "", "\ud83d\ude00"];
    for (let times = 0; times < countRounds(40); times++) {
      const id = `r${times}`;
      const row = makeRow({ id });
      const clients = [follow(pick(processes).live, 0, id)];
      const { send, end } = ask(pick(processes).live, row);
      for (let n = 0; n < 40; n++) {
        const act = draw();
        if (act < 0.1) clients.push(follow(pick(processes).live, 0, id));
        else if (act < 0.2) {
          // Its reconnect goes to another process.
          const gone = pick(clients);
          gone.leave();
          clients[clients.indexOf(gone)] = follow(pick(processes).live, 0, id);
        } else if (act < 0.3) pick(clients).unread = draw() < 0.5 ? 0 : 100_000;
        else if (act < 0.5) await new Promise(setImmediate);
        else send(text(pick(parts)));
      }
      const content = cleanText(end().content ?? "");
      for (const client of clients) client.unread = 0;
      const isWhole = ({ frames }: (typeof clients)[number]) =>
        frames.length === 0 || rebuild(frames)!.text === content;
      // Pieces alone are enough; in the other half of the times the step may come first.
      if (times % 2 === 0) await until(() => clients.every(isWhole));
      for (const { reader, frames } of clients) {
        takeStep(reader, step(1, 1, content));
        const shown = rebuild(frames);
        if (shown) expect(shown.text).toBe(content);
      }
      for (const { leave } of clients) leave();
      for (const { live } of processes) live.leave(id);
    }
  });
}
