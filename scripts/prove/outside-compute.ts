// Hostile calculations, pages, schemas, arguments and texts: none holds the event loop for long.
import { KnownAddresses } from "../../src/agents/tools/address-memory.ts";
import { createArgumentsCheck } from "../../src/agents/tools/arguments.ts";
import { createCalculator } from "../../src/agents/tools/builtin/calculator.ts";
import { createReadPage } from "../../src/agents/tools/builtin/read-page.ts";
import { createSchemaCheck } from "../../src/agents/tools/json-schema/check.ts";
import { ComputePool } from "../../src/compute/index.ts";
import { createTextCount } from "../../src/models/index.ts";
import { createSystemClock, yieldToEventLoop } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import {
  hostileArguments,
  hostileCalculations,
  hostileChecks,
  hostileResults,
  hostileSchemas,
  hostileTexts,
} from "../../test/agents/tools/hostile-inputs.ts";
import { hostilePages } from "../../test/agents/tools/page/hostile-pages.ts";
import { createUse } from "../../test/agents/tools/use.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

/** CPU time of the main thread: on a shared machine wall time means little. */
const TURN_MS_MAX = 50;
const TURN = { account: "stranger" };
const URL_OF_PAGE = "https://camels.example.com/";

/** Inputs in a user's message and in a call's arguments. */
const INPUT_CHARACTERS = 250_000;

const clock = createSystemClock();
const readCpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** CPU time of the longest turn of the event loop during the work. */
const meterTurns = async (run: () => Promise<unknown>): Promise<number> => {
  let isOver = false;
  let longest = 0;
  const meter = async () => {
    for (let last = readCpuMs(); !isOver; ) {
      await yieldToEventLoop();
      const now = readCpuMs();
      longest = Math.max(longest, now - last);
      last = now;
    }
  };
  const metering = meter();
  await yieldToEventLoop();
  await run();
  isOver = true;
  await metering;
  return longest;
};

const readAddresses = (text: string) => {
  const known = new KnownAddresses();
  known.addInput(text.slice(0, INPUT_CHARACTERS));
  known.add(text, text.slice(0, INPUT_CHARACTERS));
  return known.has("https://camels.example.com/unknown");
};

type Input = readonly [name: string, run: () => Promise<unknown>];

/** Input of each of the program's computations. */
const listInputs = (): { inputs: Record<string, Input[]>; stop(): void; countCut(): number } => {
  let cut = 0;
  const log = createLog(clock, (line) => void (line.includes("cut off") && cut++), false);
  const script = new URL("../../src/compute-worker.ts", import.meta.url);
  const compute = new ComputePool({ script, clock, log });
  const calculator = createCalculator(compute);
  const checkSchema = createSchemaCheck(compute);
  const checkArguments = createArgumentsCheck(compute);
  const countTexts = createTextCount(compute);
  const readPage = (html: string) => {
    const headers = new Headers({ "content-type": "text/html" });
    const url = URL_OF_PAGE;
    const body = new TextEncoder().encode(html);
    const allow = () => ({ ok: true as const, url: new URL(url) });
    const reply = { ok: true as const, url, status: 200, headers, body, truncated: false };
    const tool = createReadPage({
      egress: { validate: allow, request: async () => reply },
      compute,
    });
    return tool.run(createUse({ url }));
  };
  const check = (parameters: object, text: string) =>
    checkArguments(parameters as Record<string, unknown>, text, TURN);
  const ask = async (what: Promise<unknown>) => void (await what.catch(() => undefined));
  const inputs: Record<string, Input[]> = {
    calculations: hostileCalculations.map((expression) => [
      expression,
      () => calculator.run(createUse({ expression })),
    ]),
    pages: hostilePages.map(([name, html]) => [name, () => readPage(html)]),
    schemas: hostileSchemas.map(([name, schema]) => [
      name,
      () => ask(checkSchema(schema as Record<string, unknown>, TURN.account)),
    ]),
    "checks and patterns": hostileChecks.map(([name, parameters, a]) => {
      const text = JSON.stringify({ a });
      return [name, () => check(parameters, text)];
    }),
    arguments: [
      ...hostileArguments.map(
        ([name, text]) => [name, () => check({ type: "object" }, text)] as const,
      ),
      ...hostileArguments.map(
        ([name, text]) =>
          [
            `${name}, of a built-in tool`,
            () => checkArguments(calculator.parameters, text, TURN),
          ] as const,
      ),
    ],
    texts: hostileTexts.map(([name, text]) => [
      name,
      () => countTexts([text], Number.POSITIVE_INFINITY, TURN),
    ]),
  };
  // Computed in many turns and not in a Worker, for a run in progress.
  inputs.results = hostileResults.map(([name, text]) => [name, () => readAddresses(text)]);
  return { inputs, stop: () => compute.stop(), countCut: () => cut };
};

export const proveCompute = async (isLong: boolean): Promise<Finding[]> => {
  const { inputs, stop, countCut } = listInputs();
  const findings: Finding[] = [];
  // Excludes loading and compiling at the first use.
  for (const some of Object.values(inputs)) for (const [, run] of some.slice(0, 2)) await run();
  for (const [what, some] of Object.entries(inputs)) {
    let longest = ["", 0] as [name: string, cpu_ms: number];
    for (let round = 0; round < (isLong ? 5 : 1); round++) {
      for (const [name, run] of some) {
        const cpu_ms = await meterTurns(run);
        if (cpu_ms > longest[1]) longest = [name, cpu_ms];
      }
    }
    findings.push(
      atLeast(`hostile ${what}`, some.length, 8),
      atMost(`longest turn (${longest[0].slice(0, 40)})`, longest[1], TURN_MS_MAX, " ms"),
    );
  }
  stop();
  // Each has its own bounds; that a Worker has to be ended is the last resort.
  findings.push(atMost("of them cut off after their time", countCut(), 0));
  return findings;
};
