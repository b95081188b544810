// Runs of versions with an output schema: how the output is asked for, checked and repaired.
import { afterEach, describe, expect, test } from "bun:test";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import { kindsOf, verifyLog, within } from "./log.ts";
import {
  add,
  call,
  type Model,
  openTrial,
  say,
  script,
  type Trial,
  type TrialOptions,
  untilAborted,
} from "./trial.ts";

let trial: Trial;
afterEach(() => trial.close());

const output_schema = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer", minimum: 0 } },
  required: ["city", "people"],
  additionalProperties: false,
};
const RIYADH = { city: "Riyadh", people: 7_000_000 };
const GOOD = JSON.stringify(RIYADH);
const BAD = '{"city":"Riyadh"}';
const HOLDING = ["structured_outputs"];

/** Ends one run of a version with the schema, by default without tools. */
async function run(model: Model, options: TrialOptions = {}): Promise<RunRow> {
  const version = { tools: [], output_schema, ...options.version };
  trial = await openTrial(model, { ...options, version });
  await trial.engine.start();
  return trial.ended(await trial.run("Which city?"));
}
const systemOf = (at: number) => String(trial.asks[at]!.messages[0]!.content);
const lastOf = (at: number) => String(trial.asks[at]!.messages.at(-1)!.content);

describe("an answer that fits the output schema", () => {
  test.each([
    ["as it is", GOOD],
    ["with room around it", `\n ${GOOD}\n`],
    ["in a fence of Markdown", `\`\`\`json\n${GOOD}\n\`\`\``],
  ])("is the output as data beside its text, %s", async (_, text) => {
    const ended = await run(script(say(text)));
    expect(ended).toMatchObject({ status: "succeeded", error: null, usage: { rounds: 1 } });
    expect(ended.output).toEqual({ message: text, data: RIYADH });
    expect(await trial.messages(ended.thread_id)).toMatchObject([
      { role: "user" },
      { role: "assistant", content: text },
    ]);
    await verifyLog(trial, ended.id);
  });

  test("is asked for in words of a model whose server cannot enforce the schema", async () => {
    await run(script(say(GOOD)));
    expect(systemOf(0)).toStartWith("You help.\n\nYour answer, which is your last message");
    expect(systemOf(0)).toEndWith(JSON.stringify(output_schema));
    expect(trial.asks[0]!.response_format).toBeUndefined();
  });

  test("is held by the server of a model with `structured_outputs`, without words", async () => {
    await run(script(say(GOOD)), { capabilities: HOLDING });
    expect(systemOf(0)).toBe("You help.");
    expect(trial.asks[0]!.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "output", schema: output_schema },
    });
  });

  test("is asked for in words beside tools, which a server that enforces the schema would not call", async () => {
    const version = { tools: ["calculator"] };
    const ended = await run(script(call(add()), say(GOOD)), { version, capabilities: HOLDING });
    expect(ended.output).toEqual({ message: GOOD, data: RIYADH });
    for (const [at, ask] of trial.asks.entries()) {
      expect(systemOf(at)).toContain("JSON Schema");
      expect(ask).not.toHaveProperty("response_format");
    }
  });

  test("is no rule for a version without a schema", async () => {
    const ended = await run(script(say(BAD)), {
      version: { output_schema: null },
      capabilities: HOLDING,
    });
    expect(ended.output).toEqual({ message: BAD });
    expect(systemOf(0)).toBe("You help.");
  });
});

describe("an answer that does not fit", () => {
  test("is asked for once more with its mistakes, and only the second one is in the thread", async () => {
    const ended = await run(script(say(BAD), say(GOOD)));
    expect(ended).toMatchObject({
      ...{ status: "succeeded", output: { message: GOOD, data: RIYADH }, usage: { rounds: 2 } },
      cost: { model: 240 },
    });
    expect(trial.asks[1]!.messages.slice(-2)).toEqual([
      { role: "assistant", content: BAD },
      { role: "user", content: expect.stringContaining("people") },
    ]);
    expect(await kindsOf(trial, ended.id)).toEqual(["assistant", "output_invalid", "assistant"]);
    expect(await trial.messages(ended.thread_id)).toMatchObject([
      { role: "user", content: "Which city?", seq: 1 },
      { role: "assistant", content: GOOD, seq: 2 },
    ]);
    await verifyLog(trial, ended.id);
  });

  test.each([
    ["no JSON", "It is Riyadh.", "no valid JSON"],
    ["a list", "[1]", "must be a JSON object"],
    ["cut off", '{"city":"Riy', "cut off"],
    ["of another type", '{"city":"Riyadh","people":"many"}', "people"],
    ["with a field too many", '{"city":"R","people":1,"x":2}', "x"],
    ["only half of a character", '{"city":"\\ud800","people":1}', "surrogate"],
    ["empty", "", "no text"],
  ])(
    "twice ends the run as failed with `invalid_output`, its text kept: %s",
    async (_, text, says) => {
      const finish_reason = says === "cut off" ? "length" : "stop";
      const ended = await run(() => say(text, { finish_reason }));
      expect(trial.asks).toHaveLength(2);
      expect(ended).toMatchObject({ status: "failed", error: { code: "invalid_output" } });
      expect(ended.error!.message).toContain(says);
      expect(lastOf(1)).toContain(says);
      expect(ended.output).toEqual(text === "" ? null : { message: text });
      const steps = ["assistant", "output_invalid", "assistant", "output_invalid"];
      expect(await kindsOf(trial, ended.id)).toEqual(steps);
      const stored = await trial.messages(ended.thread_id);
      expect(stored.map(({ content }) => content)).toEqual(["Which city?", text]);
      expect((await trial.outbox.list("a-1")).map(({ type }) => type)).toEqual(["run.failed"]);
    },
  );

  test("is repaired without tools, so that the model's server can enforce the schema", async () => {
    const version = { tools: ["calculator"] };
    const ended = await run(script(call(add()), say("Riyadh."), say(GOOD)), {
      version,
      capabilities: HOLDING,
    });
    expect(ended.output).toEqual({ message: GOOD, data: RIYADH });
    expect(trial.asks.map(({ tools }) => tools.length)).toEqual([1, 1, 0]);
    const forms = trial.asks.map(({ response_format }) => response_format?.type);
    expect(forms).toEqual([undefined, undefined, "json_schema"]);
    expect(systemOf(2)).toBe(systemOf(0));
  });

  test("fails at once in the last round of the budget, which has none for a repair", async () => {
    const ended = await run(() => say(BAD), within({ max_rounds: 1 }));
    expect(ended).toMatchObject({
      ...{ status: "failed", error: { code: "invalid_output" }, output: { message: BAD } },
    });
    expect(trial.asks).toHaveLength(1);
    expect(await trial.messages(ended.thread_id)).toHaveLength(2);
  });

  test("is asked for with the same messages after a crash", async () => {
    const model: Model = (_ask, signal, turn) => (turn === 0 ? say(BAD) : untilAborted(signal));
    const version = { tools: [], output_schema };
    trial = await openTrial(model, { version });
    await trial.engine.start();
    const id = await trial.run("Which city?");
    await trial.until(async () => trial.asks.length === 2);
    await trial.stop();
    const { database, clock } = trial;
    const second = await openTrial(() => say(BAD), { database, clock, version, seed: 2 });
    await second.engine.start();
    expect(await second.ended(id)).toMatchObject({ error: { code: "invalid_output" } });
    expect(second.asks.map(({ messages }) => messages)).toEqual([trial.asks[1]!.messages]);
    await verifyLog(second, id);
    await second.stop();
  });

  test("leaves roles in turn for a later run on the thread", async () => {
    const model = script(say(BAD), say(GOOD), say(GOOD));
    const { thread_id } = await run(model);
    await trial.ended(await trial.run("And again?", {}, thread_id));
    const roles = trial.asks[2]!.messages.map(({ role }) => role);
    expect(roles).toEqual(["system", "user", "assistant", "user"]);
  });
});
