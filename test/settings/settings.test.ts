// Tests the settings from a valid file, the environment and flags.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultSettings, loadSettings, readSettings } from "../../src/settings/index.ts";
import { readOverrides } from "../../src/settings/loader.ts";

const FULL = `
[server]
host = "0.0.0.0"
port = 9000
data = "/var/lib/wadi"
database_env = "DATABASE"
database_connections = 40
secrets_key_file = "/etc/wadi/secrets.key"
metrics_token_env = "METRICS_TOKEN"
trusted_proxies = ["10.0.0.0/8", "fd00::1"]
connections_per_address = 200
reserved_descriptors = 128
cors_origins = ["https://app.example", "http://localhost:3000"]
public_url = "https://acme.example"
stop_timeout = "90s"

[service]
alias = "acme"
default_model = "qwen3-32b"
operator = "acme"
changelog_url = "https://acme.example/changelog"
zone = "Asia/Riyadh"
ratelimit_headers = true
chat_status = 200
currency = "USD"

[[models]]
id = "small"
upstream = { kind = "stub", tokens_per_second = 40.5, first_token_delay = "250ms", start_delay = "40s" }

[[models]]
id = "qwen3-32b"
provider = "acme"
self_hosted = true
visibility = "private"
context_window = 32_768
max_output_tokens = 4096
default_max_tokens = 512
capabilities = ["tools", "streaming"]
system_prompt = """
You are terse.
"""
frequency_penalty = 0.5
think = "required"
price = { prompt = "1.20", completion = "3.60" }

[models.upstream]
kind = "openai"
urls = ["http://10.0.0.5:8000/v1/", "https://10.0.0.6/v1"]
model = "Qwen/Qwen3-32B"
api_key_env = "QWEN_KEY"
headers = { X-Team = "a", __proto__ = "b" }
reasoning_on = { chat_template_kwargs = { enable_thinking = true, list = [1, { x = "y" }] } }
thought_opens = "asked"
tool_choice_by_name = false
max_in_flight = 32
health = "/ping?deep=1"
health_every = "0s"
first_token_timeout = "500ms"
stall_timeout = "10m"

[models.upstream.start]
request = "POST   http://10.0.0.5:8000/wake_up?tags=weights"
health = "http://10.0.0.5:8000/health"
stop_command = ["systemctl", "stop", "vllm@qwen3"]
idle_stop = "30m"

[gateway]
responses = true
messages = true

[agents]
open = false
enforce_scope = false
http_tools = false
triggers = false
webhooks = false
tool_prices = { web_search = "0.010000" }

[egress]
allow = ["127.0.0.1:*", "Hooks.Acme.internal:443", "[::1]:8080"]

[limits]
requests_per_minute = 30
active_runs = 5
daily_runs = 10
concurrent_runs = 4
tools = 7
connections = 3
triggers = 4
endpoints = 5
waiting_deliveries = 6
agents = 8
versions = 9
stored_bytes = 1_048_576
free_disk_bytes = 0
hook_requests_per_minute = 7
address_requests_per_minute = 60

[retention]
runs = "400d"
events = "forever"
`;

const OPENAI = `[[models]]
id = "a"
upstream = { kind = "openai", urls = ["http://h/v1"] }
`;

describe("without a file", () => {
  test("the stub model serves on the loopback address", () => {
    expect(defaultSettings()).toEqual({
      server: {
        host: "127.0.0.1",
        port: 8_080,
        data: "./wadi-data",
        database: "",
        database_env: "",
        database_pooler: "",
        database_pooler_env: "",
        valkey: "",
        valkey_env: "",
        database_connections: 8,
        secrets_key_file: "",
        metrics_token_env: "",
        metrics_token: null,
        trusted_proxies: [],
        connections_per_address: 1_000,
        reserved_descriptors: 64,
        cors_origins: [],
        public_url: "",
        tls: { cert: "", key: "" },
        certificate: null,
        stop_timeout_ms: 30_000,
      },
      operator: { enabled: true, listen: "", public_url: "", requests_per_minute: 600 },
      service: {
        alias: "svc",
        default_model: "stub-1",
        operator: "wadi",
        zone: "UTC",
        ratelimit_headers: false,
        chat_status: 201,
        currency: "SAR",
        changelog_url: "",
      },
      models: [
        {
          id: "stub-1",
          provider: "wadi",
          self_hosted: true,
          visibility: "public",
          context_window: 32_768,
          max_output_tokens: 8_192,
          default_max_tokens: 1_024,
          capabilities: ["tools", "streaming", "reasoning", "vision", "structured_outputs"],
          system_prompt: "",
          frequency_penalty: 0,
          think: "optional",
          price: { prompt: 1_000_000, completion: 2_000_000 },
          upstream: {
            kind: "stub",
            tokens_per_second: 0,
            first_token_delay_ms: 0,
            start_delay_ms: 0,
          },
        },
      ],
      think: { attempts: 3, attempts_more: 2 },
      gateway: { responses: false, messages: false },
      embeddings: {
        kind: "stub",
        urls: [],
        model: "bge-m3",
        api_key_env: "",
        api_key_file: "",
        api_key: null,
        headers: {},
        price: null,
        max_batch: 0,
        health: "",
        health_every_ms: 10_000,
        connect_timeout_ms: 5_000,
        timeout_ms: 60_000,
        max_concurrent: 8,
        max_queued: 32,
        requests_per_minute: 20,
      },
      search: {
        kind: "stub",
        url: "",
        folder: "",
        api_key_env: "",
        api_key_file: "",
        api_key: null,
        headers: {},
        connect_timeout_ms: 5_000,
        timeout_ms: 15_000,
        max_concurrent: 4,
        max_queued: 8,
        requests_per_minute: 10,
      },
      agents: {
        ...{ open: true, enforce_scope: true, http_tools: true, mcp: false, triggers: true },
        ...{ webhooks: true, mcp_server: false, tool_prices: {} },
      },
      egress: { allow: [] },
      limits: {
        requests_per_minute: 120,
        active_runs: 20,
        daily_runs: 2_000,
        concurrent_runs: 64,
        tools: 100,
        connections: 50,
        triggers: 100,
        endpoints: 20,
        waiting_deliveries: 10_000,
        agents: 1_000,
        versions: 1_000,
        stored_bytes: 10_737_418_240,
        free_disk_bytes: 536_870_912,
        hook_requests_per_minute: 60,
        address_requests_per_minute: 1_200,
      },
      telemetry: {
        ...{ otlp: "", headers_file: "", headers: {}, sample: 1, content: false },
        metrics_every_ms: 60_000,
      },
      retention: {
        ...{ runs: null, events: 30 * 86_400_000, request_log: 30 * 86_400_000 },
        ...{ usage_half_hours: 400 * 86_400_000, audit: null },
      },
      backup: {
        ...{ every_ms: 0, keep: 7, to: "", endpoint: "", region: "", access_key_id: "" },
        ...{ secret_access_key_env: "", secret_access_key_file: "", secret_access_key: null },
      },
    });
  });

  test("an optional missing file counts as empty", () => {
    const source = { file: join(tmpdir(), "no", "such.toml"), mustExist: false };
    expect(loadSettings({ ...source, env: {}, flags: {} })).toEqual(defaultSettings());
    expect(loadSettings({ mustExist: true, env: {}, flags: {} })).toEqual(defaultSettings());
  });
});

describe("a file", () => {
  test("names a database by a scheme in any case", () => {
    const env = { DATABASE: "PostgreSQL://u:P@db/Wadi" };
    const read = (line: string) => readSettings(`[server]\n${line}`, "wadi.toml", env, {}).server;
    expect(read('database = "POSTGRES://u:P@db/Wadi"').database).toBe("postgres://u:P@db/Wadi");
    expect(read('database_env = "DATABASE"').database).toBe("postgresql://u:P@db/Wadi");
    expect(read('data = "C:/wadi"').data).toBe("C:/wadi");
  });

  test("names a Valkey server, itself or by a variable, beside a PostgreSQL database", () => {
    const env = { VALKEY: "rediss://:P@cache:6380/2" };
    const read = (line: string) =>
      readSettings(`[server]\ndatabase = "postgres://h/d"\n${line}`, "wadi.toml", env, {}).server;
    expect(read('valkey = "redis://cache"').valkey).toBe("redis://cache");
    expect(read('valkey_env = "VALKEY"').valkey).toBe("rediss://:P@cache:6380/2");
  });

  test("sets everything it names", () => {
    const env = { DATABASE: "postgres://u:p@db/wadi", QWEN_KEY: "sk-1", METRICS_TOKEN: "t-1" };
    const settings = readSettings(FULL, "wadi.toml", env, {});
    expect(settings.server).toEqual({
      host: "0.0.0.0",
      port: 9_000,
      data: "/var/lib/wadi",
      database: "postgres://u:p@db/wadi",
      database_env: "DATABASE",
      database_pooler: "",
      database_pooler_env: "",
      valkey: "",
      valkey_env: "",
      database_connections: 40,
      secrets_key_file: "/etc/wadi/secrets.key",
      metrics_token_env: "METRICS_TOKEN",
      metrics_token: "t-1",
      trusted_proxies: ["10.0.0.0/8", "fd00::1"],
      connections_per_address: 200,
      reserved_descriptors: 128,
      cors_origins: ["https://app.example", "http://localhost:3000"],
      public_url: "https://acme.example",
      tls: { cert: "", key: "" },
      certificate: null,
      stop_timeout_ms: 90_000,
    });
    expect(settings.gateway).toEqual({ responses: true, messages: true });
    expect(settings.service).toEqual({
      alias: "acme",
      default_model: "qwen3-32b",
      operator: "acme",
      changelog_url: "https://acme.example/changelog",
      zone: "Asia/Riyadh",
      ratelimit_headers: true,
      chat_status: 200,
      currency: "USD",
    });
    expect(settings.models[0]?.upstream).toEqual({
      kind: "stub",
      tokens_per_second: 40.5,
      first_token_delay_ms: 250,
      start_delay_ms: 40_000,
    });
    expect(settings.models[1]).toEqual({
      id: "qwen3-32b",
      provider: "acme",
      self_hosted: true,
      visibility: "private",
      context_window: 32_768,
      max_output_tokens: 4_096,
      default_max_tokens: 512,
      capabilities: ["tools", "streaming"],
      system_prompt: "You are terse.\n",
      frequency_penalty: 0.5,
      think: "required",
      price: { prompt: 1_200_000, completion: 3_600_000 },
      upstream: {
        kind: "openai",
        urls: ["http://10.0.0.5:8000/v1", "https://10.0.0.6/v1"],
        model: "Qwen/Qwen3-32B",
        api_key_env: "QWEN_KEY",
        api_key_file: "",
        api_key: "sk-1",
        headers: { "X-Team": "a", ["__proto__"]: "b" },
        reasoning_on: { chat_template_kwargs: { enable_thinking: true, list: [1, { x: "y" }] } },
        reasoning_off: {},
        thought_opens: "asked",
        tool_choice_by_name: false,
        max_in_flight: 32,
        health: "/ping?deep=1",
        health_every_ms: 0,
        connect_timeout_ms: 5_000,
        first_token_timeout_ms: 500,
        stall_timeout_ms: 600_000,
        start: {
          request: "POST http://10.0.0.5:8000/wake_up?tags=weights",
          command: [],
          health: "http://10.0.0.5:8000/health",
          timeout_ms: 600_000,
          stop: "",
          stop_command: ["systemctl", "stop", "vllm@qwen3"],
          idle_stop_ms: 1_800_000,
          min_up_ms: 600_000,
        },
      },
    });
    expect(settings.limits).toEqual({
      requests_per_minute: 30,
      active_runs: 5,
      daily_runs: 10,
      concurrent_runs: 4,
      tools: 7,
      connections: 3,
      triggers: 4,
      endpoints: 5,
      waiting_deliveries: 6,
      agents: 8,
      versions: 9,
      stored_bytes: 1_048_576,
      free_disk_bytes: 0,
      hook_requests_per_minute: 7,
      address_requests_per_minute: 60,
    });
    expect(settings.agents).toEqual({
      open: false,
      enforce_scope: false,
      http_tools: false,
      mcp: false,
      triggers: false,
      webhooks: false,
      mcp_server: false,
      tool_prices: { web_search: 10_000 },
    });
    expect(settings.egress.allow).toEqual([
      { host: "127.0.0.1", port: "any" },
      { host: "hooks.acme.internal", port: 443 },
      { host: "[::1]", port: 8_080 },
    ]);
    expect(settings.retention).toMatchObject({ runs: 400 * 86_400_000, events: null });
  });

  test("may keep runs for no more than a day", () => {
    const { retention } = readSettings(`${OPENAI}\n[retention]\nruns = "1d"`, "wadi.toml", {}, {});
    expect(retention.runs).toBe(86_400_000);
  });

  test("leaves other settings at their defaults", () => {
    const { models, service, server } = readSettings(OPENAI, "wadi.toml", {}, {});
    expect(server).toEqual(defaultSettings().server);
    expect(service.default_model).toBe("a");
    expect(models).toEqual([
      {
        id: "a",
        provider: "unknown",
        self_hosted: false,
        visibility: "public",
        context_window: null,
        max_output_tokens: 8_192,
        default_max_tokens: 1_024,
        capabilities: ["streaming"],
        system_prompt: "",
        frequency_penalty: 0,
        think: "optional",
        price: null,
        upstream: {
          kind: "openai",
          urls: ["http://h/v1"],
          model: "a",
          api_key_env: "",
          api_key_file: "",
          api_key: null,
          headers: {},
          reasoning_on: {},
          reasoning_off: {},
          thought_opens: "reply",
          tool_choice_by_name: true,
          max_in_flight: 0,
          health: "",
          health_every_ms: 10_000,
          connect_timeout_ms: 5_000,
          first_token_timeout_ms: 120_000,
          stall_timeout_ms: 60_000,
          start: null,
        },
      },
    ]);
  });

  test("that lowers a model's maximum reply lowers its default with it", () => {
    const text = OPENAI.replace("upstream", "max_output_tokens = 100\nupstream");
    expect(readSettings(text, "wadi.toml", {}, {}).models[0]?.default_max_tokens).toBe(100);
  });

  test("may name a file with a model server's key", () => {
    const text = OPENAI.replace(" }", ', api_key_file = "key" }');
    const settings = readSettings(
      text,
      "wadi.toml",
      {},
      {},
      {
        readText: (path) => `sk-${path}\n`,
      },
    );
    expect(settings.models[0]?.upstream).toMatchObject({ api_key: "sk-key" });
  });

  test("is read from the disk, and so are key files", () => {
    const folder = mkdtempSync(join(tmpdir(), "wadi-settings-"));
    try {
      const file = join(folder, "wadi.toml");
      const key = join(folder, "key");
      writeFileSync(key, "sk-2\n");
      writeFileSync(file, `\uFEFF${OPENAI.replace(" }", `, api_key_file = '${key}' }`)}`);
      const settings = loadSettings({ file, mustExist: true, env: {}, flags: {} });
      expect(settings.models[0]?.upstream).toMatchObject({ api_key: "sk-2" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("overrides", () => {
  const FILE = '[server]\nport = 1\nhost = "file"\ndata = "file"\n';

  test("the environment overrides the file, flags override the environment", () => {
    const env = { WADI_SERVER__HOST: "env", WADI_SERVER__DATA: "env" };
    const flags = { "server.data": "flag", "server.port": undefined };
    const { server } = readSettings(FILE, "wadi.toml", env, flags);
    expect(server).toMatchObject({ port: 1, host: "env", data: "flag" });
  });

  test("an overridden bad value of the file has no effect", () => {
    const text = '[server]\nport = "bad"';
    const { server } = readSettings(text, "wadi.toml", { WADI_SERVER__PORT: "2" }, {});
    expect(server.port).toBe(2);
  });

  test("numbers and empty texts are parsed in variables", () => {
    const env = {
      WADI_SERVER__PORT: "0",
      WADI_SERVER__DATABASE: "",
      WADI_LIMITS__REQUESTS_PER_MINUTE: "7",
    };
    const settings = readSettings('[server]\ndatabase = "postgres://h"', "wadi.toml", env, {});
    expect(settings.server).toMatchObject({ port: 0, database: "" });
    expect(settings.limits.requests_per_minute).toBe(7);
  });

  test("a list in a variable is separated by commas", () => {
    const table = { properties: { net: { properties: { proxies: { type: "array" } } } } };
    const read = (text: string) => readOverrides(table, { WADI_NET__PROXIES: text }, {});
    expect(read("10.0.0.0/8, ::1").get("net.proxies")?.value).toEqual(["10.0.0.0/8", "::1"]);
    expect(read("").get("net.proxies")?.value).toEqual([]);
  });

  test("other variables are ignored", () => {
    const env = { WADI_KEY: "x", PATH: "/bin", MY_WADI_SERVER__PORT: "x", WADI_X__Y: undefined };
    expect(readSettings("", "wadi.toml", env, {})).toEqual(defaultSettings());
  });

  test("a flag for an unknown setting is a bug of the command line", () => {
    expect(() => readSettings("", "wadi.toml", {}, { "server.prot": 1 })).toThrow(
      new Error("no such setting: server.prot"),
    );
  });
});

test("times may be as short and as long as their bounds", () => {
  const read = (line: string) =>
    readSettings(
      `[[models]]\nid = "a"\n[models.upstream]\nkind = "openai"\nurls = ["http://h"]\n${line}`,
      ...(["wadi.toml", {}, {}] as const),
    ).models[0]!.upstream;
  expect(read('health_every = "1s"')).toMatchObject({ health_every_ms: 1_000 });
  const longest = 'stall_timeout = "1d"\nconnect_timeout = "1ms"';
  const inForce = { stall_timeout_ms: 86_400_000, connect_timeout_ms: 1 };
  expect(read(longest)).toMatchObject(inForce);
  expect(() => read('stall_timeout = "86400001ms"')).toThrow("must be from 1ms to 1d");
});

test("servers with another start or another health are each their own", () => {
  const model = (id: string, start: string) =>
    `[[models]]\nid = "${id}"\n[models.upstream]\nkind = "openai"\nurls = ["http://h"]\n` +
    `start = { ${start} }\n`;
  const read = (one: string, other: string) =>
    readSettings(model("a", one) + model("b", other), "wadi.toml", {}, {}).models.length;
  const health = 'health = "http://h/health"';
  const command = (name: string) => `${health}, command = ["run", "${name}"]`;
  expect(read(command("a"), `${command("b")}, timeout = "1m"`)).toBe(2);
  const other = 'health = "http://i/health", command = ["run", "a"], timeout = "1m"';
  expect(read(command("a"), other)).toBe(2);
  const request = (name: string) => `${health}, request = "POST http://h/${name}"`;
  expect(read(request("a"), `${request("b")}, timeout = "1m"`)).toBe(2);
});

test("paths can be appended to the public address", () => {
  const text = '[server]\npublic_url = "https://h/a//"';
  expect(readSettings(text, "wadi.toml", {}, {}).server.public_url).toBe("https://h/a");
});

test("a file of settings is closed behind its end", () => {
  const count = () => readdirSync("/dev/fd").length;
  const before = count();
  const read = () => loadSettings({ file: "package.json", mustExist: true, env: {}, flags: {} });
  for (let n = 0; n < 8; n++) expect(read).toThrow("not valid TOML");
  expect(count()).toBeLessThan(before + 8);
});

test("the settings are deeply frozen", () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== "object" ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozen));
  const env = { DATABASE: "postgres://h/d", QWEN_KEY: "k", METRICS_TOKEN: "t" };
  expect(isFrozen(readSettings(FULL, "wadi.toml", env, {}))).toBe(true);
  expect(isFrozen(defaultSettings())).toBe(true);
});

test("parsing one text twice gives equal settings without shared objects", () => {
  expect(defaultSettings()).toEqual(defaultSettings());
  expect(defaultSettings().models).not.toBe(defaultSettings().models);
});

test("a list and a text may have as many items and characters as their maximum", () => {
  const read = (urls: number, characters: number) => {
    const addresses = Array.from({ length: urls }, (_, n) => `http://10.0.0.1:${n + 1}/v1`);
    const model = "m".repeat(characters);
    const table = `kind = "openai"\nurls = ${JSON.stringify(addresses)}\nmodel = "${model}"\n`;
    return readSettings(`[embeddings]\n${table}`, "wadi.toml", {}, {}).embeddings;
  };
  const { urls, model } = read(256, 256);
  expect([urls.length, model.length]).toEqual([256, 256]);
  expect(() => read(257, 1)).toThrow("has more than 256 items");
  expect(() => read(1, 257)).toThrow("must be text of 1 to 256 characters");
});
