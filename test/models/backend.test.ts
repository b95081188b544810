// Tests the backend of a model: what its settings change in how its servers are asked.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ManagedServers } from "../../src/models/autostart/managed-servers.ts";
import { openBackend } from "../../src/models/backend.ts";
import { SharedSlots } from "../../src/models/replicas/shared-slots.ts";
import type { SlotCounter } from "../../src/models/replicas/slot-share.ts";
import { createTrustedEgress } from "../../src/net/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { readSettings } from "../../src/settings/index.ts";
import { ALONE } from "../support/alone.ts";
import { createAsk } from "../support/ask.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { answerText, type ScriptedUpstream, startUpstream } from "../support/upstream.ts";

let upstream: ScriptedUpstream;
let database: TestDatabase;
const clock = createManualClock();
const STAYS = new AbortController().signal;

beforeEach(async () => {
  upstream = startUpstream();
  database = await openTestDatabase({ kind: "memory" });
});
afterEach(async () => {
  await database.close();
  await upstream.stop();
});

/** A backend whose model has these lines. */
function open(model: string, server: string, counter: SlotCounter | null = null) {
  const sharedSlots = new SharedSlots(clock);
  if (counter) sharedSlots.share(counter);
  const [settings] = readSettings(
    `[[models]]\nid = "one"\n${model}\n[models.upstream]\n${server}`,
    ...(["wadi.toml", {}, {}] as const),
  ).models;
  const shared = {
    ...{ clock, process: ALONE, sharedSlots, egress: createTrustedEgress({ clock }) },
    log: createLog(clock, () => {}, true),
  };
  const units = new ManagedServers({ ...shared, database });
  return openBackend(settings!, { ...shared, ids: createSeededIds(), units });
}
const write = (more = "") => `kind = "openai"\nurls = ["${upstream.url}"]\n${more}`;
/** Lets pending requests arrive; time stands still. */
const until = async (hasHappened: () => boolean) => {
  while (!hasHappened()) await clock.advance(0);
};

test("only a model that reasons has reasoning before a closing tag", async () => {
  upstream.script = () => answerText("plan</think>answer");
  const read = async (model: string, server: string, ask: string) => {
    let text = "";
    const backend = open(model, server);
    await backend.complete(
      createAsk(ask),
      (chunk) => {
        if (chunk.kind === "text") text += chunk.text;
      },
      STAYS,
    );
    return text;
  };
  const reasons = 'capabilities = ["reasoning"]';
  expect(await read(reasons, write(), "Hi")).toBe("answer");
  expect(await read("", write(), "Hi")).toBe("plan</think>answer");
  expect(await read(reasons, 'kind = "stub"', "!say plan</think>answer")).toBe(
    "plan</think>answer",
  );
});

test("a request that has waited for a place has the rest of its time for the first token", async () => {
  const gates: (() => void)[] = [];
  upstream.script = () => new Promise((resolve) => gates.push(() => resolve(answerText("Hello"))));
  const backend = open("", write('max_in_flight = 1\nfirst_token_timeout = "10s"'));
  const call = () => backend.complete(createAsk("Hi"), () => {}, STAYS);
  const [first, second] = [call(), call()];
  await until(() => gates.length === 1);
  await clock.advance(6_000);
  gates[0]!();
  expect(await first).toMatchObject({ ok: true });
  await until(() => gates.length === 2);
  await clock.advance(3_999);
  expect(Bun.peek.status(second)).toBe("pending");
  await clock.advance(1);
  expect(await second).toMatchObject({ code: "upstream_timeout", waitedMs: 6_000 });
});

test("processes share the slots of a replica, which is named with its port", async () => {
  upstream.script = () => new Promise(() => {});
  const asked: unknown[] = [];
  const counter = {
    isSure: true,
    async reserve(name: string, { max }: { max: number }) {
      asked.push([name, max]);
      return 1;
    },
  };
  const backend = open("", write("max_in_flight = 2"), counter);
  const leaving = new AbortController();
  const calls = [1, 2].map(() => backend.complete(createAsk("Hi"), () => {}, leaving.signal));
  await until(() => backend.status!().waiting === 1);
  const [replica] = backend.status!().replicas;
  const { host } = new URL(upstream.url);
  expect(replica).toMatchObject({ name: host, inFlight: 1 });
  expect(asked[0]).toEqual([`replica:one:${host}`, 2]);
  leaving.abort();
  await Promise.all(calls);
  backend.stop();
});

test("a server that is started on demand is never down, begins anew, and is left unwatched", async () => {
  let isUp = true;
  upstream.script = ({ path }) => {
    if (path === "/sleep") isUp = false;
    if (path === "/wake") isUp = true;
    if (path === "/ready") return new Response(null, { status: isUp ? 200 : 503 });
    return new Response(null, { status: path.startsWith("/v1/") ? 500 : 200 });
  };
  const base = upstream.url.slice(0, -"/v1".length);
  const backend = open(
    "self_hosted = true",
    write(
      `[models.upstream.start]\nhealth = "${base}/ready"\n` +
        `request = "POST ${base}/wake"\nstop = "POST ${base}/sleep"`,
    ),
  );
  const replica = () => backend.status!().replicas[0]!;
  const ask = () => backend.complete(createAsk("Hi"), () => {}, STAYS);
  backend.start();
  for (let n = 0; n < 5; n++) expect(await ask()).toMatchObject({ code: "upstream_error" });
  expect(replica().isBreakerOpen).toBe(true);
  expect(backend.managed!.stopNow()).toBe(true);
  await until(() => !isUp);
  await ask();
  expect([isUp, replica().isBreakerOpen]).toEqual([true, false]);

  upstream.health = 500;
  await clock.advance(10_000);
  while (replica().isUp) await clock.advance(1_000);
  expect(backend.isDown()).toBe(false);
  backend.stop();
  expect(replica().isUp).toBe(true);
});
