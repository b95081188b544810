// Results of `current_time`, `calculator` and `read_output`.
import { describe, expect, test } from "bun:test";
import { createCalculator } from "../../../../src/agents/tools/builtin/calculator.ts";
import { currentTime } from "../../../../src/agents/tools/builtin/current-time.ts";
import { readOutput } from "../../../../src/agents/tools/builtin/read-output.ts";
import { inlineCompute } from "../../../support/compute.ts";
import { createUse, NOW } from "../use.ts";

describe("current_time", () => {
  const runTool = async (args: object, now = NOW) => {
    return await currentTime.run(createUse({ ...args }, { now: () => now }));
  };

  test.each([
    [undefined, "2026-11-21T23:40:03+00:00", "UTC", "Saturday"],
    ["Asia/Riyadh", "2026-11-22T02:40:03+03:00", "Asia/Riyadh", "Sunday"],
    ["asia/riyadh", "2026-11-22T02:40:03+03:00", "Asia/Riyadh", "Sunday"],
    ["America/St_Johns", "2026-11-21T20:10:03-03:30", "America/St_Johns", "Saturday"],
  ])("in %s", async (time_zone, time, zone, weekday) => {
    const { outcome, content, external } = await runTool(time_zone ? { time_zone } : {});
    expect([outcome, external]).toEqual(["ok", false]);
    expect(JSON.parse(content)).toEqual({ time, time_zone: zone, weekday });
  });

  test("shows midnight as hour 00, and the offset of summer time", async () => {
    const { content } = await runTool({ time_zone: "Europe/Berlin" }, Date.UTC(2026, 6, 1, 22));
    expect(JSON.parse(content).time).toBe("2026-07-02T00:00:00+02:00");
  });

  test.each(["Mars/Olympus", "+03:00", "x".repeat(64), "Asia/Riyadh\0", "../etc"])(
    "%j is not a time zone",
    async (time_zone) => {
      const { outcome, content } = await runTool({ time_zone });
      expect(outcome).toBe("error");
      expect(content).toStartWith("There is no such time zone");
    },
  );
});

describe("calculator", () => {
  const calculator = createCalculator(inlineCompute);

  test.each([
    ["timeout", "The calculation took too long and was given up."],
    [
      "busy",
      "The calculation was not begun, because too much else is being computed: try again later.",
    ],
  ] as const)("without an end (%s) is an error", async (reason, content) => {
    const cut = createCalculator({ run: async () => ({ ok: false, reason }) });
    const result = await cut.run(createUse({ expression: "1^1" }));
    expect(result).toEqual({ outcome: "error", content, external: false });
  });

  test("uses no Worker for the four operations on plain numbers, and one otherwise", async () => {
    const requests: unknown[] = [];
    const watched = createCalculator({
      run: async (_, input) => {
        requests.push(input);
        return { ok: false, reason: "busy" };
      },
    });
    const plain = ["80 * 12.5 / 100", "(1.1+2.2)*-3", "1/0", "1+".repeat(99)];
    const others = ["2^2", "3!", "sin(1)", "1e9", "1+".repeat(101)];
    for (const expression of [...plain, ...others]) await watched.run(createUse({ expression }));
    expect(requests).toEqual(others);
  });

  test("returns a value, or the fault", async () => {
    expect(await calculator.run(createUse({ expression: "0.1 + 0.2" }))).toEqual({
      outcome: "ok",
      content: "0.3",
      external: false,
    });
    expect(await calculator.run(createUse({ expression: "1/0" }))).toEqual({
      outcome: "error",
      content: "Division by zero.",
      external: false,
    });
  });
});

describe("read_output", () => {
  const read = (content: string, args: object = {}, external = false) => {
    const stored = { content, external };
    const readStored = async (id: string) => (id === "call_1" ? stored : undefined);
    const use = createUse({ tool_call_id: "call_1", ...args }, { readOutput: readStored });
    return readOutput.run(use);
  };

  test.each([
    [{}, "Characters 0 to 6 of 6:\na🐪bمc🐫"],
    [{ offset: 1 }, "Characters 1 to 6 of 6:\n🐪bمc🐫"],
    [{ offset: 1, limit: 2 }, "Characters 1 to 3 of 6:\n🐪b"],
    [{ offset: 5, limit: 16_000 }, "Characters 5 to 6 of 6:\n🐫"],
    [{ offset: 6 }, "Nothing is left there: the result has 6 characters."],
    [{ offset: Number.MAX_SAFE_INTEGER }, "Nothing is left there: the result has 6 characters."],
  ])("with %j reads whole characters", async (args, content) => {
    expect(await read("a🐪bمc🐫", args)).toEqual({ outcome: "ok", content, external: false });
    // External content is fenced again.
    const outside = await read("a🐪bمc🐫", args, true);
    expect(outside).toEqual({ outcome: "ok", content, external: true });
  });

  test("reads at most 16,000 characters at once, and all in sequence", async () => {
    const whole = Array.from({ length: 40_000 }, (_, n) => (n % 7 === 0 ? "🐪" : "x")).join("");
    let joined = "";
    for (const offset of [0, 16_000, 32_000]) {
      const { content } = await read(whole, { offset });
      joined += content.slice(content.indexOf("\n") + 1);
    }
    expect(joined).toBe(whole);
  });

  test("of another run or of no call is an error", async () => {
    const { outcome, content, external } = await read("x", { tool_call_id: "call_9" });
    expect([outcome, external]).toEqual(["error", false]);
    expect(content).toBe("This run has no stored result of a tool call with that id.");
  });
});
