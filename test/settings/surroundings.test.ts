// Tests the inputs around the settings: variables, flags, secrets, hostile texts, bad files.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSettings, readSettings, SettingsError } from "../../src/settings/index.ts";
import { type Env, refusalOf, STUB, upstream, urls } from "./refusal.ts";

describe("variables and flags", () => {
  test.each<[Env, Record<string, unknown>, string]>([
    [
      { WADI_SERVER__PORT: "abc" },
      {},
      'WADI_SERVER__PORT must be an integer from 0 to 65535, but is "abc"',
    ],
    [
      { WADI_SERVER__PORT: "" },
      {},
      'WADI_SERVER__PORT must be an integer from 0 to 65535, but is ""',
    ],
    [
      { WADI_SERVER__PORT: "0x50" },
      {},
      'WADI_SERVER__PORT must be an integer from 0 to 65535, but is "0x50"',
    ],
    [
      { WADI_SERVER__PROT: "80" },
      {},
      "WADI_SERVER__PROT is the variable of no setting; did you mean WADI_SERVER__PORT?",
    ],
    [{ WADI_SERVER__PASSWORD: "x" }, {}, "WADI_SERVER__PASSWORD is the variable of no setting"],
    [{ WADI___PROTO____X: "1" }, {}, "WADI___PROTO____X is the variable of no setting"],
    [
      { WADI_MODELS__0__ID: "a" },
      {},
      "WADI_MODELS__0__ID cannot be set: models are declared in the file only",
    ],
    [
      { WADI_SERVICE__DEFAULT_MODEL: "b" },
      {},
      'WADI_SERVICE__DEFAULT_MODEL must be the id of a model, but is "b"',
    ],
    [
      { WADI_SERVICE__ALIAS: "a" },
      {},
      'wadi.toml:2:1: models[0].id must not be the alias of the default model, "a"',
    ],
    [
      { WADI_SERVER__PORT: "-1" },
      {},
      "WADI_SERVER__PORT must be an integer from 0 to 65535, but is -1",
    ],
    [
      { WADI_TELEMETRY__SAMPLE: "1.5" },
      {},
      "WADI_TELEMETRY__SAMPLE must be a number from 0 to 1, but is 1.5",
    ],
    [
      {},
      { "server.port": -1 },
      "the flag for server.port must be an integer from 0 to 65535, but is -1",
    ],
  ])("%j %j", (env, flags, message) => {
    expect(refusalOf(STUB, env, flags)).toBe(message);
  });

  test("an error of the file is reported before one of a variable", () => {
    const says = refusalOf("[limits]\ntools = 0", { WADI_SERVER__PORT: "x" });
    expect(says).toStartWith("wadi.toml:2:1: limits.tools");
  });

  test("an error in a default has no place", () => {
    const says = 'models[0].id must not be the alias of the default model, "stub-1"';
    expect(refusalOf("", { WADI_SERVICE__ALIAS: "stub-1" })).toBe(says);
  });
});

test("the keys of model servers need not exist for commands that send no requests", () => {
  for (const line of ['api_key_env = "UNSET"', 'api_key_file = "/nowhere"']) {
    expect(() => readSettings(upstream(line), "wadi.toml", {}, {})).toThrow(SettingsError);
    const settings = readSettings(upstream(line), "wadi.toml", {}, {}, { wantsApiKeys: false });
    expect(settings.models[0]!.upstream).toMatchObject({ api_key: null });
  }
  // An error in the file itself is reported all the same.
  const both = upstream('api_key_env = "UNSET"\napi_key_file = "/nowhere"');
  const read = () => readSettings(both, "wadi.toml", {}, {}, { wantsApiKeys: false });
  expect(read).toThrow("cannot stand beside");
});

test("nor need the token of the metrics or the secret of a bucket", () => {
  const text = `[server]
metrics_token_env = "T"
[backup]
to = "s3://acme"
access_key_id = "AK"
secret_access_key_env = "S"
`;
  const env = { T: "token", S: "secret" };
  const read = (wantsApiKeys: boolean) => {
    const { server, backup } = readSettings(text, "wadi.toml", env, {}, { wantsApiKeys });
    return [server.metrics_token, backup.secret_access_key];
  };
  expect(read(true)).toEqual(["token", "secret"]);
  expect(read(false)).toEqual([null, null]);
});

test("the file of the collector's headers has one a line, and no message quotes it", () => {
  const text = '[telemetry]\nheaders_file = "headers"\n';
  const read = (file: string, options = {}) =>
    readSettings(text, "wadi.toml", {}, {}, { readText: () => file, ...options }).telemetry.headers;
  expect(read("Authorization: Bearer a b\n\nx-scope:team\r\n")).toEqual({
    Authorization: "Bearer a b",
    "x-scope": "team",
  });
  for (const line of ["s3cr3t", "Content-Type: text/plain", "content-length: 3", "x: caf\u00e9"]) {
    const refused = () => read(`x-scope: team\n${line}\n`);
    expect(refused).toThrow(
      "telemetry.headers_file names a file whose line 2 is no header for a collector",
    );
    expect(refused).not.toThrow(line);
  }
  expect(read("s3cr3t", { wantsApiKeys: false })).toEqual({});
});

test("a bucket of backups needs a name, a key's id and its secret, which no message quotes", () => {
  const read = (lines: string, env: Env = {}) =>
    readSettings(`[backup]\n${lines}`, "wadi.toml", env, {}, { readText: () => "s3cr3t\n" }).backup;
  const key = 'access_key_id = "AK"\n';
  const bucket = `to = "s3://acme-backups/wadi"\n${key}`;
  expect(read(`${bucket}secret_access_key_file = "f"`).secret_access_key).toBe("s3cr3t");
  const named = `${bucket}secret_access_key_env = "S3_SECRET"`;
  expect(read(named, { S3_SECRET: "abc" }).secret_access_key).toBe("abc");
  expect(read('every = "1m"\nto = "./backups"')).toMatchObject({ every_ms: 60_000 });
  expect(() => read(named)).toThrow("names a place that holds no secret");
  expect(() => read(bucket)).toThrow("one of them, must be set");
  expect(() => read(`${named}\nsecret_access_key_file = "f"`)).toThrow("one of them, must be set");
  const nameless = 'to = "s3://acme-backups"\nsecret_access_key_file = "f"';
  expect(() => read(nameless)).toThrow("access_key_id is needed for a bucket");
  // Whoever names a bucket must not find backups in a folder of that name.
  for (const to of [
    "s3://A/",
    "s3://b/p",
    "S3://acme/x",
    "s3:/acme/x",
    "gs://acme",
    "s3://acme/..",
    "s3://ab",
    `s3://${"b".repeat(64)}`,
  ]) {
    const named = `to = "${to}"\n${key}secret_access_key_file = "f"`;
    expect(() => read(named)).toThrow("the bucket has 3 to 63 lower-case letters");
  }
  for (const to of ["s3://abc", `s3://${"b".repeat(63)}`]) {
    expect(read(`to = "${to}"\n${key}secret_access_key_file = "f"`)).toMatchObject({ to });
  }
  expect(read('to = "C:/backups"')).toMatchObject({ to: "C:/backups" });
  for (const every of ["59s", "59999ms"]) {
    expect(() => read(`every = "${every}"`)).toThrow("backup.every must be 0s or at least 1m");
  }
});

test("a key that is no file of a usual size, such as a pipe without a writer, is refused at once", () => {
  const place = mkdtempSync(join(tmpdir(), "wadi-settings-"));
  try {
    const pipe = join(place, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).success).toBeTrue();
    const long = join(place, "long");
    writeFileSync(long, "x".repeat(262_145));
    for (const file of [pipe, place, "/dev/zero", long]) {
      expect(refusalOf(upstream(`api_key_file = "${file}"`))).toEndWith(
        "a file that cannot be read",
      );
    }
    writeFileSync(long, "x".repeat(262_144));
    const { upstream: read } = readSettings(
      upstream(`api_key_file = "${long}"`),
      ...(["wadi.toml", {}, {}] as const),
    ).models[0]!;
    expect(read).toMatchObject({ api_key: "x".repeat(262_144) });
  } finally {
    rmSync(place, { recursive: true });
  }
});

describe("secrets are not in messages", () => {
  const SECRET = "s3cr3t";
  const withPassword = `http://me:${SECRET}@h/v1`;

  test.each<[string, Env, string]>([
    [
      upstream(`api_key_env = "sk-${SECRET}"`),
      {},
      "wadi.toml:6:1: models[0].upstream.api_key_env must be the name of an environment variable",
    ],
    [
      upstream(`api_key_env = "${SECRET}"`),
      {},
      "wadi.toml:6:1: models[0].upstream.api_key_env names an environment variable that is not set",
    ],
    [
      upstream('api_key_env = "EMPTY"'),
      { EMPTY: "" },
      "wadi.toml:6:1: models[0].upstream.api_key_env names an environment variable that is not set",
    ],
    [
      upstream('api_key_env = "KEY"'),
      { KEY: `${SECRET}\n${SECRET}` },
      "wadi.toml:6:1: models[0].upstream.api_key_env names a place that holds no key" +
        " in one line of ASCII",
    ],
    [
      upstream('api_key_env = "constructor"'),
      {},
      "wadi.toml:6:1: models[0].upstream.api_key_env names an environment variable that is not set",
    ],
    [
      upstream(`api_key_file = "/no/${SECRET}"`),
      {},
      "wadi.toml:6:1: models[0].upstream.api_key_file names a file that cannot be read",
    ],
    [
      upstream(`api_key = "${SECRET}"`),
      {},
      'wadi.toml:6:1: unknown setting "models[0].upstream.api_key" for kind "openai"',
    ],
    [
      upstream(`headers = { Authorization = "Bearer ${SECRET}" }`),
      {},
      "wadi.toml:6:13: models[0].upstream.headers.Authorization cannot be set" +
        "; use api_key_env or api_key_file",
    ],
    [
      upstream(`headers = { x = "${SECRET}\\n" }`),
      {},
      "wadi.toml:6:13: models[0].upstream.headers.x must be one line of text",
    ],
    [
      urls(`["${withPassword}"]`),
      {},
      "wadi.toml:5:9: models[0].upstream.urls[0]" +
        " must be an http or https URL without user, query or fragment",
    ],
    [
      urls(`"${withPassword}"`),
      {},
      "wadi.toml:5:1: models[0].upstream.urls must be a list, but is text",
    ],
    [
      `[server]\nhost = "${withPassword}"`,
      {},
      "wadi.toml:2:1: server.host must be a host name or an address without a port, but is text",
    ],
    [
      `[server]\nhost = "root:${SECRET}@h"`,
      {},
      "wadi.toml:2:1: server.host must be a host name or an address without a port, but is text",
    ],
    [
      `[server]\ndatabase = "mysql://root:${SECRET}@h"`,
      {},
      'wadi.toml:2:1: server.database must be empty or a "postgres://…" address',
    ],
    [
      `[server]\nvalkey = "http://root:${SECRET}@h"`,
      {},
      'wadi.toml:2:1: server.valkey must be empty or a "redis://…" or "rediss://…" address',
    ],
    [
      '[server]\nvalkey_env = "KV"',
      { KV: `http://root:${SECRET}@h` },
      "wadi.toml:2:1: server.valkey_env names an environment variable" +
        ' that holds no "redis://…" address',
    ],
    [
      '[server]\ndatabase_env = "DB"',
      { DB: `mysql://root:${SECRET}@h` },
      "wadi.toml:2:1: server.database_env names an environment variable" +
        ' that holds no "postgres://…" address',
    ],
    [
      '[server]\ndatabase_env = "DB"',
      {},
      "wadi.toml:2:1: server.database_env names an environment variable that is not set",
    ],
    [
      `[server]\ndata = "postgress://root:${SECRET}@h"`,
      {},
      'wadi.toml:2:1: server.data must be a directory: write "./" before a name with a colon' +
        ", but is text",
    ],
    [
      '[server]\nmetrics_token_env = "TOKEN"',
      {},
      "wadi.toml:2:1: server.metrics_token_env names an environment variable that is not set",
    ],
    [
      '[server]\nmetrics_token_env = "TOKEN"',
      { TOKEN: `${SECRET} in words` },
      "wadi.toml:2:1: server.metrics_token_env names a variable that holds no word of ASCII",
    ],
    [
      `[telemetry]\nheaders_file = "/no/${SECRET}"`,
      {},
      "wadi.toml:2:1: telemetry.headers_file names a file that cannot be read",
    ],
    [
      `[telemetry]\notlp = "http://user:${SECRET}@h"`,
      {},
      "wadi.toml:2:1: telemetry.otlp must be an http or https URL without user, query or fragment",
    ],
    [
      "",
      { WADI_SERVER__DATABASE: SECRET },
      'WADI_SERVER__DATABASE must be empty or a "postgres://…" address',
    ],
    ["", { WADI_SERVER__PASSWORD: SECRET }, "WADI_SERVER__PASSWORD is the variable of no setting"],
    [
      `[server]\ndatabase = postgres://root:${SECRET}@h`,
      {},
      "wadi.toml:2:12: not valid TOML: unexpected character",
    ],
  ])("%#", (text, env, message) => {
    expect(message).not.toContain(SECRET);
    expect(refusalOf(text, env)).toBe(message);
  });
});

describe("hostile texts", () => {
  test.each([
    ["__proto__ = 1", 'wadi.toml:1:1: unknown setting "__proto__"'],
    ["[__proto__]\nport = 1", 'wadi.toml:1:2: unknown setting "__proto__"'],
    ["[server.__proto__]\nport = 1", 'wadi.toml:1:9: unknown setting "server.__proto__"'],
    ["[constructor.prototype]\nx = 1", 'wadi.toml:1:2: unknown setting "constructor"'],
    [
      '[[models]]\nid = "a"\nupstream = { "__proto__" = { kind = "stub" } }',
      'wadi.toml:3:1: models[0].upstream.kind is required: "openai" or "stub"',
    ],
    ['"\\U00000070ort" = 1', 'wadi.toml:1:1: unknown setting "port"; did you mean "server.port"?'],
    [`${"k".repeat(5_000)} = 1`, `wadi.toml:1:1: unknown setting "${"k".repeat(64)}…"`],
    [`${"a.".repeat(5_000)}b = 1`, "wadi.toml:1:1: not valid TOML: more than 32 levels"],
    [
      `a = ${"[".repeat(500)}${"]".repeat(500)}`,
      "wadi.toml:1:38: not valid TOML: more than 32 levels",
    ],
    [
      `${"a = {".repeat(20)}${"a.".repeat(20)}b = 1${"}".repeat(20)}`,
      "wadi.toml:1:101: not valid TOML: more than 32 levels",
    ],
    [
      `a = ${"{a=".repeat(2_000)}`,
      "wadi.toml:1:6005: not valid TOML: unspecified values are invalid",
    ],
    [`#${"x".repeat(262_144)}`, "wadi.toml has 257 KB; the maximum is 256 KB"],
    [`#${"é".repeat(131_072)}`, "wadi.toml has 257 KB; the maximum is 256 KB"],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe("an unreadable file", () => {
  const folder = () => mkdtempSync(join(tmpdir(), "wadi-settings-"));
  const load = (file: string) => () => loadSettings({ file, mustExist: true, env: {}, flags: {} });

  test("is reported as missing", () => {
    expect(load("/no/such/wadi.toml")).toThrow(
      new SettingsError("/no/such/wadi.toml does not exist: correct --config, or write the file"),
    );
  });

  test("is reported as not a file, too large or not text", () => {
    const place = folder();
    try {
      const unreadable = new SettingsError(`${place} cannot be read (EISDIR)`);
      expect(load(place)).toThrow(unreadable);
      const optional = { file: place, mustExist: false, env: {}, flags: {} };
      expect(() => loadSettings(optional)).toThrow(unreadable);
      const file = join(place, "wadi.toml");
      writeFileSync(file, " ".repeat(700_000));
      expect(load(file)).toThrow(new SettingsError(`${file} has 684 KB; the maximum is 256 KB`));
      writeFileSync(file, " ".repeat(262_145));
      expect(load(file)).toThrow(new SettingsError(`${file} has 257 KB; the maximum is 256 KB`));
      writeFileSync(file, " ".repeat(262_144));
      expect(load(file)).not.toThrow();
      writeFileSync(file, Uint8Array.of(0x61, 0x3d, 0xff));
      expect(load(file)).toThrow(new SettingsError(`${file} is not UTF-8 text`));
    } finally {
      rmSync(place, { recursive: true });
    }
  });
});
