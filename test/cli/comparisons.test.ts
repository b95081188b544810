// How two runs, two versions and an evaluation look on a terminal.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunComparison } from "../../src/agents/index.ts";
import { runServed } from "./served-command.ts";

const ID = "0198f000-0000-7000-8000-000000000001";
const RERUN = "0198f000-0000-7000-8000-000000000002";

/** What a command prints of a server's replies by method and path, and what it sent. */
async function run(name: string, args: string[], replies: Record<string, unknown>) {
  const asked: unknown[] = [];
  const answer = (method: string, { pathname }: URL, body: unknown) => {
    if (method === "POST") asked.push(body);
    return replies[`${method} ${pathname}`];
  };
  return { ...(await runServed(name, args, { answer })), asked };
}

const before: RunComparison["a"] = {
  ...{
    run_id: ID,
    version: 1,
    status: "succeeded" as const,
    error_code: null,
    rounds: 2,
    tool_calls: 1,
  },
  ...{ prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, cost: "0.500000", worked_ms: 5 },
  text: "calm",
};
const after: RunComparison["a"] = {
  ...before,
  run_id: RERUN,
  version: 2,
  rounds: 3,
  text: "LOUD\u001b",
};

test("two runs stand side by side, with what differs and the calls of both", async () => {
  const call = { name: "look", arguments: '{"a":1}', outcome: "ok" } as const;
  const comparison: RunComparison = {
    ...{ a: before, b: after, same: { end: true, calls: false, text: false } },
    calls: [
      { a: call, b: { ...call, outcome: "error" } },
      { a: { ...call, name: "pay" }, b: null },
      { a: null, b: { ...call, name: "ring" } },
    ],
  };
  const { text } = await run("runs compare", [ID, RERUN], {
    [`GET /runs/${ID}/comparison`]: comparison,
  });
  expect(text).toMatch(/^rounds +2 +3 +yes$/m);
  expect(text).toMatch(/^total_tokens +10 +10 +-$/m);
  expect(text).toMatch(/^text +"calm" +"LOUD\\u001b" +yes$/m);
  expect(text).toContain('  "look" "{\\"a\\":1}" ok / error\n');
  expect(text).toContain('- "pay" "{\\"a\\":1}" ok\n+ "ring" ');
});

test("two versions are shown by their changed fields, a text line by line and without control characters", async () => {
  const changes = [
    { field: "system_prompt", before: "Be calm.\nStay.", after: "Be loud.\nStay." },
    { field: "policy.unattended_writes", before: false, after: true },
  ];
  const replies = { [`GET /agents/${ID}/diff`]: { agent: ID, from: 1, to: 2, changes } };
  expect((await run("agents diff", [ID, "1", "2"], replies)).text).toBe(
    "system_prompt:\n  - Be calm.\n  + Be loud.\n    Stay.\n" +
      "policy.unattended_writes: false -> true\n",
  );
  const hostile = [
    { field: "system_prompt", before: "calm", after: "\u001b[2Jcalm\u202e" },
    { field: "model", before: "\u001b[31m", after: null },
  ];
  const hidden = { [`GET /agents/${ID}/diff`]: { agent: ID, from: 1, to: 2, changes: hostile } };
  expect((await run("agents diff", [ID, "1", "2"], hidden)).text).toBe(
    "system_prompt:\n  - calm\n  + \\u001b[2Jcalm\\u202e\n" + 'model: "\\u001b[31m" -> null\n',
  );
  const alike = { [`GET /agents/${ID}/diff`]: { agent: ID, from: 1, to: 2, changes: [] } };
  expect((await run("agents diff", [ID, "1", "2"], alike)).text).toBe(
    "the versions behave alike\n",
  );
});

describe("an evaluation", () => {
  const passed = {
    ...{ run_id: ID, rerun_id: RERUN, passed: true, error: null, failures: [], before, after },
    same: { end: true, calls: true, text: false },
  };
  const failures = [{ check: 0, message: 'It says <"no">\u001b.' }];
  const failed = { ...passed, passed: false, failures };
  const error = { code: "agent_held", message: "It is held." };
  const unrepeated = {
    ...{ run_id: RERUN, rerun_id: null, passed: false, error, failures: [] },
    ...{ before: null, after: null, same: null },
  };
  const make = (results: { passed: boolean | null }[]) => ({
    ...{ id: ID, agent_id: ID, version: 2, tools: "recorded", status: "finished", checks: [] },
    ...{ total: results.length, done: results.length, results },
    passed: results.filter((one) => one.passed).length,
    ...{ created_at: "2026-11-20T12:00:00.000Z", finished_at: "2026-11-20T12:00:01.000Z" },
  });
  const evaluate = (args: string[], results: { passed: boolean | null }[]) =>
    run("agents evaluate", [ID, ...args], {
      [`POST /agents/${ID}/evaluations`]: make(results),
      [`GET /evaluations/${ID}`]: make(results),
    });

  test("is a table of what changed in each run, and the exit code is 0 if all pass", async () => {
    const { code, text, asked } = await evaluate(["--version", "2", "--live"], [passed]);
    expect([code, asked]).toEqual([0, [{ version: 2, tools: "live" }]]);
    expect(text).toMatch(/^RUN +RESULT +END +ROUNDS +CALLS +TOKENS +COST +MS +TEXT$/m);
    expect(text).toMatch(
      new RegExp(`^${ID} +passed +succeeded +2 -> 3 +same +10 +0.500000 +5 +differs$`, "m"),
    );
    expect(text).toContain(`${ID}  "calm" -> "LOUD\\u001b"\n`);
    expect(text).toEndWith("finished: 1 of 1 passed\n");
  });

  test("exits with 1 and tells each failed check, and why a run was not repeated", async () => {
    const { code, text } = await evaluate([], [passed, failed, unrepeated]);
    expect(code).toBe(1);
    expect(text).toContain(`${ID}  check 0: It says <"no">\\u001b.\n`);
    expect(text).toContain(`${RERUN}  agent_held: It is held.\n`);
    expect(text).toEndWith("finished: 1 of 3 passed\n");
  });

  test("is JUnit that parses, with failures and errors, or JSON", async () => {
    const waiting = { ...unrepeated, passed: null, error: null };
    const { text } = await evaluate(["--format", "junit"], [passed, failed, unrepeated, waiting]);
    expect(text).toContain('tests="4" failures="1" errors="1" skipped="1"');
    expect(text).toContain('message="It says &lt;&quot;no&quot;>\\u001b."');
    expect(text.match(/<testcase /g)).toHaveLength(4);
    const opened = text.match(/<(testsuites|testsuite|testcase)\b[^>]*(?<!\/)>/g)!;
    expect(text.match(/<\/(testsuites|testsuite|testcase)>/g)).toHaveLength(opened.length);
    const json = await evaluate(["--format", "json"], [failed]);
    expect(JSON.parse(json.text)).toEqual(make([failed]));
    expect(json.code).toBe(1);
  });

  test("takes runs and checks from files, and says what is wrong with one", async () => {
    const directory = mkdtempSync(join(tmpdir(), "wadi-evaluate-"));
    const write = async (name: string, text: string) => {
      await Bun.write(join(directory, name), text);
      return join(directory, name);
    };
    const runs = await write("runs.txt", `${ID}\n${RERUN}\n`);
    const checks = await write("checks.json", '{"checks":[{"end":"succeeded"}]}');
    const { asked } = await evaluate(["--runs", runs, "--checks", checks], [passed]);
    expect(asked).toEqual([{ runs: [ID, RERUN], checks: [{ end: "succeeded" }] }]);
    for (const [flag, text, says] of [
      ["--runs", "\n", "names no run"],
      ["--checks", "{", "is no JSON"],
      ["--checks", "{}", 'is such as {"checks"'],
    ] as const) {
      const file = await write("wrong", text);
      await expect(evaluate([flag, file], [passed])).rejects.toThrow(says);
    }
    await expect(evaluate(["--runs", join(directory, "gone")], [])).rejects.toThrow("--runs");
    rmSync(directory, { recursive: true });
  });

  test("is shown again by its id, and cancelled", async () => {
    const replies = {
      [`GET /evaluations/${ID}`]: make([passed]),
      [`POST /evaluations/${ID}/cancel`]: { ...make([failed]), status: "cancelled" },
    };
    expect((await run("agents evaluation", [ID], replies)).code).toBe(0);
    const { code, text } = await run("agents evaluation", [ID, "--cancel"], replies);
    expect([code, text.split("\n").at(-2)]).toEqual([1, "cancelled: 0 of 1 passed"]);
  });
});

test("the evaluations of an agent are listed", async () => {
  const line = {
    ...{ id: ID, agent_id: RERUN, version: 3, tools: "recorded", status: "running" },
    ...{ done: 1, total: 2, created_at: "2026-11-28T00:00:00.000Z", finished_at: null },
  };
  const path = `GET /agents/${RERUN}/evaluations`;
  const { code, text } = await run("agents evaluations", [RERUN], { [path]: [line] });
  expect(code).toBe(0);
  expect(text.split("\n")[0]!.split(/ +/)).toEqual([
    ...["ID", "VERSION", "TOOLS", "STATUS", "DONE", "TOTAL", "CREATED_AT"],
  ]);
  expect(text.split("\n")[1]!.split(/ +/).slice(0, 6)).toEqual([
    ...[ID, "3", "recorded", "running", "1", "2"],
  ]);
});

test("an agent is made with the schema of a file, and is exposed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wadi-schema-"));
  const file = join(folder, "schema.json");
  const schema = { type: "object", properties: { n: { type: "integer" } } };
  await Bun.write(file, JSON.stringify(schema));
  const args = ["Teller", "--key", ID, "--prompt", "Tell.", "--expose", "--output-schema", file];
  const made = {
    ...{ id: RERUN, account: "acme", name: "Teller", slug: "teller", status: "active" },
    ...{ current_version: 1, created_at: "2026-11-28T00:00:00.000Z" },
    ...{ held: null, held_since: null, hold_reason: null },
  };
  const { asked } = await run("agents create", args, { "POST /agents": made });
  expect(asked).toEqual([
    {
      key: ID,
      name: "Teller",
      system_prompt: "Tell.",
      tools: [],
      output_schema: schema,
      expose: true,
    },
  ]);
  await Bun.write(file, "{");
  await expect(run("agents create", args, {})).rejects.toThrow("--output-schema is no JSON");
  rmSync(folder, { recursive: true });
});
