// A client that `openapi-python-client` generates from the complete document sends requests to a
// server. Needs a Python with the package: WADI_TEST_PYTHON, or the one on the path.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEY, startApp, type TestApp } from "../support/app.ts";
import { hasPython, PYTHON } from "../support/python.ts";

const GENERATOR = ["-m", "openapi_python_client"];
const isThere = hasPython([...GENERATOR, "--version"], "openapi-python-client");

let app: TestApp;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-client-"));
  app = await startApp({ listens: true });
});
afterAll(async () => {
  await app.stop();
  rmSync(directory, { recursive: true });
});

async function run(command: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    cwd: directory,
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...env },
  });
  const [out, problem] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, problem };
}

test.skipIf(!isThere)("it is generated completely, chats, and reads runs and steps", async () => {
  const document = await (await app.get("/openapi.json", { key: null })).text();
  writeFileSync(join(directory, "openapi.json"), document);
  // Disables formatting of the output by a tool that may be missing.
  writeFileSync(join(directory, "config.yml"), "post_hooks: []\n");
  const where = ["--path", "openapi.json", "--output-path", "client", "--config", "config.yml"];
  const made = await run([
    PYTHON,
    ...GENERATOR,
    "generate",
    ...where,
    "--meta",
    "none",
    "--fail-on-warning",
  ]);
  expect([made.code, made.problem, made.out.trim()]).toEqual([0, "", "Generating client"]);

  const program = join(import.meta.dir, "generated_client.py");
  const output = await run([PYTHON, program, app.url, KEY], { PYTHONPATH: directory });
  expect([output.code, output.problem]).toEqual([0, ""]);
  expect(JSON.parse(output.out)).toEqual({
    ...{ said: "You said: Hello", status: "succeeded", runs: 1 },
    steps: ["says", "calls calculator", "calculator came to ok", "says"],
  });
});
