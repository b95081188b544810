// The compiled program, killed at every write of a budget: nothing is free, and nothing counts twice.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runLine } from "../support/command-session.ts";
import { type Program, startProgram } from "../support/crash.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-budgets-"));
const data = join(root, "data");
const config = join(root, "wadi.toml");
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SETTINGS = `
[[models]]
id = "stub-1"
self_hosted = true
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }
`;
const LIMIT = 10_000;
const MAX_TOKENS = 500;

let key: string;
/** Tokens of the prompt, and of a reply. */
let prompt: number;
let reply: number;
/** What all requests so far count. */
const expected = { used: 0, estimated: 0 };

interface Server {
  child: Program;
  url: string;
}
/** It has settled what dead ones left, and lives until the next fail point. */
let server: Server;

const SERVE = ["serve", "--port", "0", "--config", config, "--data", data];

async function serve(): Promise<Server> {
  const child = startProgram(SERVE);
  for (;;) {
    const line = await child.next();
    if (line === undefined) throw new Error((await child.ended).errors);
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return { child, url };
  }
}

const wadi = async (...words: string[]) => {
  const args = [...words, "--config", config, "--data", data];
  const env = { PATH: process.env.PATH, HOME: root };
  const ended = await runLine({ args, cwd: root, env, stdin: "" });
  expect([args[0], ended.code, ended.stderr.includes("error")]).toEqual([args[0], 0, false]);
  return ended.stdout.trim();
};

const chat = async ({ url }: Server) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      max_tokens: MAX_TOKENS,
      messages: [{ role: "user", content: "!say one two three four" }],
    }),
  });
  return (await response.json()) as { usage: Record<string, number> };
};

/** Reads the limit of tokens beside a running server. */
const readUse = async () => {
  const { limits } = JSON.parse(await wadi("accounts", "limit", "acme", "--json"));
  expect(limits).toMatchObject([{ name: "tokens_month", maximum: LIMIT, reserved: 0 }]);
  const { used, estimated_requests } = limits[0];
  return { used, estimated: estimated_requests };
};

beforeAll(async () => {
  await Bun.write(config, SETTINGS);
  await wadi("accounts", "create", "acme");
  key = await wadi("keys", "create", "--account", "acme");
  await wadi("accounts", "limit", "acme", "--tokens-month", String(LIMIT));
  server = await serve();
  const { usage } = await chat(server);
  [prompt, reply] = [usage.prompt_tokens!, usage.completion_tokens!];
  server.child.terminate();
  await server.child.ended;
  server = await serve();
  expected.used = prompt + reply;
  expect(await readUse()).toEqual(expected);
});

/** Tokens that one request counts, by what is known of it. */
const countTokens = (known: "nothing" | "reservation" | "usage"): number => {
  if (known === "nothing") return 0;
  return prompt + (known === "usage" ? reply : MAX_TOKENS);
};

/** A request at which the server dies; the reply may leave before its settlement is written. */
const dieAt = async (point: string) => {
  server.child.arm(point);
  await chat(server).catch(() => null);
  expect((await server.child.ended).signal).toBe("SIGKILL");
};

// Each start reads again what the starts before it have settled.
test.each([
  ["budgets.reserve:before", "nothing", 0],
  ["budgets.reserve:after", "reservation", 1],
  ["budgets.settle:before", "reservation", 1],
  ["budgets.settle:after", "usage", 0],
] as const)("%s: the request counts by its %s, once", async (point, known, estimated) => {
  await dieAt(point);
  expected.used += countTokens(known);
  expected.estimated += estimated;
  server = await serve();
  expect(await readUse()).toEqual(expected);
});

test("a server killed in its recovery charges once", async () => {
  await dieAt("budgets.reserve:after");
  for (const point of ["budgets.recover:before", "budgets.recover:after"])
    expect((await startProgram(SERVE, point).ended).signal).toBe("SIGKILL");
  expected.used += countTokens("reservation");
  expected.estimated += 1;
  for (let starts = 0; starts < 2; starts++) {
    server = await serve();
    expect(await readUse()).toEqual(expected);
    server.child.terminate();
    await server.child.ended;
  }
});
