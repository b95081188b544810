// Runs the tests and the builds they start; the last line says how many passed and failed.

import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { type Build, compile, isStale } from "./build.ts";

// A test waits for facts; this bound only ends one whose fact never comes on a busy machine.
const timeout_ms = 120_000;

/** Approximate durations in milliseconds: the longest files start first. */
const SLOWEST = {
  "test/binary/takeover.test.ts": 27_000,
  "test/crash/processes.test.ts": 24_000,
  "test/binary/supervisor.test.ts": 19_000,
  "test/console/live.test.ts": 19_000,
  "test/console/hostile.test.ts": 18_000,
  "test/docs/commands.test.ts": 17_000,
  "test/store/postgres.test.ts": 17_000,
  "test/console/keys.test.ts": 15_000,
  "test/crash/events.test.ts": 14_000,
  "test/console/approvals.test.ts": 13_000,
  "test/console/runs.test.ts": 13_000,
  "test/agents/runs/engine-replay.test.ts": 12_000,
  "test/binary/remote.test.ts": 12_000,
  "test/clients/mcp.test.ts": 10_000,
  "test/console/later.test.ts": 10_000,
  "test/console/webhooks.test.ts": 10_000,
  "test/counters/shared-counters.test.ts": 10_000,
  "test/crash/balanced-clients.test.ts": 10_000,
  "test/crash/mcp-far-tasks.test.ts": 10_000,
  "test/crash/mcp-tasks.test.ts": 10_000,
  "test/gateway/budgets/shared.test.ts": 10_000,
  "test/binary/processes.test.ts": 9_000,
  "test/binary/reload.test.ts": 9_000,
  "test/crash/runs.test.ts": 9_000,
  "test/crash/writes.test.ts": 9_000,
  "test/store/pglite.test.ts": 9_000,
  "test/backup/hostile-restore.test.ts": 8_000,
  "test/clients/packages.test.ts": 8_000,
  "test/console/first-approval.test.ts": 8_000,
  "test/crash/suspects.test.ts": 8_000,
  "test/spec/agents/evaluations.test.ts": 8_000,
  "test/backup/move.test.ts": 7_000,
  "test/console/playground.test.ts": 7_000,
  "test/spec/agents/fuzz.test.ts": 7_000,
  "test/admin/grafana.test.ts": 6_000,
  "test/binary/serve.test.ts": 6_000,
  "test/console/agents.test.ts": 6_000,
  "test/console/models.test.ts": 6_000,
  "test/crash/budgets.test.ts": 6_000,
  "test/crash/calls.test.ts": 6_000,
};
/** Each of the others; a file without a duration would start before all that have one. */
const OTHER_MS = 500;

/**
 * Files that one process runs beside the others, in this order: they wait for servers most of
 * their time, or start PGlite, which costs seconds once a process.
 */
const BESIDE = [
  ...["binary/takeover", "binary/reload", "clients/mcp", "clients/packages", "crash/mcp-far-tasks"],
  ...["crash/mcp-tasks", "crash/runs", "crash/suspects", "admin/status", "backup/foreign-tables"],
  ...["backup/hostile-restore", "backup/move", "backup/restore", "store/inspection", "store/open"],
  ...["store/pglite", "store/usage-migration", "triggers/scheduler-trouble"],
].map((name) => `test/${name}.test.ts`);

const MEMORY = "/dev/shm";
const MEMORY_BYTES_MIN = 2 * 1024 ** 3;

/**
 * Thousands of small databases are made, each commit of which waits for its disk: where memory
 * serves as one, they lie there. What a killed process has written is kept by either.
 */
const chooseFolder = (): string => {
  if (process.env.TMPDIR) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
};

/** The slowest compilers of machine code take more time from a test process than they give back. */
const JIT = { BUN_JSC_useFTLJIT: "0", BUN_JSC_useOMGJIT: "0" };
/** Freed memory is kept: pages that the system takes back are cleared before their next use. */
const ALLOCATOR = { MIMALLOC_PURGE_DELAY: "-1" };
/** Servers use the cores while their tests wait: one more process only adds its own cost. */
const PROCESSES = navigator.hardwareConcurrency;

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** Reads the counts of bun test's JUnit report; its summary on the console is for people. */
const readReport = (xml: string): Count | undefined => {
  const total = /<testsuites [^>]*>/.exec(xml)?.[0];
  if (!total) return undefined;
  const read = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(total)?.[1]);
  const [tests, failed, skipped] = [read("tests"), read("failures"), read("skipped")];
  return { passed: tests - failed - skipped, failed, skipped };
};

interface Outcome {
  count: Count | undefined;
  code: number;
}

/** Runs test files in processes of their own; what they print is shown, or only if one fails. */
const run = async (
  args: string[],
  env: Record<string, string>,
  isQuiet = false,
): Promise<Outcome> => {
  const scratch = mkdtempSync(join(tmpdir(), "wadi-test-"));
  const report = join(scratch, "report.xml");
  // Whatever tests and killed processes leave there goes with it.
  const folder = mkdtempSync(join(chooseFolder(), "wadi-test-"));
  try {
    const flags = ["--reporter=junit", `--reporter-outfile=${report}`, `--timeout=${timeout_ms}`];
    const output = isQuiet ? "pipe" : "inherit";
    // Within a process the files share what they import, which is half its time.
    const child = Bun.spawn([process.execPath, "test", "--no-isolate", ...flags, ...args], {
      cwd: dirname(import.meta.dir),
      env: { ...process.env, ...JIT, ...ALLOCATOR, TMPDIR: folder, ...env },
      stdio: [isQuiet ? "ignore" : "inherit", output, output],
    });
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => child.kill(signal));
    const { stdout, stderr } = child as { stdout?: ReadableStream; stderr?: ReadableStream };
    const printed = await Promise.all([stdout, stderr].map((stream) => stream?.text() ?? ""));
    const code = await child.exited;
    if (code !== 0) console.log(printed.join(""));
    const written = await Bun.file(report)
      .text()
      .catch(() => "");
    return { count: readReport(written), code };
  } finally {
    for (const made of [scratch, folder]) rmSync(made, { recursive: true, force: true });
  }
};

/** The tests that are asked for, in several processes. */
const runAsked = async (args: string[]): Promise<Outcome> => {
  const scratch = mkdtempSync(join(tmpdir(), "wadi-test-"));
  const timings = join(scratch, "timings.json");
  const all = new Glob("test/**/*.test.ts").scanSync(dirname(import.meta.dir));
  const others = Object.fromEntries([...all].map((file) => [file, OTHER_MS]));
  writeFileSync(timings, JSON.stringify({ version: 1, files: { ...others, ...SLOWEST } }));
  try {
    return await run([`--parallel=${PROCESSES}`, `--timings=${timings}`, ...args], {});
  } finally {
    rmSync(scratch, { recursive: true });
  }
};

/**
 * Tests of specs and clients that hold on two apps. They change no settings and reach no limit of one of them, and
 * wait for no instant: apps whose clock is not PostgreSQL's fire and expire nothing.
 */
const ON_PROCESSES = [
  ...["agents", "authentication", "approvals-decision", "approvals-list"],
  ...["canary", "connections-secret", "errors", "hook-external", "hook-races", "images"],
  ...["injection", "loops", "openapi", "output", "ownership", "runs-cancel", "runs-list"],
  ...["runs-start", "runs-steps", "states", "threads", "tools-register", "tools-runs"],
  ...["tools-switch", "tools.test", "triggers-body", "triggers-secret", "usage", "versions"],
]
  .map((name) => `test/spec/agents/${name}`)
  .concat(
    ["authentication", "chat-messages", "chat-model", "chat-reply", "chat-request", "chat-stream"]
      .concat(["embeddings.test", "endpoints", "errors", "models", "openapi", "search.test"])
      .map((name) => `test/spec/gateway/${name}`),
  )
  // Clients that need neither fixed keys nor `wadi dev`.
  .concat(
    ["openai-chat", "openai-tools", "ai-text", "ai-responses", "langchain-chat"]
      .concat("anthropic-messages", "mcp.test", "mcp-adapters", "mcp-python")
      .map((name) => `test/clients/${name}`),
  );

/**
 * Black-box tests of the specs once more on the PostgreSQL that WADI_TEST_POSTGRES names: all by
 * one app, then many by two apps in turn, as behind a balancer.
 */
const runSpecOnPostgres = async (): Promise<Outcome[]> => {
  const outcomes: Outcome[] = [];
  for (const [place, ...files] of [
    ["postgres", "./test/spec"],
    ["processes", ...ON_PROCESSES],
  ] as const) {
    const outcome = await run(files, { WADI_TEST_PLACE: place }, true);
    outcomes.push(outcome);
    const passed = outcome.count?.passed ?? 0;
    console.log(`the suites on ${place}: ${passed} passed, code ${outcome.code}`);
  }
  return outcomes;
};

const runTests = async (args: string[]): Promise<number> => {
  try {
    const builds: Build[] = [{}, { failPoints: true }];
    for (const build of builds) if (isStale(build)) await compile(build);
  } catch (error) {
    console.error(error);
    return conclude([{ count: undefined, code: 1 }]);
  }
  const { WADI_TEST_ENGINES, WADI_TEST_POSTGRES } = process.env;
  // Beside the rest: one computes while the other waits for its server.
  const beside: Promise<Outcome[]>[] = [];
  if (WADI_TEST_ENGINES && WADI_TEST_POSTGRES) beside.push(runSpecOnPostgres());
  else if (args.length === 0) {
    beside.push(run(BESIDE, {}).then((one) => [one]));
    for (const file of BESIDE) args.push(`--path-ignore-patterns=${file}`);
  }
  const all = await Promise.all([runAsked(args), ...beside]);
  return conclude(all.flat());
};

/** Prints the last line and returns the exit code: nothing passes unless every test was seen to. */
const conclude = (outcomes: Outcome[]): number => {
  const sum: Count = { passed: 0, failed: 0, skipped: 0 };
  for (const { count, code } of outcomes) {
    // Without a report the run broke off; a file that does not load fails without being counted.
    if (!count) console.log(`The test run ended with code ${code} before it could report.`);
    sum.passed += count?.passed ?? 0;
    sum.skipped += count?.skipped ?? 0;
    sum.failed += Math.max(count?.failed ?? 1, code === 0 ? 0 : 1);
  }
  const { passed, failed, skipped } = sum;
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
  return failed > 0 || outcomes.some(({ count }) => !count?.passed) ? 1 : 0;
};

process.exit(await runTests(process.argv.slice(2)));
