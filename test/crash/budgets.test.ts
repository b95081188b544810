// The compiled program, killed at every write of a budget: nothing is free, and nothing counts twice.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyData } from "../../scripts/prove/data-copy.ts";
import { type Child, runProgram, startProgram } from "../support/crash.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-budgets-"));
const template = join(root, "template");
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

interface Server {
  child: Child;
  url: string;
}

async function serve(data: string, failPoint = ""): Promise<Server> {
  const args = ["serve", "--port", "0", "--config", config, "--data", data];
  const child = startProgram(args, failPoint);
  for (;;) {
    const line = await child.next();
    if (line === undefined) throw new Error((await child.ended).errors);
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return { child, url };
  }
}

const wadi = async (data: string, ...args: string[]) => {
  const ended = await runProgram([...args, "--config", config, "--data", data]);
  expect([args[0], ended.code, ended.errors.includes("error")]).toEqual([args[0], 0, false]);
  return ended.lines;
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

const stop = async ({ child }: Server) => {
  child.terminate();
  await child.ended;
};

/** Starts a server, which settles what dead ones left, and reads the limit of tokens beside it. */
const readUse = async (data: string) => {
  const server = await serve(data);
  const [line] = await wadi(data, "accounts", "limit", "acme", "--json");
  await stop(server);
  const { limits } = JSON.parse(line!);
  expect(limits).toMatchObject([{ name: "tokens_month", maximum: LIMIT, reserved: 0 }]);
  const { used, estimated_requests } = limits[0];
  return { used, estimated: estimated_requests };
};

beforeAll(async () => {
  await Bun.write(config, SETTINGS);
  await wadi(template, "accounts", "create", "acme");
  [key] = (await wadi(template, "keys", "create", "--account", "acme")) as [string];
  await wadi(template, "accounts", "limit", "acme", "--tokens-month", String(LIMIT));
  const server = await serve(template);
  const { usage } = await chat(server);
  [prompt, reply] = [usage.prompt_tokens!, usage.completion_tokens!];
  await stop(server);
  expect(await readUse(template)).toEqual({ used: prompt + reply, estimated: 0 });
});

/** Tokens that one request counts, by what is known of it. */
const countTokens = (known: "nothing" | "reservation" | "usage"): number => {
  if (known === "nothing") return 0;
  return prompt + (known === "usage" ? reply : MAX_TOKENS);
};

test.each([
  ["budgets.reserve:before", "nothing", 0],
  ["budgets.reserve:after", "reservation", 1],
  ["budgets.settle:before", "reservation", 1],
  ["budgets.settle:after", "usage", 0],
] as const)("%s: the request counts by its %s, once", async (point, known, estimated) => {
  const data = join(root, point.replace(/\W/g, "-"));
  copyData(template, data);
  const server = await serve(data, point);
  // The reply may leave before its settlement is written.
  await chat(server).catch(() => null);
  expect((await server.child.ended).signal).toBe("SIGKILL");
  const used = countTokens("usage") + countTokens(known);
  expect(await readUse(data)).toEqual({ used, estimated });
  expect(await readUse(data)).toEqual({ used, estimated });
});

test("a server killed in its recovery charges once", async () => {
  const data = join(root, "recovery");
  copyData(template, data);
  const server = await serve(data, "budgets.reserve:after");
  await chat(server).catch(() => null);
  await server.child.ended;
  for (const point of ["budgets.recover:before", "budgets.recover:after"]) {
    const args = ["serve", "--port", "0", "--config", config, "--data", data];
    expect((await startProgram(args, point).ended).signal).toBe("SIGKILL");
  }
  const used = countTokens("usage") + countTokens("reservation");
  expect(await readUse(data)).toEqual({ used, estimated: 1 });
});
