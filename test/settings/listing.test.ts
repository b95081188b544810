// Tests the list of settings: every one with its origin, and no secret.
import { expect, test } from "bun:test";
import { readGivenSettings } from "../../src/cli/settings.ts";
import {
  applySettings,
  copySource,
  hashSettings,
  listSettings,
  readSettings,
  type SettingRow,
} from "../../src/settings/index.ts";

const MODEL = `[[models]]
id = "maker/one"
self_hosted = true
price = { prompt = "1.20", completion = "2" }
[models.upstream]
kind = "openai"
urls = ["http://10.0.0.5:8000/v1"]
api_key_env = "MODEL_KEY"
headers = { x-key = "s3cret" }
[models.upstream.start]
request = "POST http://10.0.0.5/up?token=s3cret"
health = "http://10.0.0.5/health?token=s3cret"
stop_command = ["stop", "--token=s3cret"]
`;
const read = (text: string, env: Record<string, string> = {}, flags = {}) =>
  readSettings(text, "wadi.toml", env, flags, { wantsApiKeys: false });
const pick = (rows: readonly SettingRow[], name: string) => {
  const { value, origin } = rows.find((row) => row.name === name)!;
  return [value, origin];
};

test("a value comes from a flag, else the environment, else the file, else the default", () => {
  const text = "[limits]\ntools = 3\nagents = 4\n[server]\nport = 1\n";
  const env = { WADI_LIMITS__TOOLS: "5", WADI_SERVER__PORT: "2" };
  const rows = listSettings(read(text, env, { "server.port": 6 }));
  expect(pick(rows, "server.port")).toEqual([6, "flag"]);
  expect(pick(rows, "limits.tools")).toEqual([5, "environment"]);
  expect(pick(rows, "limits.agents")).toEqual([4, "file"]);
  expect(pick(rows, "limits.versions")).toEqual([1_000, "default"]);
  expect(pick(rows, "server.stop_timeout")).toEqual(["30s", "default"]);
  expect(pick(rows, "retention.runs")).toEqual(["forever", "default"]);
});

test("each setting is listed once, those of a model by its id", () => {
  const rows = listSettings(read(MODEL));
  const names = rows.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(pick(rows, 'models."maker/one".price.prompt')).toEqual(["1.20", "file"]);
  expect(pick(rows, 'models."maker/one".visibility')).toEqual(["public", "default"]);
  expect(pick(rows, 'models."maker/one".upstream.start.timeout')).toEqual(["600s", "default"]);
  expect(rows.find(({ name }) => name === "server.host")!.needs_restart).toBe(true);
  expect(rows.find(({ name }) => name === "limits.tools")!.needs_restart).toBe(false);
});

test("without a file the model inside is listed as the default", () => {
  const rows = listSettings(read(""));
  expect(pick(rows, "models.stub-1.context_window")).toEqual([32_768, "default"]);
  expect(pick(rows, "models.stub-1.upstream.kind")).toEqual(["stub", "default"]);
});

test("a value that stands for another is shown as that", () => {
  const rows = listSettings(read(MODEL));
  expect(pick(rows, "service.default_model")).toEqual(["maker/one", "default"]);
  expect(pick(rows, 'models."maker/one".upstream.model')).toEqual(["maker/one", "default"]);
  expect(pick(rows, "embeddings.kind")).toEqual(["off", "default"]);
});

test("passwords, headers, arguments, queries and unknown variables are hidden", () => {
  const more = `[server]
database = "postgres://u:s3cret@db.example/wadi"
valkey = "redis://:s3cret@cache.example"
secrets_key_file = "s3cret"
[search]
kind = "brave"
api_key_env = "S3CRET"
[embeddings]
kind = "tei"
urls = ["http://10.0.0.7"]
api_key_file = "s3cret"
[backup]
access_key_id = "s3cret"
secret_access_key_file = "s3cret"
`;
  const rows = listSettings(read(more + MODEL, { MODEL_KEY: "s3cret" }));
  expect(JSON.stringify(rows)).not.toContain("s3cret");
  expect(JSON.stringify(rows)).not.toContain("S3CRET");
  expect(pick(rows, "server.database")[0]).toBe("postgres://u:***@db.example/wadi");
  expect(pick(rows, "server.valkey")[0]).toBe("redis://:***@cache.example");
  const [command] = pick(rows, 'models."maker/one".upstream.start.stop_command');
  expect(command).toEqual(["stop", "***"]);
  expect(pick(rows, 'models."maker/one".upstream.api_key_env')[0]).toBe("MODEL_KEY");
  expect(pick(rows, 'models."maker/one".upstream.headers')[0]).toEqual({ "x-key": "***" });
  expect(pick(rows, 'models."maker/one".upstream.start.request')[0]).toBe(
    "POST http://10.0.0.5/up?***",
  );
  expect(pick(rows, 'models."maker/one".upstream.start.health')[0]).toBe(
    "http://10.0.0.5/health?***",
  );
});

test("an address from a variable has the environment as its origin, and no password", () => {
  const env = { DB: "postgres://u:s3cret@db.example/wadi" };
  const rows = listSettings(read('[server]\ndatabase_env = "DB"\n', env));
  expect(pick(rows, "server.database")).toEqual([
    "postgres://u:***@db.example/wadi",
    "environment",
  ]);
  expect(pick(rows, "server.database_env")).toEqual(["DB", "file"]);
  const pooled = `[server]\ndatabase = "postgres://h"\ndatabase_pooler_env = "DB"\n`;
  const others = listSettings(read(pooled, env));
  expect(pick(others, "server.database")).toEqual(["postgres://h", "file"]);
  expect(pick(others, "server.database_pooler")).toEqual([
    "postgres://u:***@db.example/wadi",
    "environment",
  ]);
});

test("an address that cannot be taken apart is hidden as a whole", () => {
  const rows = listSettings(read('[server]\ndatabase = "postgres://u:s3cret@a:1,b:2/wadi"\n'));
  expect(pick(rows, "server.database")).toEqual(["***", "file"]);
});

test("processes compare a hash of their settings, without places, addresses and secrets", () => {
  const hash = (text: string, env = {}) => hashSettings(read(text, env));
  const plain = hash("");
  expect(plain).toMatch(/^[0-9a-f]{12}$/);
  expect(hash("[limits]\ntools = 3\n")).not.toBe(plain);
  const own = `[server]
host = "::1"
port = 1
data = "./else"
secrets_key_file = "./key"
database = "postgres://h"
database_connections = 9
valkey = "redis://h"
tls = { cert = "./a", key = "./b" }
[operator]
listen = "10.0.0.1:9"
`;
  expect(hash(own)).toBe(plain);
  const [first, second] = ["one", "two"].map((name) =>
    hash(`[server]\ndatabase_env = "A_${name}"\nvalkey_env = "B"\n`, {
      [`A_${name}`]: `postgres://${name}`,
      B: `redis://${name}`,
    }),
  );
  expect([first, second]).toEqual([plain, plain]);
  expect(hashSettings({ ...read("") })).toBeNull();
});

test("places that a flag opens are listed", () => {
  const input = { args: [], flags: { "allow-egress": ["127.0.0.1:9000"], config: "/dev/null" } };
  const rows = listSettings(readGivenSettings(input, { wantsApiKeys: false }));
  expect(pick(rows, "egress.allow")).toEqual([["127.0.0.1:9000"], "flag"]);
});

test("after a reload a setting that waits for a restart keeps its value and origin", () => {
  const before = read("");
  const { settings } = applySettings(before, read("[server]\nport = 1\n[limits]\ntools = 3\n"));
  const rows = listSettings(settings);
  expect(pick(rows, "server.port")).toEqual([8_080, "default"]);
  expect(pick(rows, "limits.tools")).toEqual([3, "file"]);
  const again = applySettings(settings, read("[server]\nport = 2\n")).settings;
  expect(pick(listSettings(again), "server.port")).toEqual([8_080, "default"]);
});

test("settings that were not read are no list", () => {
  const settings = { ...read("") };
  expect(() => listSettings(settings)).toThrow("were not read");
  copySource(settings, read(""));
  expect(listSettings(settings)).not.toEqual([]);
});

test("a command may have defaults of its own, which a file and the environment override", () => {
  const defaults = { "gateway.responses": true, "gateway.messages": true };
  const text = "[gateway]\nresponses = false\n";
  const listed = (env: Record<string, string>) => {
    const rows = listSettings(readSettings(text, "wadi.toml", env, {}, { defaults }));
    return [pick(rows, "gateway.responses"), pick(rows, "gateway.messages")];
  };
  expect(listed({})).toEqual([
    [false, "file"],
    [true, "default"],
  ]);
  expect(listed({ WADI_GATEWAY__MESSAGES: "false" })[1]).toEqual([false, "environment"]);
});
