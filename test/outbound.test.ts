// Every way out against every way in which Bun can fail to connect: a code, and nothing is left.
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { createStartPlan } from "../src/models/autostart/start-plan.ts";
import { createHealthCheck } from "../src/models/replicas/health.ts";
import { createTrustedEgress } from "../src/net/index.ts";
import { guard, ask as guardedAsk } from "./net/guard.ts";
import { startApp, type TestApp } from "./support/app.ts";
import { createManualClock, type ManualClock } from "./support/clock.ts";

type Handlers = Bun.SocketHandler<undefined>;
/** Behaviour of a stand-in for Bun with the callbacks of one connection. */
type Fail = (socket: Handlers) => void;

const socket = { setNoDelay() {}, terminate() {}, end() {}, write: () => 0, pause() {} };
const opened = socket as unknown as Bun.Socket<undefined>;
const failWith = (code: string): Fail => {
  const error = Object.assign(new Error("Failed to connect"), { code });
  return (handlers) => handlers.connectError?.(opened, error);
};
const later =
  (fail: Fail): Fail =>
  (handlers) =>
    void setImmediate(fail, handlers);
const reset: Fail = (handlers) => {
  handlers.open?.(opened);
  handlers.close?.(opened);
};

type Kind = "refused" | "dns" | "timeout" | "reset";
const FAILURES: [title: string, kind: Kind, fail: Fail][] = [
  ["has no route, inside the call", "refused", failWith("ENETUNREACH")],
  ["is forbidden, inside the call", "refused", failWith("EACCES")],
  ["has no descriptor, inside the call", "refused", failWith("EMFILE")],
  ["has no address of our own, inside the call", "refused", failWith("EADDRNOTAVAIL")],
  ["knows its name by then, inside the call", "dns", failWith("ENOTFOUND")],
  ["is refused", "refused", later(failWith("ECONNREFUSED"))],
  ["has no name", "dns", later(failWith("ENOTFOUND"))],
  ["is heard of no more", "timeout", () => {}],
  ["is reset", "reset", later(reset)],
];

const SETTINGS = `
[limits]
requests_per_minute = 1000

[[models]]
id = "chat"
self_hosted = true
context_window = 4096
capabilities = ["streaming"]

[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:9/v1"]
max_in_flight = 1
connect_timeout = "1s"

[embeddings]
kind = "openai"
urls = ["http://127.0.0.1:9/v1"]
connect_timeout = "1s"

[search]
kind = "searxng"
url = "http://127.0.0.1:9"
connect_timeout = "1s"
`;

/** Time passes only as long as it is waited for. */
async function pass<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  while (Bun.peek.status(work) === "pending") await clock.advance(100);
  return work;
}

async function codeOf(app: TestApp, reply: Promise<Response>): Promise<string | undefined> {
  const text = await pass(
    app.clock,
    reply.then((one) => one.text()),
  );
  return /"code":"(\w+)"/.exec(text)?.[1];
}

const chat =
  (fields: object, content = "Hello") =>
  (app: TestApp) =>
    codeOf(app, app.chat(content, { model: "chat", max_tokens: 64, ...fields }));
const CHATS: [path: string, go: (app: TestApp) => Promise<string | undefined>][] = [
  ["a chat", chat({})],
  ["a stream", chat({ stream: true })],
  ["think", chat({ think: true })],
  ["a token count, and its chat", chat({}, "word ".repeat(800))],
];
const SHARED: typeof CHATS = [
  ["embeddings", (app) => codeOf(app, app.post("/v1/embeddings", { model: "bge-m3", input: "x" }))],
  ["a search", (app) => codeOf(app, app.post("/v1/search", { query: "x" }))],
];

for (const [title, kind, fail] of FAILURES) {
  describe(`where a connection ${title},`, () => {
    let connect: { mockRestore(): void };
    beforeEach(() => {
      connect = spyOn(Bun, "connect").mockImplementation(((options: { socket: Handlers }) => {
        fail(options.socket);
        return new Promise(() => undefined);
      }) as unknown as typeof Bun.connect);
    });
    afterEach(() => connect.mockRestore());

    test("callers get the error, and hold no slot", async () => {
      const app = await startApp({ settings: SETTINGS });
      const isLate = kind === "timeout";
      for (const [path, go] of CHATS) {
        const code = isLate ? "upstream_timeout" : "upstream_error";
        expect([path, await go(app)]).toEqual([path, code]);
      }
      for (const [path, go] of SHARED) {
        const code = kind === "reset" ? "upstream_error" : "service_unavailable";
        for (let time = 0; time < 2; time += 1) expect([path, await go(app)]).toEqual([path, code]);
      }
      await app.stop();
    });

    test("a tool, a page and a webhook fail with a reason", async () => {
      const clock = createManualClock();
      const egress = guard(["127.0.0.1:*"], { clock });
      const outcome = await pass(
        clock,
        egress.request({ ...guardedAsk, url: "http://127.0.0.1:9" }),
      );
      expect(outcome).toMatchObject({ ok: false, code: kind, sent: kind === "reset" });
      expect(clock.pending()).toBe(0);
    });

    test("a server's health is unknown, and its managed server is not started", async () => {
      const clock = createManualClock();
      const egress = createTrustedEgress({ clock });
      const url = "http://127.0.0.1:9/health";
      const { signal } = new AbortController();
      const look = createHealthCheck(egress.open(url, { headers: {}, connectTimeoutMs: 1_000 }));
      expect(await pass(clock, look(signal))).toBe(kind === "refused" ? "refused" : "silent");
      const times = { timeout_ms: 9_000, idle_stop_ms: 0, min_up_ms: 0 };
      const start = {
        request: `POST ${url}`,
        command: [],
        stop: "",
        stop_command: [],
        health: url,
      };
      const plan = createStartPlan({ ...start, ...times }, { egress, clock });
      expect(await pass(clock, plan.isUp())).toBe(false);
      expect(await pass(clock, plan.start!(signal))).toBeString();
      egress.close();
      expect(clock.pending()).toBe(0);
    });
  });
}
