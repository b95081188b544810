// Tests managed servers from the settings: their requests, shared starts, and reloads.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Database, openDatabase } from "../../../src/database/index.ts";
import { isServerUp } from "../../../src/models/autostart/start-plan.ts";
import { managedServerStore } from "../../../src/models/autostart/store.ts";
import { buildModels } from "../../../src/models/index.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { readSettings, type StartSettings } from "../../../src/settings/index.ts";
import { stores } from "../../../src/stores.ts";
import { ALONE } from "../../support/alone.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";
import { placeInMemory } from "../../support/memory.ts";
import { answerText, type ScriptedUpstream, startUpstream } from "../../support/upstream.ts";

let upstream: ScriptedUpstream;
let database: Database;
let clock: ReturnType<typeof createManualClock>;
let isUp: boolean;
beforeEach(async () => {
  isUp = false;
  clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  database = await openDatabase({ place: await placeInMemory(), stores, clock, onFailure });
  upstream = startUpstream(({ path }) => {
    if (path === "/ready") return new Response(null, { status: isUp ? 204 : 503 });
    if (path.startsWith("/v1/")) return answerText("Hello");
    if (path === "/alive") return new Response();
    isUp = path !== "/sleep";
    return new Response("done");
  });
});
afterEach(async () => {
  await database.close();
  await upstream.stop();
});

/** Models by id, each with its lines of `start`. */
function write(models: Record<string, string>, more = ""): string {
  const base = upstream.url.slice(0, -"/v1".length);
  return Object.entries(models)
    .map(
      ([id, lines]) => `
[[models]]
id = "${id}"
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
[models.upstream.start]
health = "${base}/ready"
${lines.replaceAll("BASE", base)}
`,
    )
    .join("")
    .concat(more);
}

async function build(text: string) {
  const read = (next: string) => readSettings(next, "wadi.toml", {}, {});
  const lines: string[] = [];
  const log = createLog(clock, (line) => void lines.push(line), true);
  const egress = createTrustedEgress({ clock });
  const ids = createSeededIds();
  const deps = { database, process: ALONE, egress, clock, ids, log };
  const models = await buildModels({ settings: read(text), ...deps });
  await models.service.start();
  const ask = (id: string) => {
    const { backend: supply } = models.registry.resolve(id).model;
    return supply.complete(
      createAsk("Hi", { request_id: id }),
      () => {},
      new AbortController().signal,
    );
  };
  const until = async (hasHappened: () => boolean) => {
    while (!hasHappened()) {
      // Time stands still: only pending requests arrive.
      await clock.advance(0);
    }
  };
  return { models, lines, ask, until, change: (next: string) => models.change(read(next)) };
}
/** Advances this number of seconds, each with time for a round trip. */
async function pass(seconds: number) {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000);
    await (await fetch(`${upstream.url}/ping`)).text();
  }
}
const paths = () => upstream.asked.map(({ path }) => path);
const count = (path: string) => paths().filter((one) => one === path).length;
const WAKE = 'request = "POST BASE/wake?level=2"';

describe("models with the same start", () => {
  test("share one managed server, which is started once", async () => {
    const { ask, lines } = await build(write({ one: WAKE, two: WAKE }));
    const endings = await Promise.all([ask("one"), ask("two"), ask("one")]);
    expect(endings.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(count("/wake")).toBe(1);
    // Addresses may hold secrets, so none is stored.
    const [row] = await database.bind(managedServerStore).list();
    expect(row!.id).toMatch(/^[0-9a-f]{64}$/);
    expect(lines.join("")).toContain(`upstream=${new URL(upstream.url).host} `);
    expect(lines.join("")).not.toMatch(/wake|ready|level/);
  });

  test("and those with another do not", async () => {
    const { ask } = await build(write({ one: WAKE, two: 'request = "GET BASE/load?model=two"' }));
    expect((await ask("one")).ok).toBe(true);
    isUp = false;
    expect((await ask("two")).ok).toBe(true);
    expect([count("/wake"), count("/load")]).toEqual([1, 1]);
  });
});

describe("a reload", () => {
  test("of another model neither starts nor forgets a server", async () => {
    const { ask, change } = await build(write({ one: WAKE }));
    await ask("one");
    const other = '[[models]]\nid = "other"\nupstream = { kind = "stub" }\n';
    await change(write({ one: WAKE }, other));
    await change(write({ two: WAKE }, other));
    await ask("two");
    expect([count("/wake"), count("/v1/chat/completions")]).toEqual([1, 2]);
  });

  test("during a start keeps it, and its waiting callers", async () => {
    const gate = Promise.withResolvers<Response>();
    const { script } = upstream;
    upstream.script = (asked) => (asked.path === "/wake" ? gate.promise : script(asked));
    const { ask, change, until } = await build(write({ one: WAKE }));
    const before = ask("one");
    await until(() => count("/wake") === 1);
    await change(write({ one: `${WAKE}\ntimeout = "5m"` }));
    const after = ask("one");
    isUp = true;
    gate.resolve(new Response());
    const endings = Promise.all([before, after]);
    while (Bun.peek.status(endings) === "pending") await clock.advance(1_000);
    expect((await endings).map(({ ok }) => ok)).toEqual([true, true]);
    expect(count("/wake")).toBe(1);
  });

  test("changes when a server is stopped", async () => {
    const stops = `${WAKE}\nstop = "POST BASE/sleep"\nmin_up = "0s"`;
    const { ask, change, until } = await build(write({ one: stops }));
    await ask("one");
    await pass(120);
    expect(count("/sleep")).toBe(0);
    await change(write({ one: `${stops}\nidle_stop = "60s"` }));
    await until(() => count("/sleep") === 1);
    await ask("one");
    expect(count("/wake")).toBe(2);
  });

  test("without its model leaves a server as it is, and ends its checks", async () => {
    const { ask, change, until } = await build(write({ one: WAKE }));
    await ask("one");
    await change('[[models]]\nid = "other"\nupstream = { kind = "stub" }\n');
    const before = upstream.asked.length;
    await clock.advance(60_000);
    await until(() => clock.pending() === 0);
    expect(upstream.asked.length).toBe(before);
  });
});

test("while another process may use them no idle server is stopped, nor one of a reload", async () => {
  const lines = 'stop = "POST BASE/sleep"\nmin_up = "0s"\nidle_stop = "60s"';
  const { models, ask, change, until } = await build(write({ one: `${WAKE}\n${lines}` }));
  await ask("one");
  models.keepServers(true);
  await pass(120);
  await change(write({ two: `request = "GET BASE/load"\n${lines}` }));
  expect((await ask("two")).ok).toBe(true);
  await pass(120);
  expect(count("/sleep")).toBe(0);
  models.keepServers(false);
  await until(() => count("/sleep") === 1);
});

test("the replicas of a managed server are checked while it is up, and not while it sleeps", async () => {
  const START = "[models.upstream.start]";
  const text = write({ one: WAKE }).replace(START, `health = "/alive"\n${START}`);
  const { ask, until } = await build(text);
  await pass(30);
  expect(count("/alive")).toBe(0);
  await ask("one");
  await until(() => count("/alive") === 1);
  isUp = false;
  await pass(25);
  const looks = count("/alive");
  await pass(30);
  expect(count("/alive")).toBe(looks);
});

test("a look at the health of a server ends without an answer in five seconds", async () => {
  upstream.script = () => new Promise(() => {});
  const { models } = readSettings(write({ one: WAKE }), "wadi.toml", {}, {});
  const start = (models[0]!.upstream as { start: StartSettings }).start;
  const look = isServerUp(start, { egress: createTrustedEgress({ clock }), clock });
  let isUpNow: boolean | undefined;
  void look.then((found) => {
    isUpNow = found;
  });
  while (count("/ready") === 0) await clock.advance(0);
  await clock.advance(4_999);
  expect(isUpNow).toBeUndefined();
  await clock.advance(1);
  expect([await look, clock.pending()]).toEqual([false, 0]);
});

test("a refused start reports the status, without an address or the server's text", async () => {
  upstream.script = ({ path }) =>
    path === "/ready"
      ? new Response(null, { status: 503 })
      : new Response("at 10.9.8.7", { status: 500 });
  const { ask } = await build(write({ one: WAKE }));
  expect(await ask("one")).toMatchObject({
    code: "model_offline",
    reason: "its unit did not start: it answered with status 500",
  });
});

test("a failed command is a failed start", async () => {
  const { ask } = await build(write({ one: 'command = ["sh", "-c", "exit 4"]' }));
  expect(await ask("one")).toMatchObject({
    code: "model_offline",
    reason: "its unit did not start: its command exited with 4",
  });
});

test("each stub with a delay has a server of its own, and one without has none", async () => {
  const write = (id: string, delay: string) =>
    `[[models]]\nid = "${id}"\nupstream = { kind = "stub", start_delay = "${delay}" }\n`;
  const text = write("one", "5s") + write("two", "5s") + write("three", "0s");
  const { models, ask } = await build(text);
  const first = ask("one");
  await clock.advance(6_000);
  expect(await first).toMatchObject({ waitedMs: 5_000 });
  const second = ask("two");
  await clock.advance(6_000);
  expect(await second).toMatchObject({ waitedMs: 5_000 });
  const { managed } = models.registry.resolve("three").model.backend;
  expect([managed, (await ask("three")).waitedMs]).toEqual([undefined, undefined]);
});

test("a stub that was started stays up when its settings change", async () => {
  const write = (delay: string, pace: number) =>
    `[[models]]\nid = "one"\n` +
    `upstream = { kind = "stub", start_delay = "${delay}", tokens_per_second = ${pace} }\n`;
  const { ask, change } = await build(write("5s", 0));
  const first = ask("one");
  await clock.advance(6_000);
  expect(await first).toMatchObject({ ok: true, waitedMs: 5_000 });
  await change(write("5s", 1_000));
  await clock.advance(60_000);
  const again = ask("one");
  await clock.advance(1_000);
  expect(await again).toMatchObject({ ok: true });
  expect((await again).waitedMs).toBeUndefined();
});
