// Tests tokens of servers, which only their owner reads, and paths of requests.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { accountOperations, connectionOperations } from "../../src/admin/index.ts";
import {
  findServer,
  isServing,
  keepToken,
  openRemote,
  readServerUrl,
} from "../../src/cli/remote.ts";

const NAMES = ["XDG_CONFIG_HOME", "WADI_OPERATOR_TOKEN", "WADI_SERVER_URL"] as const;
const before = NAMES.map((name) => [name, process.env[name]] as const);
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-remote-"));
  for (const name of NAMES) delete process.env[name];
  process.env.XDG_CONFIG_HOME = directory;
});
afterEach(() => {
  rmSync(directory, { recursive: true });
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

const find = (server: string) => findServer({ args: [], flags: { server } });
const modeOf = (path: string) => statSync(path).mode & 0o777;

test("tokens of several servers are kept in a file that only its owner reads", () => {
  const file = keepToken({ url: "https://one.example", token: "t-1" });
  expect([modeOf(file), modeOf(dirname(file))]).toEqual([0o600, 0o700]);
  chmodSync(file, 0o644);
  expect(keepToken({ url: "https://two.example", token: "t-2" })).toBe(file);
  expect(modeOf(file)).toBe(0o600);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    ...{ "https://one.example": "t-1", "https://two.example": "t-2" },
  });
  expect(find("https://two.example/")).toEqual({ url: "https://two.example", token: "t-2" });
  process.env.WADI_OPERATOR_TOKEN = "t-3";
  expect(find("https://two.example")!.token).toBe("t-3");
});

test("a server without a token is asked with that of `wadi dev` only on this machine", () => {
  expect(find("http://127.0.0.1:8080")).toMatchObject({ token: "svc_sk_dev-operator" });
  expect(() => find("https://one.example")).toThrow("there is no token for https://one.example");
});

test.each(["", ".", ".."])(
  "a name %p, which would lead to another path, is not asked for",
  async (name) => {
    const perform = openRemote({ url: "http://127.0.0.1:1", token: "t" });
    const asked = perform(accountOperations.hold, { name });
    await expect(asked).rejects.toThrow(`there is no "${name}"`);
  },
);

describe("a server", () => {
  const asked: { path: string; body: string }[] = [];
  let reply: { status: number; value: unknown };
  let url: string;
  let server: Bun.Server<undefined>;
  beforeAll(() => {
    server = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0 },
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        asked.push({ path: pathname + search, body: await request.text() });
        return Response.json(reply.value, { status: reply.status });
      },
    });
    url = `http://127.0.0.1:${server.port}`;
  });
  afterAll(() => server.stop(true));
  const refusal = (message: string) => ({ status: 401, value: { error: { message } } });
  const list = (isGuessed: boolean, account?: string) =>
    openRemote({ url, token: "t", isGuessed })(connectionOperations.list, { account });

  test("is sent each name once, in the path, the query or the body", async () => {
    reply = { status: 200, value: [] };
    await list(false, "a&b/c");
    const hold = openRemote({ url, token: "t" })(accountOperations.hold, {
      ...{ name: "a/b?c", reason: "late" },
    });
    await expect(hold).rejects.toThrow("has no operator API for this client: it answered 200");
    expect(asked.splice(0)).toEqual([
      { path: "/operator/v1/connections?account=a%26b%2Fc", body: "" },
      { path: "/operator/v1/accounts/a%2Fb%3Fc/hold", body: '{"reason":"late"}' },
    ]);
  });

  test("that refuses a token says why, and that of `wadi dev` is no hint", async () => {
    reply = refusal("The operator token is unknown.");
    await expect(list(false)).rejects.toThrow("The operator token is unknown.");
    await expect(list(true)).rejects.toThrow(`there is no token for ${url}`);
    reply = { ...reply, status: 403 };
    await expect(list(true)).rejects.toThrow("The operator token is unknown.");
  });

  test("is one of this program where it asks for a token in its own words", async () => {
    reply = refusal("No operator token was sent.");
    expect(await isServing(url)).toBe(true);
    reply = { ...reply, status: 404 };
    expect(await isServing(url)).toBe(false);
    reply = { status: 401, value: { message: "Log in." } };
    expect(await isServing(url)).toBe(false);
  });
});

test("an address with a user or a password is refused, and not repeated", () => {
  for (const typed of [
    "http://noura@h",
    "http://:secret@h",
    "http://h?secret",
    "http://h#secret",
  ]) {
    expect(() => readServerUrl(typed)).toThrow("a server is given as http://HOST:PORT or");
  }
  expect(readServerUrl("https://h:8443/wadi/")).toBe("https://h:8443/wadi");
});
