// Tests the exact error of invalid files.
import { describe, expect, test } from "bun:test";
import { model, refusalOf, STUB, upstream, urls } from "./refusal.ts";

describe("unknown settings", () => {
  test.each([
    [
      "\n\n[server]\n# the port\n\nprot = 80",
      'wadi.toml:6:1: unknown setting "server.prot"; did you mean "server.port"?',
    ],
    ["[sever]\nport = 80", 'wadi.toml:1:2: unknown setting "sever"; did you mean "server"?'],
    ["port = 80", 'wadi.toml:1:1: unknown setting "port"; did you mean "server.port"?'],
    [
      "[server]\nrequests_per_minute = 1",
      'wadi.toml:2:1: unknown setting "server.requests_per_minute"' +
        '; did you mean "limits.requests_per_minute"?',
    ],
    ["[server]\nmemcached = ''", 'wadi.toml:2:1: unknown setting "server.memcached"'],
    ["server.ssl.cert = ''", 'wadi.toml:1:8: unknown setting "server.ssl"'],
    ['[server]\n"a b" = 1', 'wadi.toml:2:1: unknown setting "server."a b""'],
    [
      '[[models]]\nidd = "a"\nupstream = { kind = "stub" }',
      'wadi.toml:2:1: unknown setting "models[0].idd"; did you mean "models[0].id"?',
    ],
    [
      model("[[models]]\nid = 'b'\n[models.upstream]\nkind = 'stub'\nfirst_token_dely = '1s'"),
      'wadi.toml:8:1: unknown setting "models[1].upstream.first_token_dely" for kind "stub"' +
        '; did you mean "models[1].upstream.first_token_delay"?',
    ],
    [
      upstream("tokens_per_second = 1"),
      'wadi.toml:6:1: unknown setting "models[0].upstream.tokens_per_second" for kind "openai"',
    ],
    [
      model('price = { prompt = "1", completion = "2", reply = "3" }'),
      'wadi.toml:4:43: unknown setting "models[0].price.reply"',
    ],
    ['x = """\n[server]\nprot = 1\n"""\n[server]\nprot = 1', 'wadi.toml:1:1: unknown setting "x"'],
  ])("%j", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });
});

describe("values of the wrong kind or size", () => {
  test.each([
    [
      '\n[server]\nport = "abc"',
      'wadi.toml:3:1: server.port must be an integer from 0 to 65535, but is "abc"',
    ],
    [
      "[server]\nport = 65536",
      "wadi.toml:2:1: server.port must be an integer from 0 to 65535, but is 65536",
    ],
    [
      "[server]\nport = 80.5",
      "wadi.toml:2:1: server.port must be an integer from 0 to 65535, but is 80.5",
    ],
    [
      "[server]\nport = 1979-05-27",
      "wadi.toml:2:1: server.port must be an integer from 0 to 65535, but is a date",
    ],
    [
      "[server]\nport = [80]",
      "wadi.toml:2:1: server.port must be an integer from 0 to 65535, but is a list",
    ],
    ["server = 80", "wadi.toml:1:1: server must be a table, but is a number"],
    ["[[server]]\nport = 80", "wadi.toml:1:3: server must be a table, but is a list"],
    ["[server]\nhost = 1", "wadi.toml:2:1: server.host must be text in quotes, but is 1"],
    [
      '[server]\nhost = "a:80/x"',
      'wadi.toml:2:1: server.host must be a host name or an address without a port, but is "a:80/x"',
    ],
    ["[server]\ndata = ''", 'wadi.toml:2:1: server.data must not be empty, but is ""'],
    [
      "[limits]\nrequests_per_minute = 0",
      "wadi.toml:2:1: limits.requests_per_minute must be an integer from 1 to 1000000, but is 0",
    ],
    [
      '[service]\nalias = "My Service"',
      "wadi.toml:2:1: service.alias must be 1 to 32 of a-z, 0-9 and -, beginning with a letter" +
        ', but is "My Service"',
    ],
    [
      '[service]\noperator = ""',
      'wadi.toml:2:1: service.operator must be text of 1 to 64 characters, but is ""',
    ],
    [
      `[service]\noperator = "${"x".repeat(65)}"`,
      "wadi.toml:2:1: service.operator must be text of 1 to 64 characters, but is " +
        `"${"x".repeat(64)}…"`,
    ],
    [
      '[service]\nzone = "Mars/Base"',
      "wadi.toml:2:1: service.zone must be the name of an IANA time zone, such as " +
        '"Asia/Riyadh", but is "Mars/Base"',
    ],
    [
      "[service]\nchat_status = 204",
      "wadi.toml:2:1: service.chat_status must be 201 or 200, but is 204",
    ],
    [
      '[service]\nchangelog_url = "javascript:alert(1)"',
      "wadi.toml:2:1: service.changelog_url must be an http or https URL",
    ],
    [
      '[service]\nchangelog_url = "http://a/>;<b"',
      "wadi.toml:2:1: service.changelog_url must be an http or https URL",
    ],
    [
      model("frequency_penalty = inf"),
      "wadi.toml:4:1: models[0].frequency_penalty must be a number from -2 to 2, but is Infinity",
    ],
    [
      '[server]\ncors_origins = ["https://App.example/"]',
      "wadi.toml:2:17: server.cors_origins[0] must be an origin in lower case, such as" +
        ' "https://app.example.com", but is text',
    ],
    [
      '[server]\ntrusted_proxies = ["10.0.0.0/8", "proxy.internal"]',
      "wadi.toml:2:34: server.trusted_proxies[1] must be an address, or a network" +
        ' such as "10.0.0.0/8", but is "proxy.internal"',
    ],
    [
      "[agents.tool_prices]\nfetch = 1",
      "wadi.toml:2:1: agents.tool_prices.fetch must be text in quotes, but is 1",
    ],
    [
      '[retention]\nruns = "ever"',
      'wadi.toml:2:1: retention.runs must be days such as "30d", or "forever", but is "ever"',
    ],
    [
      model("context_window = 0"),
      "wadi.toml:4:1: models[0].context_window must be an integer from 1 to 100000000, but is 0",
    ],
    [
      model('visibility = "hidden"'),
      "wadi.toml:4:1: models[0].visibility" +
        ' must be "public", "private" or "internal", but is "hidden"',
    ],
    [
      model('think = "never"'),
      'wadi.toml:4:1: models[0].think must be "optional" or "required", but is "never"',
    ],
    [
      model('capabilities = [\n  "tools",\n  # "x"\n  "tool"\n]'),
      "wadi.toml:7:3: models[0].capabilities[1]" +
        ' must be "tools", "streaming", "reasoning", "vision" or "structured_outputs", but is "tool"',
    ],
    [
      model('capabilities = ["tools", "tools"]'),
      "wadi.toml:4:26: models[0].capabilities[1] stands in the list twice",
    ],
    [
      model('capabilities = "tools"'),
      "wadi.toml:4:1: models[0].capabilities must be a list, but is text",
    ],
    [
      '[[models]]\nid = "a b"\nupstream = { kind = "stub" }',
      'wadi.toml:2:1: models[0].id must be 1 to 128 of A-Z, a-z, 0-9 and . _ / : @ + -, but is "a b"',
    ],
    ["models = []", "wadi.toml:1:1: models must not be empty"],
    ['[models]\nid = "a"', "wadi.toml:1:2: models must be a list, but is a table"],
    ["models = [1]", "wadi.toml:1:11: models[0] must be a table, but is a number"],
    [
      `models = [${'{ id = "a", upstream = { kind = "stub" } },'.repeat(1_001)}]`,
      "wadi.toml:1:1: models has more than 1000 items",
    ],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });
});

describe("prices and durations", () => {
  const AMOUNT = 'must be an amount such as "1.20", with at most six decimals';
  const DURATION = 'must be a duration such as "500ms", "5s", "10m", "24h" or "90d"';

  test.each([
    [
      model('price = { prompt = 1.20, completion = "3" }'),
      "wadi.toml:4:11: models[0].price.prompt must be text in quotes, but is 1.2",
    ],
    [
      model('price = { prompt = "1.20", completion = "3,60" }'),
      `wadi.toml:4:28: models[0].price.completion ${AMOUNT}, but is "3,60"`,
    ],
    [
      model('[models.price]\nprompt = "1"\ncompletion = "0.0000001"'),
      `wadi.toml:6:1: models[0].price.completion ${AMOUNT}, but is "0.0000001"`,
    ],
    [model('price = { prompt = "1" }'), "wadi.toml:4:1: models[0].price.completion is required"],
    [model('price = "1"'), "wadi.toml:4:1: models[0].price must be a table, but is text"],
    [
      upstream('stall_timeout = "5 min"'),
      `wadi.toml:6:1: models[0].upstream.stall_timeout ${DURATION}, but is "5 min"`,
    ],
    [
      upstream('health_every = "999ms"'),
      "wadi.toml:6:1: models[0].upstream.health_every must be 0s or at least 1s",
    ],
    [
      upstream('health = "http://h/health"'),
      "wadi.toml:6:1: models[0].upstream.health must be empty or a path that begins with /, but is text",
    ],
    [
      upstream("max_in_flight = -1"),
      "wadi.toml:6:1: models[0].upstream.max_in_flight must be an integer from 0 to 100000, but is -1",
    ],
    [
      upstream("stall_timeout = 5"),
      "wadi.toml:6:1: models[0].upstream.stall_timeout must be text in quotes, but is 5",
    ],
    [
      upstream("reasoning_off = { a = -inf }"),
      "wadi.toml:6:19: models[0].upstream.reasoning_off.a cannot be written as JSON",
    ],
    [
      upstream("reasoning_off = { a = nan }"),
      "wadi.toml:6:19: models[0].upstream.reasoning_off.a cannot be written as JSON",
    ],
    [
      upstream('first_token_timeout = "0s"'),
      'wadi.toml:6:1: models[0].upstream.first_token_timeout must be from 1ms to 1d, but is "0s"',
    ],
    [
      '[[models]]\nid = "a"\nupstream = { kind = "stub", first_token_delay = "11m" }',
      'wadi.toml:3:29: models[0].upstream.first_token_delay must be from 0s to 10m, but is "11m"',
    ],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });
});

describe("upstreams", () => {
  const URL_SENTENCE = "must be an http or https URL without user, query or fragment";

  test.each([
    ['[[models]]\nid = "a"', "wadi.toml:1:3: models[0].upstream is required"],
    ['[[models]]\nupstream = { kind = "stub" }', "wadi.toml:1:3: models[0].id is required"],
    [
      '[[models]]\nid = "a"\nupstream = { urls = [] }',
      'wadi.toml:3:1: models[0].upstream.kind is required: "openai" or "stub"',
    ],
    [
      '[[models]]\nid = "a"\nupstream = { kind = "vllm" }',
      'wadi.toml:3:14: models[0].upstream.kind must be "openai" or "stub", but is "vllm"',
    ],
    [
      '[[models]]\nid = "a"\nupstream = { kind = "openai" }',
      "wadi.toml:3:1: models[0].upstream.urls is required",
    ],
    [urls("[]"), "wadi.toml:5:1: models[0].upstream.urls must not be empty"],
    [
      urls('["http://h/v1", "http://h/v1/"]'),
      "wadi.toml:5:24: models[0].upstream.urls[1] stands in the list twice",
    ],
    [
      urls('[\n"http://h/v1",\n"ftp://h"\n]'),
      `wadi.toml:7:1: models[0].upstream.urls[1] ${URL_SENTENCE}`,
    ],
    [urls('["h:8000/v1"]'), `wadi.toml:5:9: models[0].upstream.urls[0] ${URL_SENTENCE}`],
    [urls('["http://"]'), `wadi.toml:5:9: models[0].upstream.urls[0] ${URL_SENTENCE}`],
    [urls('["http://h/v1?x=1"]'), `wadi.toml:5:9: models[0].upstream.urls[0] ${URL_SENTENCE}`],
    [urls('["http://h/v1#x"]'), `wadi.toml:5:9: models[0].upstream.urls[0] ${URL_SENTENCE}`],
    [
      upstream('headers = { "a b" = "x" }'),
      'wadi.toml:6:13: models[0].upstream.headers."a b" is no name of a header',
    ],
    [
      upstream('[models.upstream.headers]\nHost = "x"'),
      "wadi.toml:7:1: models[0].upstream.headers.Host is set by the gateway itself",
    ],
    ...[
      ...["accept", "Connection", "Content-Length", "content-type", "Transfer-Encoding"],
      "X-Request-Id",
    ].map((name) => [
      upstream(`headers = { ${name} = "x" }`),
      `wadi.toml:6:13: models[0].upstream.headers.${name} is set by the gateway itself`,
    ]),
    ...["messages", "model", "stream", "stream_options", "tool_choice", "tools"].map((name) => [
      upstream(`reasoning_on = { ${name} = 1 }`),
      `wadi.toml:6:18: models[0].upstream.reasoning_on.${name} is set by the gateway itself`,
    ]),
    [
      upstream("reasoning_on = true"),
      "wadi.toml:6:1: models[0].upstream.reasoning_on must be a table, but is a boolean",
    ],
    [
      upstream("reasoning_on = { a = { b = [1, 2026-01-01] } }"),
      "wadi.toml:6:32: models[0].upstream.reasoning_on.a.b[1] cannot be written as JSON",
    ],
    [
      upstream("reasoning_off = { x = inf }"),
      "wadi.toml:6:19: models[0].upstream.reasoning_off.x cannot be written as JSON",
    ],
    [
      upstream("reasoning_off = { temperature = 1.0, max_tokens = 5 }"),
      "wadi.toml:6:38: models[0].upstream.reasoning_off.max_tokens is set by the gateway itself",
    ],
    [
      upstream('headers = { x = "a\\r\\nb: c" }'),
      "wadi.toml:6:13: models[0].upstream.headers.x must be one line of text",
    ],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });
});

describe("starts", () => {
  const START = "models[0].upstream.start";
  const URL_SENTENCE = "must be an http or https URL without user or fragment";
  const ACTION = 'must be "POST" or "GET" and then an http or https URL without user or fragment';
  const HEALTH = 'health = "http://h/health"';
  /** The start table of the first model, which begins at line 7. */
  const start = (...lines: string[]) => upstream(`[models.upstream.start]\n${lines.join("\n")}`);

  test.each([
    [start('request = "POST http://h"'), `wadi.toml:6:18: ${START}.health is required`],
    [start('health = "h:80/health"'), `wadi.toml:7:1: ${START}.health ${URL_SENTENCE}`],
    [start('health = "http://u:p@h/"'), `wadi.toml:7:1: ${START}.health ${URL_SENTENCE}`],
    [start(HEALTH, 'request = "http://h/wake"'), `wadi.toml:8:1: ${START}.request ${ACTION}`],
    [start(HEALTH, 'request = "PUT http://h/wake"'), `wadi.toml:8:1: ${START}.request ${ACTION}`],
    [start(HEALTH, 'stop = "POST http://h/#x"'), `wadi.toml:8:1: ${START}.stop ${ACTION}`],
    [
      start(HEALTH, 'command = "systemctl start x"'),
      `wadi.toml:8:1: ${START}.command must be a list, but is text`,
    ],
    [start(HEALTH, 'command = ["x", ""]'), `wadi.toml:8:17: ${START}.command[1] must not be empty`],
    [
      start(HEALTH, 'command = ["x"]', 'request = "GET http://h"'),
      `wadi.toml:8:1: ${START}.command cannot stand beside request`,
    ],
    [
      start(HEALTH, 'command = ["x"]', 'stop = "GET http://h"', 'stop_command = ["x"]'),
      `wadi.toml:10:1: ${START}.stop_command cannot stand beside stop`,
    ],
    [
      start(HEALTH, 'stop = "POST http://h/sleep"'),
      `wadi.toml:8:1: ${START}.stop needs request or command: nothing would start it again`,
    ],
    [
      start(HEALTH, 'stop_command = ["x"]'),
      `wadi.toml:8:1: ${START}.stop_command needs request or command: nothing would start it again`,
    ],
    [
      start(HEALTH, 'command = ["x"]', 'idle_stop = "1ms"'),
      `wadi.toml:9:1: ${START}.idle_stop needs stop or stop_command`,
    ],
    [
      start(HEALTH, 'timeout = "0s"'),
      `wadi.toml:8:1: ${START}.timeout must be from 1s to 1d, but is "0s"`,
    ],
    [
      `${start(HEALTH)}\n[[models]]\nid = "b"\n[models.upstream]\nkind = "openai"\n` +
        `urls = ["http://h/v1"]\nstart = { ${HEALTH}, timeout = "9m" }`,
      `wadi.toml:13:1: models[1].upstream.start is the same unit as ${START}` +
        ", so all of it must be the same",
    ],
    [
      '[[models]]\nid = "a"\nupstream = { kind = "stub", start_delay = "11m" }',
      'wadi.toml:3:29: models[0].upstream.start_delay must be from 0s to 10m, but is "11m"',
    ],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });
});

describe("contradictory settings", () => {
  test.each([
    [
      `${STUB}\n[[models]]\nid = "a"\nupstream = { kind = "stub" }`,
      "wadi.toml:6:1: models[1].id is the id of an earlier model",
    ],
    [
      STUB.replace('"a"', '"svc"'),
      'wadi.toml:2:1: models[0].id must not be the alias of the default model, "svc"',
    ],
    [
      `${STUB.replace('"a"', '"acme-v0"')}[service]\nalias = "acme"`,
      'wadi.toml:2:1: models[0].id must not be the alias of the default model, "acme-v0"',
    ],
    [
      `${STUB.replace('"a"', '"qwen3-32b"')}[service]\ndefault_model = "qwen3-23b"`,
      'wadi.toml:5:1: service.default_model must be the id of a model, but is "qwen3-23b"' +
        '; did you mean "qwen3-32b"?',
    ],
    [
      '[service]\ndefault_model = "qwen"',
      'wadi.toml:2:1: service.default_model must be the id of a model, but is "qwen"',
    ],
    [
      model("context_window = 1024"),
      "wadi.toml:1:3: models[0].default_max_tokens must be less than context_window",
    ],
    [
      upstream('api_key_env = "A"\napi_key_file = "b"'),
      "wadi.toml:6:1: models[0].upstream.api_key_env cannot stand beside api_key_file",
    ],
    [
      '[server]\ndatabase = "postgres://h"\ndatabase_env = "A"',
      "wadi.toml:3:1: server.database_env cannot stand beside server.database",
    ],
    [
      '[server]\nvalkey = "redis://h"',
      "wadi.toml:2:1: server.valkey needs a PostgreSQL server in server.database",
    ],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });

  test("the first problem of the file is reported", () => {
    const text = '[limits]\nrequests_per_minute = 0\n[server]\nport = "x"\nhots = 1';
    expect(refusalOf(text)).toStartWith("wadi.toml:2:1: limits.requests_per_minute must be");
    const line = "limits = { tools = 0, agents = 0 }";
    expect(refusalOf(line)).toStartWith("wadi.toml:1:12: limits.tools must be");
  });
});

describe("an invalid TOML file", () => {
  test.each([
    ["[server]\nhost = abc", "wadi.toml:2:8: not valid TOML: unexpected character"],
    [
      "[server]\nport = 1\n\nport = 2",
      "wadi.toml:4:1: not valid TOML: defining a key multiple times is invalid",
    ],
    ["[a]\n[a]", "wadi.toml:2:2: not valid TOML: defining a key multiple times is invalid"],
    ["\n\n[server", "wadi.toml:3:8: not valid TOML: unterminated table-key"],
    ["a = 9007199254740993", "wadi.toml:1:5: not valid TOML: the number has too many digits"],
    ["= 1", "wadi.toml:1:1: not valid TOML: unexpected token"],
  ])("%j", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });
});
