// The compiled program beside runs that kill or hang it: the others end well, and so does the rest.
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkRuns } from "../../scripts/prove/run-check.ts";
import { startProgram } from "../support/crash.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { chooseCases, countRounds } from "../support/rounds.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-suspects-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const NEIGHBOUR = "Work.\n!delay 60ms\n!say Done.";
/** Its arguments and its message contain the text that the fail point matches. */
const POISON = 'Work.\n!tool calculator {"expression":"4242 + 1"}\n!next\n!say Done.';
const NEIGHBOURS = Math.min(20, countRounds(20));
const SETTINGS = join(root, "wadi.toml");
writeFileSync(SETTINGS, "[limits]\nactive_runs = 100\nrequests_per_minute = 10000\n");
/** Silence after which the watchdog of a test build ends it. */
const SILENCE_MS = "1000";

interface RunRow {
  id: string;
  status: string;
  error: string | null;
  recoveries: number;
  input: string;
}
interface StepRow {
  run_id: string;
  kind: string;
  data: string;
}

const rowsOf = (data: string) => {
  const { runs, steps } = dumpDatabase(join(data, "wadi.db")) as unknown as {
    runs: RunRow[];
    steps: StepRow[];
  };
  const poison = runs.find(({ input }) => input.includes("4242"))!;
  const neighbours = runs.filter((run) => run !== poison);
  const recorded = steps
    .filter(({ run_id }) => run_id === poison.id)
    .map(({ kind, data }) => ({ kind, data: JSON.parse(data) }));
  return { poison, neighbours, recorded };
};

/** Serves again and again until every run is final; how often it was killed, and what it logged. */
async function serveUntilEnded(data: string, poison: string, failPoint = "") {
  const env = { WADI_POISON: poison, WADI_SILENCE_MS: SILENCE_MS };
  const args = ["serve", "--json", "--port", "0", "--data", data, "--config", SETTINGS];
  let kills = 0;
  let errors = "";
  let secret = "";
  let ids: string[] = [];
  for (; kills < 12; kills++) {
    // The fail point of a claim is reached once, since the process ends there.
    const child = startProgram(args, kills === 2 ? failPoint : "", env);
    const line = await child.next();
    if (line !== undefined) {
      const { url, key_file } = JSON.parse(line) as { url: string; key_file: string | null };
      if (key_file !== null) secret = readFileSync(key_file, "utf8").trim();
      const ask: Ask = (method, path, body) =>
        fetch(`${url}${path}`, {
          method,
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
          body: body && JSON.stringify(body),
        });
      if (ids.length === 0) ids = await startRuns(ask);
      if (await listen(ask, ids)) {
        child.terminate();
        return { kills, errors: errors + (await child.ended).errors };
      }
    }
    const ended = await child.ended;
    expect(ended).toMatchObject({ signal: "SIGKILL" });
    errors += ended.errors;
  }
  throw new Error("some runs have not ended");
}

type Ask = (method: string, path: string, body?: object) => Promise<Response>;

/** Whether the server lives until all runs have ended; sequential, because streams are limited. */
async function listen(ask: Ask, ids: readonly string[]): Promise<boolean> {
  try {
    for (const id of ids) {
      const recorded = await (await ask("GET", `/v1/runs/${id}/events`)).text();
      if (!recorded.endsWith("data: [DONE]\n\n")) return false;
    }
    return true;
  } catch {
    return false;
  }
}

async function startRuns(ask: Ask): Promise<string[]> {
  const agent = { name: "a", system_prompt: "Be brief.", tools: ["calculator"] };
  const { id } = (await (await ask("POST", "/v1/agents", agent)).json()) as { id: string };
  const start = async (message: string) => {
    const reply = await ask("POST", `/v1/agents/${id}/runs`, { input: { message } });
    expect(reply.status).toBe(202);
    return ((await reply.json()) as { id: string }).id;
  };
  const neighbours = await Promise.all(Array.from({ length: NEIGHBOURS }, () => start(NEIGHBOUR)));
  // Last, so that all others are under way.
  return [...neighbours, await start(POISON)];
}

function expectNeighbours(data: string): void {
  const { neighbours } = rowsOf(data);
  expect(neighbours.map(({ status }) => status)).toEqual(Array(NEIGHBOURS).fill("succeeded"));
  const none = { unended: 0, step_gaps: 0, message_gaps: 0, unreported: 0, wrong_counts: 0 };
  expect(checkRuns(join(data, "wadi.db"))).toEqual({ ...none, wrong_days: 0 });
}

test.each(chooseCases(["model", "reply", "tool"], (place) => place === "tool"))(
  "a run whose %s kills the process ends with crash_loop, and the others succeed",
  async (place) => {
    const data = join(root, `kill-${place}`);
    const { kills } = await serveUntilEnded(data, `kill:${place}:4242`);
    expect(kills).toBe(6);
    const { poison } = rowsOf(data);
    expect(poison).toMatchObject({ status: "failed", recoveries: 5 });
    expect(JSON.parse(poison.error!)).toMatchObject({ code: "crash_loop" });
    expectNeighbours(data);
  },
);

test.each(chooseCases(["before", "after"], (side) => side === "after"))(
  "a server killed at runs.claimSuspect:%s leaves no run unfinished",
  async (side) => {
    const data = join(root, `claim-${side}`);
    await serveUntilEnded(data, "kill:model:4242", `runs.claimSuspect:${side}`);
    expect(rowsOf(data).poison).toMatchObject({ status: "failed" });
    expectNeighbours(data);
  },
);

test("a call that hangs the process is repeated once and then given up with an error", async () => {
  const data = join(root, "hang-tool");
  const { kills, errors } = await serveUntilEnded(data, "hang:tool:4242");
  expect(kills).toBe(2);
  const { poison, recorded } = rowsOf(data);
  expect(poison).toMatchObject({ status: "succeeded", recoveries: 2 });
  const call = recorded.find(({ kind }) => kind === "tool_call")!.data.tool_call_id;
  const recovered = recorded.filter(({ data }) => data.event === "recovered");
  expect(recovered.map(({ data }) => data.detail.hung)).toEqual([call, call]);
  expect(recorded.find(({ kind }) => kind === "tool_result")!.data).toMatchObject({
    ...{ tool_call_id: call, outcome: "error", content: expect.stringContaining("not run again") },
  });
  for (const message of ["the event loop hangs", "the process before this one hung"]) {
    const lines = errors.split("\n").filter((line) => line.includes(message));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject(
      Array(2).fill({ run_id: poison.id, call, runs: expect.any(Number) }),
    );
  }
  expect(existsSync(join(data, "watchdog.json"))).toBe(false);
  expectNeighbours(data);
});

test("a model round that hangs the process twice ends its run", async () => {
  const data = join(root, "hang-model");
  const { kills } = await serveUntilEnded(data, "hang:model:4242");
  expect(kills).toBe(2);
  const { poison } = rowsOf(data);
  expect(poison).toMatchObject({ status: "failed", recoveries: 2 });
  expect(JSON.parse(poison.error!)).toMatchObject({ code: "internal_error" });
  expectNeighbours(data);
});
