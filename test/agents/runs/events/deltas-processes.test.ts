// Event streams and waits at a server that does not execute the run, beside the one that does.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { DatabaseLocation } from "../../../../src/database/index.ts";
import type { Json } from "../../../spec/agents/runs-front.ts";
import { startApp, type TestApp } from "../../../support/app.ts";
import { type Ground, openServer } from "../../../support/database.ts";
import { createDraw } from "../../../support/draw.ts";
import { readEvents } from "../../../support/event-reader.ts";
import { countRounds } from "../../../support/rounds.ts";
import { startUpstream, USAGE, writeFrame } from "../../../support/upstream.ts";
import { HAS_VALKEY, startValkey, type TestValkey } from "../../../support/valkey.ts";
import { type Frame, rebuild } from "./live-client.ts";

const SERVER = process.env.WADI_TEST_POSTGRES;

if (SERVER && HAS_VALKEY) describe("two servers", () => testServers(SERVER));
else test.skip("skipped: it needs WADI_TEST_POSTGRES and a Valkey or Redis server", () => {});

function testServers(server: string): void {
  let ground: Ground;
  let valkey: TestValkey;
  let agent: Json;
  const apps: TestApp[] = [];
  const waiting: ((sink: ReadableStreamDefaultController<string>) => void)[] = [];
  const rounds: ReadableStreamDefaultController<string>[] = [];
  const upstream = startUpstream(() => {
    const stream = new ReadableStream<string>({
      start(sink) {
        const next = waiting.shift();
        if (next) next(sink);
        else rounds.push(sink);
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  });
  /** The reply that the model server writes next. */
  const nextRound = async () => {
    const sink =
      rounds.shift() ??
      (await new Promise<ReadableStreamDefaultController<string>>((resolve) => {
        waiting.push(resolve);
      }));
    return {
      think: (reasoning_content: string) => sink.enqueue(writeFrame({ reasoning_content })),
      send: (content: string) => sink.enqueue(writeFrame({ content })),
      end() {
        sink.enqueue(writeFrame({}, "stop"));
        sink.enqueue(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
        sink.close();
      },
    };
  };
  const read = async (response: Promise<Response>) => (await response).json() as Promise<Json>;
  const begin = (app: TestApp, headers = {}) =>
    read(app.post(`/v1/agents/${agent.id}/runs`, { input: { message: "Go" } }, { headers }));
  const follow = async (app: TestApp, { id }: Json) =>
    readEvents(await app.get(`/v1/runs/${id}/events?deltas=true`));

  beforeAll(async () => {
    ground = openServer(server);
    valkey = await startValkey();
    const place = { ...(await ground.makePlace()), isShared: true, connectionsMax: 4 };
    const settings = `[server]
database = "postgres://h/d"
valkey = "${valkey.url}"
[[models]]
id = "own"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "openai", urls = ["${upstream.url}"], model = "m" }
`;
    for (const seed of [1, 2]) {
      const options = { place: place as DatabaseLocation, settings, seed, listens: true };
      apps.push(await startApp({ ...options, start_ms: Date.now(), isDoubled: false }));
    }
    const made = { name: "Clerk", model: "own", system_prompt: "You are brief." };
    agent = await read(apps[0]!.post("/v1/agents", made));
  });
  afterAll(async () => {
    for (const app of apps) await app.stop();
    await valkey.stop();
    await upstream.stop();
    await ground.release();
  });

  test("text comes at both while it is written, without reasoning, and the Console reads it at both", async () => {
    const run = await begin(apps[0]!);
    const { think, send, end } = await nextRound();
    const streams = await Promise.all(apps.map((app) => follow(app, run)));
    for (const one of streams) await one.until((frame) => frame.type === "message.snapshot");
    think("secret thoughts");
    send("Good ");
    const seen = await Promise.all(streams.map((one) => one.until(({ text }) => text === "Good ")));
    for (const { app } of apps) {
      // At the server that does not execute the run, a read is what asks for it.
      while ((await app.admin.runs.readLive(run.id))?.text !== "Good ");
    }
    send("day");
    end();
    for (const [at, one] of streams.entries()) {
      const frames = seen[at]!.concat(await one.rest());
      const live = frames.filter(({ round }) => round !== undefined);
      expect(rebuild(live)!.text).toBe("Good day");
      expect(JSON.stringify(frames)).not.toContain("secret thoughts");
      // Pieces stand before the step of their reply.
      const last = frames.indexOf(live.at(-1));
      expect(frames.findIndex(({ step }) => step?.kind === "assistant")).toBeGreaterThan(last);
    }
  });

  test("reconnects at random points to either server rebuild exactly the final text", async () => {
    const draw = createDraw(26);
    const words = ["word ", "😀", "é", '"', "\n", "end. "];
    const pick = <T>(list: readonly T[]) => list[Math.floor(draw() * list.length)]!;
    for (let times = 0; times < countRounds(4); times++) {
      const run = await begin(pick(apps));
      const { send, end } = await nextRound();
      const seen: Frame[] = [];
      let stream = await follow(pick(apps), run);
      let final = "";
      for (let n = 0; n < 12; n++) {
        if (draw() < 0.4) {
          await stream.leave();
          stream = await follow(pick(apps), run);
        }
        const word = pick(words);
        final += word;
        send(word);
        // What a client keeps of an earlier stream is replaced by the snapshot of the next one.
        while (rebuild(seen)?.text !== final) {
          seen.push(...(await stream.until((frame) => frame.type.startsWith("message."))));
        }
      }
      end();
      const rest = await stream.rest();
      seen.push(...rest.filter((frame) => frame.round !== undefined));
      expect(rebuild(seen)!.text).toBe(final);
      const ended = rest.find((frame) => frame.type === "run.completed");
      expect(ended.run.output.message).toBe(final);
    }
  });

  test("`Prefer: wait` ends at either server with what the run became", async () => {
    for (const app of apps) {
      const answer = begin(app, { prefer: "wait=30" });
      const { send, end } = await nextRound();
      send("Done");
      end();
      const run = await answer;
      expect([run.status, run.output?.message]).toEqual(["succeeded", "Done"]);
    }
    const run = await begin(apps[0]!);
    const { send, end } = await nextRound();
    const running = await read(apps[0]!.get(`/v1/runs/${run.id}`));
    expect(running.status).toBe("running");
    const headers = { prefer: "wait=30" };
    const changes = apps.map((app) => read(app.get(`/v1/runs/${run.id}`, { headers })));
    send("Done");
    end();
    const ends = await Promise.all(changes);
    expect(ends.every(({ status }) => status !== "queued")).toBe(true);
    // Each later wait ends with a change, and the last one with the end.
    for (const app of apps) {
      let now: Json = running;
      while (now.status === "running") {
        now = await read(app.get(`/v1/runs/${run.id}`, { headers }));
      }
      expect(now.status).toBe("succeeded");
    }
  });
}
