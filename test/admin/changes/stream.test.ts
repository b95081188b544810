// Tests the stream of changes over HTTP: what a page is told, and when its stream ends.
import { describe, expect, test } from "bun:test";
import { startApp } from "../../support/app.ts";

const USER = { kind: "user", name: "root", via: "command line" } as const;
const PATH = "/operator/v1/changes";

async function open(options: Parameters<typeof startApp>[0] = {}) {
  const started = await startApp({ listens: true, ...options });
  const { app, clock, ask, url } = started;
  await app.admin.operators.create({ name: "noura", role: "operator" });
  await app.admin.operators.create({ name: "sami", role: "approver" });
  const signIn = async (as = "noura") => {
    const { token } = await app.admin.sessions.createLink(as, USER);
    const headers = { origin: url };
    const reply = await ask("POST", "/console/session", { key: null, headers, body: { token } });
    return reply.headers.get("set-cookie")!.split(";", 1)[0]!;
  };
  const get = (headers: Record<string, string>) => ask("GET", PATH, { key: null, headers });
  const follow = async (cookie: string) => {
    const response = await get({ cookie });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const reading = (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += part.value;
      }
    })();
    return {
      /** Lets time pass until the page has been told. */
      async until(part: string) {
        while (!text.includes(part)) await clock.advance(50);
      },
      /** Reads to the end. */
      async rest() {
        await reading;
        return text;
      },
    };
  };
  return { ...started, signIn, get, follow, clock };
}

test("a page is told of accounts, keys, agents, runs, approvals and requests", async () => {
  const { app, post, chat, signIn, follow, stop } = await open();
  const page = await follow(await signIn());
  await page.until(": open\n\n");
  await app.admin.accounts.create("acme");
  await page.until('{"topic":"accounts","id":null,"changes":1}');
  await chat("Hi");
  await page.until('"topic":"requests"');
  const tool = {
    ...{ name: "pay", risk: "irreversible", endpoint: "https://pay.wadi.sa/v1" },
    ...{ description: "Pays.", parameters: { type: "object", properties: {} } },
  };
  await post("/v1/tools", tool);
  const agent = { name: "Clerk", system_prompt: "Be brief.", tools: ["pay"] };
  const { id } = (await (await post("/v1/agents", agent)).json()) as { id: string };
  await page.until('"topic":"agents"');
  const run = await post(`/v1/agents/${id}/runs`, { input: { message: "!tool pay {}" } });
  const { id: run_id } = (await run.json()) as { id: string };
  await page.until(`{"topic":"runs","id":"${run_id}"`);
  await page.until('"topic":"approvals","id":"');
  await stop();
  expect(await page.rest()).not.toContain("undefined");
});

describe("a stream ends", () => {
  test("with its session, by the next comment", async () => {
    const { app, clock, signIn, follow, stop } = await open();
    const page = await follow(await signIn());
    await page.until(": open");
    const [session] = await app.admin.sessions.list();
    await clock.advance(3_000);
    await page.until(": keep-alive");
    await app.admin.sessions.end(session!.id);
    await clock.advance(3_000);
    expect(await page.rest()).toEndWith('"topic":"sessions","id":null,"changes":1}\n\n');
    await stop();
  });

  test("with its operator", async () => {
    const { app, clock, signIn, follow, stop } = await open();
    const page = await follow(await signIn("sami"));
    await app.admin.operators.revoke("sami");
    await clock.advance(3_000);
    expect(await page.rest()).toContain(": open");
    await stop();
  });

  test("when the server stops or is taken over, so that the page opens another", async () => {
    const { signIn, follow, stop } = await open();
    const page = await follow(await signIn());
    await page.until(": open");
    await stop();
    expect(await page.rest()).toContain(": open");
  });
});

test("a stream needs a session, and its own Host and Origin", async () => {
  const { url, signIn, get, stop } = await open();
  const cookie = await signIn();
  const status = async (headers: Record<string, string>) => {
    const reply = await get(headers);
    await reply.body?.cancel();
    return reply.status;
  };
  expect(await status({ cookie, origin: url })).toBe(200);
  expect(await status({})).toBe(401);
  expect(await status({ cookie: cookie.slice(0, -1) })).toBe(401);
  expect(await status({ cookie, origin: "https://evil.example" })).toBe(403);
  expect(await status({ cookie, host: "evil.example" })).toBe(403);
  expect(await status({ cookie, "sec-fetch-site": "cross-site" })).toBe(403);
  await stop();
});

test("it counts against the limit of its operator, and is off with the API", async () => {
  const limited = await open({ settings: "[operator]\nrequests_per_minute = 1\n" });
  const cookie = await limited.signIn();
  expect([(await limited.get({ cookie })).status, (await limited.get({ cookie })).status]).toEqual([
    200, 429,
  ]);
  await limited.stop();
  const { ask, stop } = await startApp({ settings: "[operator]\nenabled = false\n" });
  expect((await ask("GET", PATH)).status).toBe(404);
  await stop();
});
