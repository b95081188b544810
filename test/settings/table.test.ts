// Tests that each setting has all data for its documentation and its checks.
import { describe, expect, test } from "bun:test";
import { type Field, listFields } from "../../src/settings/fields.ts";
import { FORMATS } from "../../src/settings/formats.ts";
import { Table } from "../../src/settings/table.ts";

type Described = Field & { description?: string };

/** Every field with its path; `[]` is an element, `*` a name that the operator chooses. */
function listAll(field: Described, path: string): [string, Described][] {
  const variants = (field.anyOf ?? []).filter((one) => one.type !== "null");
  if (variants.length > 0) {
    // An optional field is marked and described by one wrapper around it.
    return variants.flatMap((one) => listAll({ description: field.description, ...one }, path));
  }
  return [
    [path, field],
    ...Object.entries(field.properties ?? {}).flatMap(([name, one]) =>
      listAll(one, `${path}.${name}`),
    ),
    ...Object.values(field.patternProperties ?? {}).flatMap((one) => listAll(one, `${path}.*`)),
    ...(field.items ? listAll(field.items, `${path}[]`) : []),
  ];
}

const ALL = listAll(Table, "").slice(1);

/** A smaller range would refuse files that were valid, and a larger one is unbounded work. */
const BOUNDS = [
  ".server.port 0..65535",
  ".server.data 1..",
  ".server.trusted_proxies ..1000",
  ".server.connections_per_address 1..1000000",
  ".server.reserved_descriptors 0..100000",
  ".server.cors_origins ..1000",
  ".server.stop_timeout 1000..3600000",
  ".service.operator 1..64",
  ".models 1..1000",
  ".models[].provider 1..64",
  ".models[].context_window 1..100000000",
  ".models[].max_output_tokens 1..100000000",
  ".models[].default_max_tokens 1..100000000",
  ".models[].frequency_penalty -2..2",
  ".models[].upstream.urls 1..256",
  ".models[].upstream.connect_timeout 1..86400000",
  ".models[].upstream.max_in_flight 0..100000",
  ".models[].upstream.health_every ..86400000",
  ".models[].upstream.first_token_timeout 1..86400000",
  ".models[].upstream.stall_timeout 1..86400000",
  ".models[].upstream.start.command ..64",
  ".models[].upstream.start.command[] 1..",
  ".models[].upstream.start.timeout 1000..86400000",
  ".models[].upstream.start.stop_command ..64",
  ".models[].upstream.start.stop_command[] 1..",
  ".models[].upstream.start.idle_stop ..604800000",
  ".models[].upstream.start.min_up ..604800000",
  ".models[].upstream.tokens_per_second 0..100000",
  ".models[].upstream.first_token_delay ..600000",
  ".models[].upstream.start_delay ..600000",
  ".limits.requests_per_minute 1..1000000",
  ".limits.active_runs 1..1000000",
  ".limits.daily_runs 1..100000000",
  ".limits.concurrent_runs 1..100000",
  ".limits.tools 1..100000",
  ".limits.connections 1..100000",
  ".limits.triggers 1..100000",
  ".limits.endpoints 1..10000",
  ".limits.waiting_deliveries 1..10000000",
  ".limits.agents 1..1000000",
  ".limits.versions 1..1000000",
  ".limits.stored_bytes 1048576..1125899906842624",
  ".limits.free_disk_bytes 0..1125899906842624",
  ".limits.hook_requests_per_minute 1..1000000",
  ".limits.address_requests_per_minute 1..1000000",
  ".operator.requests_per_minute 1..1000000",
  ".telemetry.sample 0..1",
  ".telemetry.metrics_every ..3600000",
  ".backup.every ..34560000000",
  ".backup.keep 1..10000",
  ".egress.allow ..1000",
  ".think.attempts 3..9",
  ".think.attempts_more 0..6",
  ".embeddings.urls ..256",
  ".embeddings.model 1..256",
  ".embeddings.connect_timeout 1..86400000",
  ".embeddings.max_batch 0..64",
  ".embeddings.health_every ..86400000",
  ".embeddings.timeout 1..3600000",
  ".embeddings.max_concurrent 1..10000",
  ".embeddings.max_queued 0..10000",
  ".embeddings.requests_per_minute 1..1000000",
  ".search.connect_timeout 1..86400000",
  ".search.timeout 1..3600000",
  ".search.max_concurrent 1..10000",
  ".search.max_queued 0..10000",
  ".search.requests_per_minute 1..1000000",
];

describe("every setting", () => {
  test("has a description", () => {
    const bare = ALL.filter(([, field]) => !field.description);
    expect(bare.map(([path]) => path)).toEqual([]);
  });

  test("has a default, except those that a model requires", () => {
    const required = ALL.flatMap(([path, field]) =>
      Object.entries(field.properties ?? {})
        .filter(([, one]) => !("default" in one))
        .map(([name]) => `${path}.${name}`),
    );
    expect(required).toEqual([
      ".models[].id",
      ".models[].upstream",
      ".models[].price.prompt",
      ".models[].price.completion",
      ".models[].upstream.kind",
      ".models[].upstream.urls",
      ".models[].upstream.start.health",
      ".models[].upstream.kind",
    ]);
  });

  test("has bounds if it is a number or a duration", () => {
    for (const [path, field] of ALL) {
      const isNumber = !field.enum && (field.type === "integer" || field.type === "number");
      if (isNumber) expect([path, typeof field.minimum]).toEqual([path, "number"]);
      if (isNumber || field.format === "duration") {
        expect([path, typeof field.maximum]).toEqual([path, "number"]);
      }
    }
  });

  test("accepts at least and at most what operators were promised", () => {
    const bounds = ALL.map(([path, field]) => {
      const least = field.minimum ?? field.minLength ?? field.minItems ?? "";
      return `${path} ${least}..${field.maximum ?? field.maxLength ?? field.maxItems ?? ""}`;
    });
    expect(BOUNDS.filter((line) => !bounds.includes(line))).toEqual([]);
  });

  test("has an existing format", () => {
    const formats = ALL.map(([, field]) => field.format).filter((format) => format !== undefined);
    expect(formats.filter((format) => !(format in FORMATS))).toEqual([]);
    expect(Object.keys(FORMATS).filter((format) => !formats.includes(format))).toEqual([]);
  });
});

test("few settings need a restart", () => {
  const waiting = listFields(Table).filter(([, { restart }]) => restart);
  expect(waiting.map(([path]) => path)).toEqual([
    "server.host",
    "server.port",
    "server.data",
    "server.database",
    "server.database_env",
    "server.database_pooler",
    "server.database_pooler_env",
    "server.valkey",
    "server.valkey_env",
    "server.database_connections",
    "server.secrets_key_file",
    "server.metrics_token_env",
    "server.trusted_proxies",
    "service.alias",
    "service.zone",
    "service.chat_status",
    "operator.listen",
    "telemetry.otlp",
    "telemetry.headers_file",
    "telemetry.sample",
    "telemetry.metrics_every",
    "telemetry.content",
    "backup.every",
    "backup.keep",
    "backup.to",
    "backup.endpoint",
    "backup.region",
    "backup.access_key_id",
    "backup.secret_access_key_env",
    "backup.secret_access_key_file",
  ]);
});

test("settings with one place in the file are those that a variable can override", () => {
  expect(listFields(Table).map(([path]) => path)).toEqual([
    "server.host",
    "server.port",
    "server.data",
    "server.database",
    "server.database_env",
    "server.database_pooler",
    "server.database_pooler_env",
    "server.valkey",
    "server.valkey_env",
    "server.database_connections",
    "server.secrets_key_file",
    "server.metrics_token_env",
    "server.trusted_proxies",
    "server.connections_per_address",
    "server.reserved_descriptors",
    "server.cors_origins",
    "server.public_url",
    "server.tls.cert",
    "server.tls.key",
    "server.stop_timeout",
    "service.alias",
    "service.default_model",
    "service.operator",
    "service.currency",
    "service.changelog_url",
    "service.zone",
    "service.ratelimit_headers",
    "service.chat_status",
    "limits.requests_per_minute",
    "limits.active_runs",
    "limits.daily_runs",
    "limits.concurrent_runs",
    "limits.tools",
    "limits.connections",
    "limits.triggers",
    "limits.endpoints",
    "limits.waiting_deliveries",
    "limits.agents",
    "limits.versions",
    "limits.stored_bytes",
    "limits.free_disk_bytes",
    "limits.hook_requests_per_minute",
    "limits.address_requests_per_minute",
    "operator.enabled",
    "operator.listen",
    "operator.public_url",
    "operator.requests_per_minute",
    "telemetry.otlp",
    "telemetry.headers_file",
    "telemetry.sample",
    "telemetry.metrics_every",
    "telemetry.content",
    "retention.runs",
    "retention.events",
    "retention.request_log",
    "retention.usage_half_hours",
    "retention.audit",
    "backup.every",
    "backup.keep",
    "backup.to",
    "backup.endpoint",
    "backup.region",
    "backup.access_key_id",
    "backup.secret_access_key_env",
    "backup.secret_access_key_file",
    "gateway.responses",
    "gateway.messages",
    "agents.open",
    "agents.enforce_scope",
    "agents.http_tools",
    "agents.mcp",
    "agents.triggers",
    "agents.webhooks",
    "agents.mcp_server",
    "agents.tool_prices",
    "egress.allow",
    "think.attempts",
    "think.attempts_more",
    "embeddings.kind",
    "embeddings.urls",
    "embeddings.model",
    "embeddings.api_key_env",
    "embeddings.api_key_file",
    "embeddings.headers",
    "embeddings.connect_timeout",
    "embeddings.price",
    "embeddings.max_batch",
    "embeddings.health",
    "embeddings.health_every",
    "embeddings.timeout",
    "embeddings.max_concurrent",
    "embeddings.max_queued",
    "embeddings.requests_per_minute",
    "search.kind",
    "search.url",
    "search.folder",
    "search.api_key_env",
    "search.api_key_file",
    "search.headers",
    "search.connect_timeout",
    "search.timeout",
    "search.max_concurrent",
    "search.max_queued",
    "search.requests_per_minute",
  ]);
});
