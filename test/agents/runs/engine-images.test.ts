// Runs that are asked about images: fetched once, stored, shown again to later runs of the thread.
import { afterEach, describe, expect, test } from "bun:test";
import type { AgentsDeps } from "../../../src/agents/deps.ts";
import { loadImages, readData } from "../../../src/agents/runs/images.ts";
import { rebuildRound } from "../../../src/agents/runs/round-messages.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import type { GuardedFailure, GuardedOutcome } from "../../../src/net/index.ts";
import { wait } from "../../../src/platform/clock.ts";
import { verifyLog } from "./log.ts";
import { add, call, openTrial, say, script, type Trial, type TrialOptions } from "./trial.ts";

let trial: Trial;
afterEach(() => trial.close());

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const dataOf = (bytes: Uint8Array, type = "image/png") =>
  `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
const SIGN = "https://images.example.org/sign.png";
const OTHER = "https://images.example.org/other.png";
const image = (url: string, detail?: string) => ({
  type: "image_url" as const,
  image_url: { url, ...(detail !== undefined && { detail }) },
});
const text = (words: string) => ({ type: "text" as const, text: words });
const asking = (...content: NonNullable<RunRow["input"]["content"]>): Partial<RunRow> => ({
  input: { message: "What is it?", content },
});

type Answer = (
  url: string,
  turn: number,
  bytesMax: number,
  timeoutMs: number,
) => GuardedOutcome | Promise<GuardedOutcome>;
const reply = (fields: object = {}): GuardedOutcome => ({
  ...{ ok: true, url: SIGN, status: 200, headers: new Headers(), body: PNG, truncated: false },
  ...fields,
});
const fault = (code: GuardedFailure["code"], message: string): GuardedOutcome => ({
  ...{ ok: false, code, message, sent: false, status: null },
});

/** A trial whose model sees images, and the addresses that were fetched. */
async function open(answer: Answer, options: TrialOptions = {}, model = script()) {
  const asked: string[] = [];
  const egress: AgentsDeps["egress"] = {
    validate: () => ({ ok: false, reason: "not asked here" }),
    request: async ({ url, responseBytesMax, timeoutMs }) => {
      asked.push(url);
      return answer(url, asked.length - 1, responseBytesMax, timeoutMs);
    },
  };
  trial = await openTrial(model, { egress, capabilities: ["vision"], ...options });
  await trial.engine.start();
  return asked;
}
const contentOf = (at: number, message = 1) => trial.asks[at]!.messages[message]!.content;

test("an image at an address is fetched once and sent as data, in the order of the parts", async () => {
  const asked = await open(() => reply(), {}, script(call(add()), say("A sign.")));
  const fields = asking(text("Look:"), image(SIGN, "low"), text("What is it?"));
  const run = await trial.ended(await trial.run("", fields));
  expect(run).toMatchObject({ status: "succeeded", output: { message: "A sign." } });
  expect(asked).toEqual([SIGN]);
  expect(contentOf(0)).toEqual([text("Look:"), image(dataOf(PNG), "low"), text("What is it?")]);
  expect(contentOf(1)).toEqual(contentOf(0));
  await verifyLog(trial, run.id);
});

test("an image that came with the request is fetched from nowhere", async () => {
  const asked = await open(() => fault("forbidden", "No."));
  const url = dataOf(PNG);
  const fields = asking(image("data:image/png;base64,…"));
  await trial.ended(await trial.run("", fields, null, [{ place: 0, url }]));
  expect([asked, contentOf(0)]).toEqual([[], [image(url)]]);
});

test("a run that continues after a crash fetches only what is missing", async () => {
  let arrived = () => {};
  const waits = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const never = new Promise<GuardedOutcome>(() => {});
  const asked = await open((url) => {
    if (url === SIGN) return reply();
    arrived();
    return never;
  });
  const id = await trial.run("", asking(image(SIGN), image(OTHER)));
  await waits;
  await trial.stop();
  expect(asked).toEqual([SIGN, OTHER]);
  const first = trial;
  const { database, clock } = trial;
  const again = await open(() => reply(), { database, clock, seed: 2 });
  expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  expect(again).toEqual([OTHER]);
  expect(contentOf(0)).toEqual([image(dataOf(PNG)), image(dataOf(PNG))]);
  await trial.stop();
  trial = first;
});

describe("an image that cannot be read ends the run before any model is asked", () => {
  test.each<[string, GuardedOutcome, string]>([
    ["a private address", fault("forbidden", "It is not public."), "It is not public."],
    ["an unknown page", reply({ status: 404 }), "status 404"],
    ["no image", reply({ body: Buffer.from("<html>") }), "is not a PNG, JPEG, WebP or GIF image"],
    ["an image too long", reply({ truncated: true }), "longer than the 4194304 bytes"],
    [
      "a loop of redirects",
      reply({ status: 302, headers: new Headers({ location: SIGN }) }),
      "redirects more than 3 times",
    ],
  ])("with a sentence that names its part: %s", async (_, outcome, says) => {
    const asked = await open(() => outcome);
    const run = await trial.ended(await trial.run("", asking(text("Look"), image(SIGN))));
    expect(run).toMatchObject({ status: "failed", error: { code: "image_unavailable" } });
    expect(run.error!.message).toContain("`input.content.1`");
    expect(run.error!.message).toContain(says);
    expect([asked, trial.asks]).toEqual([[SIGN], []]);
    expect(run).toMatchObject({ usage: { rounds: 0 }, cost: { total: 0 } });
  });

  test.each([429, 500, 503])("after three attempts where its server answers %d", async (status) => {
    const asked = await open(() => reply({ status }));
    const id = await trial.run("", asking(image(SIGN)));
    await trial.until(async () => asked.length === 1);
    await trial.clock.advance(1_000);
    await trial.until(async () => asked.length === 2);
    await trial.clock.advance(2_000);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "image_unavailable" } });
    expect(asked).toHaveLength(3);
  });

  test("after 20 seconds in which its server is silent, without another attempt", async () => {
    const asked = await open(async (_url, _turn, _bytesMax, timeoutMs) => {
      await wait(trial.clock, timeoutMs);
      return fault("timeout", "Late.");
    });
    const id = await trial.run("", asking(image(SIGN)));
    await trial.until(async () => asked.length === 1);
    await trial.clock.advance(20_000);
    const run = await trial.ended(id);
    expect(run.error).toMatchObject({
      code: "image_unavailable",
      message: expect.stringMatching(/ Late\.$/),
    });
    expect(asked).toHaveLength(1);
  });

  test("after attempts that take 20 seconds together", async () => {
    const times: number[] = [];
    await open(async (_url, _turn, _bytesMax, timeoutMs) => {
      times.push(timeoutMs);
      await wait(trial.clock, Math.min(timeoutMs, 12_000));
      return times.length === 1 ? reply({ status: 503 }) : fault("timeout", "Late.");
    });
    const id = await trial.run("", asking(image(SIGN)));
    await trial.until(async () => times.length === 1);
    await trial.clock.advance(12_000);
    await trial.clock.advance(1_000);
    await trial.until(async () => times.length === 2);
    await trial.clock.advance(8_000);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "image_unavailable" } });
    expect(times).toEqual([20_000, 8_000]);
  });

  test("unless a later attempt succeeds", async () => {
    const asked = await open((_, turn) => (turn === 0 ? fault("timeout", "Late.") : reply()));
    const id = await trial.run("", asking(image(SIGN)));
    await trial.until(async () => asked.length === 1);
    await trial.clock.advance(1_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  });

  test("once all images of the run together are longer than 8 MiB", async () => {
    const long = Buffer.concat([PNG, Buffer.alloc(3_900_000)]);
    const bounds: number[] = [];
    await open((_url, _turn, bytesMax) => {
      bounds.push(bytesMax);
      return reply({ body: long.subarray(0, bytesMax), truncated: bytesMax < long.length });
    });
    const content = [SIGN, OTHER, SIGN].map((url) => image(url));
    const run = await trial.ended(await trial.run("", asking(...content)));
    expect(run.error!.message).toContain(`\`input.content.2\``);
    const rest = 8_388_608 - 2 * long.length;
    expect(bounds).toEqual([4_194_304, 4_194_304, rest]);
    expect(run.error!.message).toContain(`longer than the ${rest} bytes`);
  });
});

test("a run that is cancelled while it fetches ends as cancelled", async () => {
  const options: { abort?: () => void } = {};
  const asked = await open(
    () =>
      new Promise<GuardedOutcome>((resolve) => {
        options.abort = () => resolve(fault("aborted", "It was given up."));
      }),
  );
  const id = await trial.run("", asking(image(SIGN)));
  await trial.until(async () => asked.length === 1);
  await trial.cancel(id);
  options.abort!();
  expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
  expect(trial.asks).toEqual([]);
});

describe("a later run of the thread", () => {
  test("shows the model the images again, without fetching them", async () => {
    const asked = await open(() => reply());
    const { thread_id } = await trial.ended(await trial.run("", asking(image(SIGN))));
    await trial.ended(await trial.run("And its colour?", {}, thread_id));
    expect(asked).toEqual([SIGN]);
    const [, ...shown] = trial.asks[1]!.messages.map(({ content }) => content);
    expect(shown).toEqual([[image(dataOf(PNG))], "done", "And its colour?"]);
  });

  test("names an image that its model cannot see, and one that is no longer kept", async () => {
    const capabilities = ["vision"];
    await open(() => reply(), { capabilities });
    const first = await trial.run("", asking(image(SIGN)));
    const { thread_id } = await trial.ended(first);
    capabilities.pop();
    await trial.ended(await trial.run("And?", {}, thread_id));
    expect(contentOf(1)).toEqual([
      expect.objectContaining(text(expect.stringContaining("cannot see"))),
    ]);
    capabilities.push("vision");
    await trial.store.sweep("", trial.clock.now() + 1, 1);
    await trial.ended(await trial.run("And?", {}, thread_id));
    expect(contentOf(2)).toEqual([
      expect.objectContaining(text(expect.stringContaining("not kept"))),
    ]);
  });

  test("shows the newest eight of earlier images only", async () => {
    await open(() => reply());
    let thread_id: string | null = null;
    for (let n = 0; n < 3; n++) {
      const parts = Array.from({ length: 3 }, () => image(SIGN));
      thread_id = (await trial.ended(await trial.run("", asking(...parts), thread_id))).thread_id;
    }
    await trial.ended(await trial.run("And?", {}, thread_id));
    const parts = trial.asks[3]!.messages.flatMap(({ content }) =>
      Array.isArray(content) ? content.map(({ type }) => type) : [],
    );
    expect(parts).toEqual([...Array(3).fill("text"), ...Array(6).fill("image_url")]);
  });
});

test("a thread with images that is too long keeps the run's own, and may lose older ones", async () => {
  const model = script(say("word ".repeat(3_000)), say("They talked."), say("Fine."));
  await open(() => reply(), { context_window: 4_000 }, model);
  const { thread_id } = await trial.ended(await trial.run("", asking(image(SIGN))));
  const run = await trial.ended(await trial.run("", asking(image(OTHER)), thread_id));
  expect(run).toMatchObject({ status: "succeeded", output: { message: "Fine." } });
  const shown = trial.asks.at(-1)!.messages;
  expect(shown.at(-1)!.content).toEqual([image(dataOf(PNG))]);
  expect(JSON.stringify(shown).split('image_url":{').length - 1).toBe(1);
});

test("a round is rebuilt with a word in place of each image", async () => {
  await open(() => reply(), { version: { tools: [] } });
  const run = await trial.ended(await trial.run("", asking(text("Look:"), image(SIGN))));
  const options = {
    store: trial.store,
    findVersion: async () => trial.version,
    openTools: async () => () => undefined,
    findModel: () => ({ id: "stub-1", context_window: null, capabilities: ["vision"] }) as never,
  };
  const round = (await rebuildRound(options, run, 1))!;
  expect(round.messages[1]!.content).toBe("Look:\n[An image.]");
  expect(round.is_exact).toBe(true);
});

test("the eight newest images of earlier runs are loaded, and no older one", async () => {
  const messages = Array.from({ length: 10 }, (_, n) => {
    const image_url = { url: "https://images.example.com/a.png", detail: "auto" as const };
    return { run_id: `r-${n}`, parts: [{ type: "image_url" as const, image_url }] };
  });
  const store = { listImages: async (run_id: string) => [{ place: 0, url: `data of ${run_id}` }] };
  const row = { id: "r-10", input: { message: "Hi" } } as RunRow;
  const images = await loadImages(store, row, messages);
  const newest = messages.slice(2).map(({ run_id }) => `data of ${run_id}`);
  expect([...images.values()].toReversed()).toEqual(newest);
});

test("an image in base64 that breaks off is none", () => {
  const whole = "data:image/png;base64,iVBORw0KGgo=";
  expect([readData(whole), readData(whole.slice(0, -1))]).toEqual([whole, null]);
});
