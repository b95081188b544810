// Tests tokens of servers, which only their owner reads, and paths of requests.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { accountOperations } from "../../src/admin/index.ts";
import { findServer, keepToken, openRemote } from "../../src/cli/remote.ts";

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
