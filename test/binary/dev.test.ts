// `wadi dev` as compiled: a stub to develop against, on this machine only.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { sendRaw } from "../http/raw-client.ts";
import { startApp } from "../support/app.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";

const ENDINGS = ["-approver", "-none", "-other", "-expired", "-revoked", "-internal", "-ownerless"];

let room: Room;
let dev: Server;
beforeAll(async () => {
  room = openRoom();
  // `dev` ignores the address in the settings, because its keys are well known.
  const env = { WADI_SERVER__HOST: "0.0.0.0" };
  dev = await room.serve(["dev", "--port", "0"], { env });
});
afterAll(() => room.close());

test("a start prints at most twelve lines", () => {
  expect(dev.banner.length).toBeLessThanOrEqual(12);
  expect(dev.banner).toEqual([
    expect.stringMatching(/^wadi \d+\.\d+\.\d+$/),
    `address   ${dev.url}/v1`,
    `openapi   ${dev.url}/openapi.json`,
    "data      in memory, gone at exit",
    "models    stub-1 (default)",
    "services  embeddings (stub) · search (stub)",
    `keys      svc_sk_dev, and with these endings: ${ENDINGS.join(" ")}; operator token svc_sk_dev-operator`,
    "",
    expect.stringMatching(/^curl /),
    expect.stringMatching(/^Open the console: http:\/\/127\.0\.0\.1:\d+\/console\/#wadi_link_\w+$/),
  ]);
});

test("the printed command works when it is pasted into a shell", async () => {
  const command = dev.banner.find((line) => line.startsWith("curl "));
  const reply = { choices: [{ message: { content: "You said: Hello" } }] };
  if (Bun.which("curl")) {
    const pasted = await room.run(["-c", `${command} -sS`], { command: ["sh"] });
    expect(pasted).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(pasted.stdout)).toMatchObject(reply);
  }
  const [, url, authorization, type, body] =
    /^curl (\S+) -H 'Authorization: (.+?)' -H 'Content-Type: (.+?)' -d '(.+)'$/.exec(command!)!;
  const headers = { authorization: authorization!, "content-type": type! };
  const response = await fetch(url!, { method: "POST", headers, body });
  expect(await response.json()).toMatchObject(reply);
});

test("its packed tokenizer counts as that of the sources does", async () => {
  const words = "antidisestablishmentarianism, naïve Straße; def f(x): return x**2 # 1234567\n";
  const scripts = [0x370, 0x400, 0x5d0, 0x620, 0x905, 0xe01, 0x3041, 0x4e00, 0xac00, 0x1f600];
  const letters = scripts.map((from) =>
    String.fromCodePoint(...Array.from({ length: 40 }, (_, at) => from + at)),
  );
  const content = words.repeat(3) + letters.join(" ");
  const reply = await fetch(`${dev.url}/v1/messages/count_tokens`, {
    method: "POST",
    headers: { "x-api-key": "svc_sk_dev", "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content }] }),
  });
  const app = await startApp({ settings: "[gateway]\nmessages = true\n" });
  const counted = await app.post("/v1/messages/count_tokens", {
    messages: [{ role: "user", content }],
  });
  expect(await reply.json()).toEqual(await counted.json());
  await app.stop();
});

test("it listens on loopback only", async () => {
  const { port } = new URL(dev.url);
  expect(dev.url).toBe(`http://127.0.0.1:${port}`);
  const outer = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal);
  if (!outer) return;
  await expect(fetch(`http://${outer.address}:${port}/healthz`)).rejects.toThrow();
});

test("it serves the document, liveness and readiness", async () => {
  for (const path of ["/healthz", "/readyz", "/openapi.json", "/docs/changes"]) {
    expect((await fetch(`${dev.url}${path}`)).status).toBe(200);
  }
  const document = await (await fetch(`${dev.url}/openapi.json`)).json();
  const { stdout } = await room.run(["openapi"]);
  expect(JSON.parse(stdout)).toEqual(document);
});

test("each of its keys has its own kind", async () => {
  const served = { "": 201, "-approver": 201, "-none": 201, "-other": 201, "-ownerless": 201 };
  const refused = { "-expired": 401, "-revoked": 401, "-internal": 403, "-unknown": 401 };
  for (const [ending, status] of Object.entries({ ...served, ...refused })) {
    const key = `${dev.key}${ending}`;
    expect([ending, (await dev.chat("Hello", { key })).status]).toEqual([ending, status]);
  }
});

test("--now shows callers what changes at a date, --key names the first key", async () => {
  const line = ["dev", "--port", "0", "--now", "2027-01-05", "--key", "mine"];
  const later = await room.serve(line);
  expect(later.key).toBe("mine");
  const body = { model: "no-such-model" };
  expect((await later.chat("Hello", { body })).status).toBe(404);
  const now = await dev.chat("Hello", { body });
  expect(now.status).toBe(201);
  expect(now.headers.get("deprecation")).toBeString();
  expect((await later.chat("Hello", { key: "mine-expired" })).status).toBe(401);
});

test("a first key or a date that cannot be used is wrong usage", async () => {
  const refused = {
    "--key": ["a b", "k'", "x".repeat(201)],
    "--now": ["tomorrow", "2027-02-30", "2027-01-05T25:00Z", "2027-01-05 09:30"],
  };
  for (const [flag, texts] of Object.entries(refused)) {
    for (const text of texts) {
      const { code, stderr } = await room.perform(["dev", "--port", "0", flag, text]);
      expect([flag, text, code]).toEqual([flag, text, 2]);
      expect(stderr).toStartWith(`wadi: ${flag} takes `);
    }
  }
});

test("--data keeps its data", async () => {
  const line = ["dev", "--port", "0", "--data", "kept"];
  const first = await room.serve(line);
  await room.run(["accounts", "create", "acme", "--data", "kept"]);
  const made = await room.run(["keys", "create", "--account", "acme", "--data", "kept"]);
  const key = made.stdout.trim();
  expect((await first.chat("Hello", { key })).status).toBe(201);
  first.signal("SIGTERM");
  expect(await first.exited).toBe(0);
  const second = await room.serve([...line, "--key", "another"]);
  for (const one of [key, "another", "svc_sk_dev"]) {
    expect((await second.chat("Hello", { key: one })).status).toBe(201);
  }
});

test("--json prints the start as one document on one line", async () => {
  const server = await room.serve(["dev", "--port", "0", "--key", "k", "--json"]);
  expect(server.banner).toHaveLength(1);
  expect(JSON.parse(server.banner[0]!)).toEqual({
    version: dev.banner[0]!.slice("wadi ".length),
    url: server.url,
    data: "in memory, gone at exit",
    egress: { open: [] },
    console_link: expect.stringContaining("/console/#wadi_link_"),
    models: [{ id: "stub-1", state: "on" }],
    default_model: "stub-1",
    services: [
      { name: "embeddings", kind: "stub" },
      { name: "search", kind: "stub" },
    ],
    keys: ["k", ...ENDINGS.map((ending) => `k${ending}`)],
    key_file: null,
    operator_token: "k-operator",
  });
  expect((await server.chat("Hello")).status).toBe(201);
});

test("the executable contains the bundled tokenizer", async () => {
  const settings = `
[[models]]
id = "gone"
provider = "wadi"
self_hosted = true
context_window = 2_048
[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:1/v1"]
health_every = "0s"
`;
  await Bun.write(join(room.directory, "window.toml"), settings);
  const server = await room.serve(["dev", "--port", "0", "--config", "window.toml"]);
  const ask = async (words: number) => {
    const response = await server.chat("word ".repeat(words), { key: "svc_sk_dev" });
    return ((await response.json()) as { error: { code: string } }).error.code;
  };
  // Both have more bytes than the window has tokens: only counting separates them.
  expect(await ask(5_000)).toBe("context_length_exceeded");
  expect(await ask(1_000)).toBe("upstream_error");
});

test("requests from a web page of another host are refused, under any host name and without Origin", async () => {
  const ask = async (path: string, lines: readonly string[], url = dev.url) => {
    const head = [`GET ${path} HTTP/1.1`, ...lines, "Authorization: Bearer svc_sk_dev"];
    return (await sendRaw(url, `${head.join("\r\n")}\r\n\r\n`))!.status;
  };
  const paths = ["/v1/models", "/v1/runs", "/metrics", "/openapi.json", "/healthz"];
  for (const path of paths) {
    expect(await ask(path, ["Host: evil.example"])).toBe(403);
    expect(await ask(path, ["Host: localhost", "Origin: https://evil.example"])).toBe(403);
  }
  expect(await ask("/v1/models", ["Host: localhost", "Origin: http://localhost:3000"])).toBe(200);

  const env = {
    WADI_SERVER__CORS_ORIGINS: "https://app.example",
    WADI_SERVER__PUBLIC_URL: "https://wadi.example",
  };
  const opened = await room.serve(["dev", "--port", "0"], { env });
  const app = "Origin: https://app.example";
  expect(await ask("/v1/models", ["Host: wadi.example", app], opened.url)).toBe(200);
  expect(await ask("/v1/models", ["Host: app.example", app], opened.url)).toBe(403);
});
