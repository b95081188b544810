// POST /v1/tools/{name}/test: one call of a tool, as a run would make it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { allow, createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { readJson, startService } from "./service.ts";
import { register, revise } from "./tools-bodies.ts";

const key = `${KEY}-approver`;

let app: TestApp;
let receiver: Receiver;
beforeAll(async () => {
  app = await startService({ listens: true });
  receiver = openReceiver(async ({ path, body }) => {
    if (path === "/broken") return new Response("It broke.", { status: 500 });
    if (path === "/long") return new Response("x".repeat(100_000));
    return new Response(`I got ${body}`, { headers: { "content-type": "text/plain" } });
  });
});
afterAll(async () => {
  receiver[Symbol.dispose]();
  await app.stop();
});

const at = (path: string) => `${receiver.origin}${path}`;
const trial = (name: string, args: unknown = { to: "Ada" }) =>
  app.post(`/v1/tools/${name}/test`, { arguments: args }, { key });

describe("agents.endpoints.tools.p1 a test", () => {
  test("agents.resources.tool sends the arguments as JSON to the latest revision, and reports the result", async () => {
    await register(app, { name: "tried", endpoint: at("/first") });
    await revise(app, "tried", { endpoint: at("/second"), external_content: false });
    receiver.received.length = 0;
    const { duration_ms, ...result } = await readJson(await trial("tried"));
    expect(result).toEqual({
      ...{ outcome: "ok", content: 'I got {"to":"Ada"}', truncated: false },
      ...{ http_status: 200, external: false },
    });
    expect(duration_ms).toBeGreaterThanOrEqual(0);
    const [{ path, method, body, headers }] = receiver.received as [Receiver["received"][0]];
    expect([path, method, body]).toEqual(["/second", "POST", '{"to":"Ada"}']);
    expect(headers["idempotency-key"]).toMatch(/^call_\w{24}$/);
    // Each is a call of its own.
    await trial("tried");
    expect(receiver.received[1]!.headers["idempotency-key"]).not.toBe(headers["idempotency-key"]);
    expect((await readJson(await app.get("/v1/runs"))).data).toEqual([]);
  });

  test("a failure of the tool is reported, and is no error of the request", async () => {
    await register(app, { name: "broken", endpoint: at("/broken"), risk: "read" });
    await register(app, { name: "nobody", endpoint: "http://127.0.0.1:9/" });
    expect(await readJson(await trial("broken"))).toMatchObject({
      ...{ outcome: "error", http_status: 500, external: true },
    });
    expect(await readJson(await trial("nobody"))).toMatchObject({
      ...{ outcome: "error", http_status: null, external: false },
    });
  });

  test("a long result is reported by its beginning and end", async () => {
    await register(app, { name: "long", endpoint: at("/long") });
    const { content, truncated } = await readJson(await trial("long"));
    expect([truncated, content.length < 66_000]).toEqual([true, true]);
    expect(content).toContain("characters are left out here");
  });

  test("agents.errors.invalid_request invalid arguments are refused, and nothing is sent", async () => {
    await register(app, { name: "strict", endpoint: at("/strict") });
    receiver.received.length = 0;
    const long = { to: 1, ["\n".repeat(500)]: "x".repeat(100_000) };
    for (const args of [{}, { to: 1 }, { to: null, from: "x" }, long]) {
      await expectRefusal(await trial("strict", args), 400, "invalid_request", "arguments");
    }
    expect(receiver.received).toEqual([]);
    for (const args of [null, "{}", [], 1]) {
      await expectRefusal(await trial("strict", args), 400, undefined, "arguments");
    }
  });

  test("agents.errors.invalid_request a tool that is switched off is not called", async () => {
    await register(app, { name: "off", endpoint: at("/off") });
    await app.post("/v1/tools/off/disable", undefined);
    receiver.received.length = 0;
    await expectRefusal(await trial("off"), 400, "invalid_request", "name");
    expect(receiver.received).toEqual([]);
  });

  test("agents.authentication.2 agents.errors.scope_required it needs both scopes, checked before its body", async () => {
    await register(app, { name: "guarded", endpoint: at("/guarded") });
    const path = "/v1/tools/guarded/test";
    for (const scopes of [["agents"], ["agents.approve"]] as const) {
      const one = await createKey(app, { scopes: [...scopes] });
      const reply = await app.post(path, "{", { key: one });
      await expectRefusal(reply, 403, "scope_required");
    }
  });

  test("it ends at its tool's timeout", async () => {
    const arrived = Promise.withResolvers<void>();
    using silent = openReceiver(() => {
      arrived.resolve();
      return new Promise<Response>(() => {});
    });
    await register(app, { name: "silent", endpoint: `${silent.origin}/`, timeout_ms: 2_000 });
    const running = trial("silent");
    await arrived.promise;
    await app.clock.advance(1_999);
    expect(Bun.peek.status(running)).toBe("pending");
    await app.clock.advance(1);
    expect(await readJson(await running)).toMatchObject({
      ...{ outcome: "outcome_unknown", http_status: null, duration_ms: 2_000, external: false },
    });
  });

  test("at most eight tests of an account run concurrently, another starts when one ends, and no other account waits", async () => {
    const waiting: (() => void)[] = [];
    const arrived = Promise.withResolvers<void>();
    using slow = openReceiver(async () => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 8) arrived.resolve();
      });
      return new Response("Done.");
    });
    await register(app, { name: "slow", endpoint: `${slow.origin}/` });
    const running = Array.from({ length: 8 }, () => trial("slow"));
    await arrived.promise;
    const ninth = await trial("slow");
    expect(ninth.headers.get("retry-after")).toBe("1");
    await expectRefusal(ninth, 429, undefined);
    const scopes = ["agents" as const, "agents.approve" as const];
    const neighbour = await allow(app, "Neighbour", { scopes });
    await register(app, { name: "strict", endpoint: at("/") }, { key: neighbour.key });
    const other = { arguments: { to: "Ada" } };
    const served = await app.post("/v1/tools/strict/test", other, { key: neighbour.key });
    expect(served.status).toBe(200);
    for (const release of waiting) release();
    for (const reply of await Promise.all(running)) expect(reply.status).toBe(200);
    await readJson(await trial("strict"));
  });
});
