// The process of the compiled program: its environment does not affect it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";
import { answerText, startUpstream, writeSettings } from "../support/upstream.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** More than Bun's own `fetch` lets out at once. */
const REQUESTS = 600;
/** The port has no listener. */
const DEAD = "http://127.0.0.1:1";

test(`${REQUESTS} callers' requests reach the model server concurrently`, async () => {
  const arrived = Promise.withResolvers<void>();
  const upstream = startUpstream(async () => {
    if (upstream.asked.length === REQUESTS) arrived.resolve();
    await arrived.promise;
    return answerText("together");
  });
  try {
    writeFileSync(join(room.directory, "many.toml"), writeSettings(upstream.url));
    const limit = { WADI_LIMITS__REQUESTS_PER_MINUTE: "10000" };
    const line = ["dev", "--port", "0", "--config", "many.toml"];
    const server = await room.serve(line, { env: limit });
    const command = [process.execPath, "-e", CALLERS, String(REQUESTS), server.url, server.key];
    // In a process of their own, and not in this one, which Bun limits in the same way.
    const callers = await room.run([], { command, env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "1000" } });
    expect(callers).toEqual({ code: 0, stdout: `${REQUESTS} of 201\n`, stderr: "" });
  } finally {
    await upstream.stop();
  }
});

const CALLERS = `
  const [count, url, key] = process.argv.slice(1);
  const ask = async () => {
    const response = await fetch(url + "/v1/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + key, "content-type": "application/json" },
      body: '{"messages":[{"role":"user","content":"Hello"}]}',
    });
    await response.text();
    return response.status;
  };
  const all = await Promise.all(Array.from({ length: Number(count) }, ask));
  console.log(all.filter((status) => status === 201).length + " of 201");
`;

test("a proxy in the environment is not used", async () => {
  const upstream = startUpstream();
  try {
    writeFileSync(join(room.directory, "proxied.toml"), writeSettings(upstream.url));
    const env = { HTTP_PROXY: DEAD, http_proxy: DEAD, HTTPS_PROXY: DEAD, ALL_PROXY: DEAD };
    const line = ["dev", "--port", "0", "--config", "proxied.toml"];
    const server = await room.serve(line, { env });
    expect((await server.chat("Hello")).status).toBe(201);
    expect(upstream.asked).toHaveLength(1);
  } finally {
    await upstream.stop();
  }
});

test("it runs as one process, and shows its arguments", async () => {
  const server = await room.serve(["dev", "--port", "0", "--key", "kept-argument"]);
  expect(server.key).toBe("kept-argument");
  expect(process.kill(server.pid, 0)).toBeTrue();
  if (process.platform !== "linux") return;
  const read = (name: string) => readFileSync(`/proc/${server.pid}/${name}`, "utf8").split("\0");
  expect(read("cmdline").slice(1, -1)).toEqual(["dev", "--port", "0", "--key", "kept-argument"]);
  expect(readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8")).toBe("");
});

test("a hostile .env and bunfig.toml in the start directory are not read", async () => {
  const cwd = join(room.directory, "hostile");
  mkdirSync(cwd);
  const env = ["WADI_SERVER__PORT=1", "WADI_SERVICE__ALIAS=evil", "WADI_SERVER__HOST=0.0.0.0"];
  for (const name of [".env", ".env.local", ".env.production", ".env.development"]) {
    writeFileSync(join(cwd, name), [...env, `BUN_OPTIONS=--preload=./evil.ts`, ""].join("\n"));
  }
  writeFileSync(join(cwd, "evil.ts"), 'require("node:fs").writeFileSync("ran", ""); throw 1;');
  writeFileSync(join(cwd, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
  writeFileSync(join(cwd, "package.json"), '{"type":"commonjs","imports":{"#x":"./evil.ts"}}');
  writeFileSync(join(cwd, "tsconfig.json"), '{"compilerOptions":{"paths":{"*":["./evil.ts"]}}}');

  const server = await room.serve(["serve", "--port", "0"], { cwd });
  expect(server.url).toStartWith("http://127.0.0.1:");
  expect(server.key).toStartWith("svc_sk_");
  expect((await server.chat("Hello")).status).toBe(201);
  expect((await room.run(["keys", "list"], { cwd })).code).toBe(0);
  expect(await Bun.file(join(cwd, "ran")).exists()).toBeFalse();
});
