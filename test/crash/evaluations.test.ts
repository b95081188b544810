// The compiled program, killed at the writes of an evaluation: each run is repeated once.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram } from "../support/crash.ts";
import { dumpDatabase } from "../support/database-dump.ts";

const data = mkdtempSync(join(tmpdir(), "wadi-crash-evaluations-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

const MESSAGE = '!tool calculator {"expression":"2 + 3"}\n!next\n!say Done.';
const RUNS = 12;
let secret = "";

// biome-ignore lint/suspicious/noExplicitAny: what a test expects says what it is.
type Json = { [field: string]: any };

/** A server on the data; undefined: it was killed at its start. */
async function serve(failPoint = "") {
  const child = startProgram(["serve", "--json", "--port", "0", "--data", data], failPoint);
  const line = await child.next();
  if (line === undefined) {
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
    return undefined;
  }
  const { url, key_file } = JSON.parse(line) as { url: string; key_file: string | null };
  if (key_file !== null) secret = readFileSync(key_file, "utf8").trim();
  const ask = async (method: string, path: string, body?: object): Promise<Json> => {
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const reply = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    return (await reply.json()) as Json;
  };
  return { child, url, ask };
}

test("an evaluation with live tools ends after crashes at its writes, and repeats each run once", async () => {
  const first = (await serve())!;
  const agent = { name: "Sums", system_prompt: "Be brief.", tools: ["calculator"] };
  const { id } = await first.ask("POST", "/v1/agents", agent);
  for (let n = 0; n < RUNS; n++) {
    const run = await first.ask("POST", `/v1/agents/${id}/runs`, { input: { message: MESSAGE } });
    const headers = { authorization: `Bearer ${secret}` };
    await (await fetch(`${first.url}/v1/runs/${run.id}/events`, { headers })).text();
  }
  first.child.kill();
  await first.child.ended;

  // After the start of the first reruns, before and after they are noted, and in between.
  const begun = (await serve("evaluations.note:before"))!;
  const body = {
    tools: "live",
    checks: [{ end: "succeeded" }, { called: { tool: "calculator" } }],
  };
  const { id: evaluation } = await begun.ask("POST", `/v1/agents/${id}/evaluations`, body);
  expect(await begun.child.ended).toMatchObject({ signal: "SIGKILL" });
  for (const failPoint of ["evaluations.note:after", "runs.start:after#2", "runs.finish:after#3"]) {
    // The evaluation goes on at the start, which may be over before it is told.
    const server = await serve(failPoint);
    if (server) expect(await server.child.ended).toMatchObject({ signal: "SIGKILL" });
  }
  const last = (await serve())!;
  let found: Json;
  do found = await last.ask("GET", `/v1/evaluations/${evaluation}`);
  while (found.finished_at === null);
  expect(found).toMatchObject({ status: "finished", total: RUNS, passed: RUNS });
  last.child.terminate();
  await last.child.ended;
  const { runs } = dumpDatabase(join(data, "wadi.db")) as { runs: { rerun_of: string | null }[] };
  const repeated = runs.flatMap(({ rerun_of }) => rerun_of ?? []);
  expect([repeated.length, new Set(repeated).size]).toEqual([RUNS, RUNS]);
}, 240_000);
