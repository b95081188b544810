// A run continues after a crash as without one: cut after each transaction, it sends the same
// requests and ends the same.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import type { BuiltinTool } from "../../../src/agents/tools/contract.ts";
import { createManualClock } from "../../support/clock.ts";
import { createDraw } from "../../support/draw.ts";
import { countRounds } from "../../support/rounds.ts";
import { createCut } from "./cut.ts";
import { kindsOf, resultsOf, verifyLog } from "./log.ts";
import {
  add,
  type CallRequest,
  call,
  type Model,
  openTrial,
  say,
  type TrialOptions,
} from "./trial.ts";

/** Removes ids and fences, which differ for each execution. */
const plain = (asks: readonly unknown[]) =>
  asks.map((ask) =>
    JSON.stringify(ask)
      .replace(/outside-\w+/g, "outside-")
      .replace(/call_\w{24}/g, "call_"),
  );

type Options = Pick<TrialOptions, "tools" | "context_window">;

/** Prepares a thread with this many ended runs, in a database that each trial gets a copy of. */
async function prepare(model: Model, options: Options, runs_before: number) {
  const directory = mkdtempSync(join(tmpdir(), "wadi-replay-"));
  const file = join(directory, "wadi.db");
  const trial = await openTrial(model, { ...options, place: { kind: "sqlite", file } });
  await trial.engine.start();
  let thread_id: string | null = null;
  for (let n = 0; n < runs_before; n++) {
    thread_id = (await trial.ended(await trial.run(`Before ${n}.`, {}, thread_id))).thread_id;
  }
  await trial.close();
  const image = readFileSync(file);
  rmSync(directory, { recursive: true });
  // A database in memory has no log beside it.
  image.fill(1, 18, 20);
  const now = trial.clock.now();
  const copy = () => ({ place: { kind: "memory", image } as const, clock: createManualClock(now) });
  return { thread_id, copy };
}

/** Returns the number of crashes, and requests and results of the run without one. */
async function expectSame(model: Model, options: Options = {}, runs_before = 0) {
  const { thread_id, copy } = await prepare(model, options, runs_before);
  const whole = await openTrial(model, { ...options, ...copy(), seed: 2 });
  await whole.engine.start();
  const expected = await whole.ended(await whole.run("Go.", { id: "r" }, thread_id));

  const results = await resultsOf(whole, "r");

  for (let writes = 1; ; writes++) {
    const cut = createCut(writes);
    const first = await openTrial(model, { ...options, ...copy(), ...cut.wraps, seed: 2 });
    await first.engine.start();
    const id = await first.run("Go.", { id: "r" }, thread_id);
    const end = first.ended(id).then(() => "ended");
    if ((await Promise.race([cut.reached.promise, end])) === "ended") {
      await first.close();
      await whole.close();
      return { deaths: writes - 1, asks: whole.asks, results };
    }
    const { database, clock } = first;
    const second = await openTrial(model, { ...options, database, clock, seed: 3 });
    await second.engine.start();
    const run = await second.ended(id);
    const { cost, usage, status, error, output } = expected;
    expect({ ...run, writes }).toMatchObject({
      ...{ status, error, output, usage, cost, writes },
      recoveries: 1,
    });
    // Requests after the crash equal those without it.
    const requests = plain(second.asks);
    expect(requests).toEqual(
      requests.length === 0 ? [] : plain(whole.asks).slice(-requests.length),
    );
    await verifyLog(second, id);
    expect((await kindsOf(second, id)).filter((kind) => kind === "recovered")).toHaveLength(1);
    await second.close();
  }
}

const calls: readonly CallRequest[] = [
  ...[add(), add("2*3"), ["calculator", "{"] as CallRequest, ["rocket", {}] as CallRequest],
  ...[
    ["web_search", { query: "x" }] as CallRequest,
    ["read_output", { tool_call_id: "no" }] as CallRequest,
  ],
];
/** A model determined by its seed; a round depends only on its number. */
const makeModel = (seed: number): Model => {
  const draw = createDraw(seed);
  const rounds = Array.from({ length: 1 + Math.floor(draw() * 4) }, () => {
    const count = 1 + Math.floor(draw() * 3);
    const some = Array.from({ length: count }, () => calls[Math.floor(draw() * calls.length)]!);
    return {
      ...call(...some),
      content: draw() < 0.5 ? null : "Let me see.",
      usage_estimated: draw() < 0.1,
    };
  });
  return (ask) => {
    const round = ask.messages.filter(({ role }) => role === "assistant").length;
    return rounds[round] ?? say("done");
  };
};

test("a run of a random script ends the same after a crash behind any write", async () => {
  for (let seed = 1; seed <= countRounds(40); seed++) await expectSame(makeModel(seed));
}, 120_000);

/** A model whose results are cut, and cleared in a small window. */
const library: BuiltinTool = {
  ...{ name: "web_search", title: "", description: "", risk: "read", revision: 1 },
  ...{ external_content: true, timeout_ms: 60_000, isFree: false },
  parameters: Type.Object({ pages: Type.Integer() }),
  run: async (use) => ({
    ...{ outcome: "ok", external: true, external_url: "https://found.example.com" },
    content: "A page of text. ".repeat(((use.arguments as { pages: number }).pages * 1_000) / 16),
  }),
};

/** The next reply depends only on the request; a summary states its number of rounds. */
const makeReader =
  (seed: number): Model =>
  (ask) => {
    const texts = ask.messages.map(({ content }) => String(content ?? ""));
    const reported = Number(/Rounds until now: (\d+)/.exec(texts.join("\n"))?.[1] ?? 0);
    const rounds = reported + ask.messages.filter(({ role }) => role === "assistant").length;
    if (texts[0]!.startsWith("Summarise")) return say(`Rounds until now: ${rounds}`);
    const draw = createDraw(seed * 1_000 + rounds);
    const results = ask.messages.flatMap(({ tool_call_id }) => tool_call_id ?? []);
    const tool_call_id = results[Math.floor(draw() * results.length)] ?? "none";
    const calls: CallRequest[] = [
      ["web_search", { pages: 1 + Math.floor(draw() * 5) }],
      ["web_search", { pages: 70 }],
      ["read_output", { tool_call_id, limit: 4_000 }],
      add(),
    ];
    if (draw() < 0.12) return say(`Done behind ${rounds} rounds. ${"word ".repeat(300)}`);
    const picked = calls.filter(() => draw() < 0.4);
    return { ...call(...(picked.length > 0 ? picked : [add()])), content: "word ".repeat(200) };
  };

test("a run that rereads results on a cleared and summarised thread ends the same too", async () => {
  const seen = { deaths: 0, summaries: 0, cleared: 0, read: 0, cut: 0 };
  // Counts only runs that do not end at once.
  for (const seed of [2, 4].slice(0, countRounds(5))) {
    const options = { tools: [library], context_window: 4_000 };
    const { deaths, asks, results } = await expectSame(makeReader(seed), options, 2);
    const count = (part: string) => asks.filter((ask) => JSON.stringify(ask).includes(part)).length;
    seen.deaths += deaths;
    seen.summaries += count('"content":"Summarise');
    seen.cleared += count("was cleared to save room");
    seen.read += count('"name":"read_output","arguments":"{\\"tool_call_id\\":\\"call_');
    seen.cut += results.filter(({ truncated }) => truncated).length;
  }
  // Each event must occur, or the test proves little.
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(3);
}, 120_000);
