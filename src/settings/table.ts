// Every setting there is: the file's checks, defaults and documentation come from this table.
import { Type } from "@sinclair/typebox";
import { Backup } from "./backup-table.ts";
import {
  anyText,
  choice,
  count,
  duration,
  flag,
  integer,
  number,
  retention,
  section,
  text,
} from "./fields.ts";
import { Model } from "./model-table.ts";
import { Agents, Egress, Embeddings, Gateway, Search, Think } from "./service-tables.ts";

const HOUR_MS = 3_600_000;
const BYTES_MAX = 2 ** 50;

export const Table = Type.Object(
  {
    server: section("Where the server listens and keeps its data.", {
      host: text("host", "The address to listen on.", { default: "127.0.0.1", restart: true }),
      port: integer("The port to listen on; 0 is any free one.", {
        default: 8_080,
        minimum: 0,
        maximum: 65_535,
        restart: true,
      }),
      data: text("directory", "The directory of the database and the backups.", {
        default: "./wadi-data",
        minLength: 1,
        restart: true,
      }),
      database: text(
        "database",
        '"": SQLite in the data directory; "postgres://…": a PostgreSQL server.',
        { default: "", unquoted: true, restart: true },
      ),
      database_env: text("variable", "The environment variable that holds `database`.", {
        default: "",
        unquoted: true,
        restart: true,
      }),
      database_pooler: text(
        "database",
        "A pgbouncer in transaction mode, through which the work goes; listening, locks and " +
          'changes of tables still go to `database`. "" where there is none.',
        { default: "", unquoted: true, restart: true },
      ),
      database_pooler_env: text("variable", "The environment variable that holds it.", {
        default: "",
        unquoted: true,
        restart: true,
      }),
      valkey: text(
        "valkey",
        'Where several processes on one PostgreSQL count their limits: "redis://…" (Valkey or ' +
          'Redis); "" where only one process runs.',
        { default: "", unquoted: true, restart: true },
      ),
      valkey_env: text("variable", "The environment variable that holds `valkey`.", {
        default: "",
        unquoted: true,
        restart: true,
      }),
      database_connections: integer(
        "Connections to PostgreSQL for the work of this process; two more listen and look.",
        { default: 8, minimum: 2, maximum: 200, restart: true },
      ),
      secrets_key_file: anyText(
        'The file of the secrets key; "" is secrets.key in the data directory.',
        { default: "", unquoted: true, restart: true },
      ),
      metrics_token_env: text(
        "variable",
        "The variable that holds the token for /metrics; without it the page is off.",
        { default: "", unquoted: true, restart: true },
      ),
      trusted_proxies: Type.Array(text("network", "An address, or a network such as 10.0.0.0/8."), {
        description: "Proxies whose X-Forwarded-For names the client.",
        default: [],
        maxItems: 1_000,
        restart: true,
      }),
      connections_per_address: count(
        1_000,
        1_000_000,
        "Connections of one client address (IPv6: of a /64); above it, idle ones are closed. " +
          "Loopback and trusted proxies have no limit.",
      ),
      reserved_descriptors: integer(
        "File descriptors kept free for the server's own work, at most a quarter of all: " +
          "idle connections are closed for them.",
        { default: 64, minimum: 0, maximum: 100_000 },
      ),
      cors_origins: Type.Array(text("origin", "An origin such as https://app.example.com."), {
        description:
          "Origins whose browser apps may call this server; without any, OPTIONS is 404.",
        default: [],
        maxItems: 1_000,
      }),
      public_url: text("link", "The public address of this server, used in links.", {
        default: "",
        unquoted: true,
      }),
      tls: section("Files in PEM for HTTPS; SIGHUP reads them again.", {
        cert: anyText('The certificate and its chain; "": HTTP without encryption.', {
          default: "",
          unquoted: true,
        }),
        key: anyText("The private key of the certificate.", { default: "", unquoted: true }),
      }),
      stop_timeout: duration("How long a stop waits for requests in progress.", {
        default: "30s",
        // A shorter stop would cut connections before each caller is told.
        minimum: 1_000,
        maximum: HOUR_MS,
      }),
    }),
    service: section("What callers see of the service as a whole.", {
      alias: text(
        "alias",
        "The permanent name of the default model; `<alias>-v0` is accepted too.",
        { default: "svc", restart: true },
      ),
      default_model: anyText('The id of the model that answers by default; "" is the first.', {
        default: "",
      }),
      operator: anyText("Your name; a self-hosted model with this provider is your own.", {
        default: "wadi",
        minLength: 1,
        maxLength: 64,
      }),
      currency: text(
        "currency",
        "Currency of all prices here, as `wadi usage` and `wadi requests` name it.",
        { default: "SAR" },
      ),
      changelog_url: text("link", 'The page of deprecations; "" is /docs/changes.', {
        default: "",
        unquoted: true,
      }),
      zone: text(
        "zone",
        "The IANA time zone in which days and months of budgets begin, such as Asia/Riyadh.",
        { default: "UTC", restart: true },
      ),
      ratelimit_headers: flag(
        "Replies show callers their budgets of requests and tokens in x-ratelimit-… headers.",
        { default: false },
      ),
      chat_status: choice(
        [201, 200],
        "The status of a chat reply; 200 for clients that take no other, like Dify.",
        { default: 201, restart: true },
      ),
    }),
    models: Type.Array(Model, {
      description: "The models in the order in which they are listed.",
      minItems: 1,
      maxItems: 1_000,
      default: [
        {
          id: "stub-1",
          provider: "wadi",
          self_hosted: true,
          context_window: 32_768,
          capabilities: ["tools", "streaming", "reasoning", "vision", "structured_outputs"],
          price: { prompt: "1.00", completion: "2.00" },
          upstream: { kind: "stub" },
        },
      ],
    }),
    limits: section("Limits that you can set.", {
      requests_per_minute: count(
        120,
        1_000_000,
        "Requests in any 60 seconds, per account and route; of the agent service, per key.",
      ),
      active_runs: count(20, 1_000_000, "Runs of an account that are queued or running."),
      daily_runs: count(2_000, 100_000_000, "Runs that an account may start in any 24 hours."),
      concurrent_runs: count(
        64,
        100_000,
        "Runs that are executed at once, of all accounts together.",
      ),
      tools: count(100, 100_000, "Tools that an account may have registered and enabled."),
      connections: count(50, 100_000, "Connections that an account may have."),
      triggers: count(100, 100_000, "Triggers that an account may have."),
      endpoints: count(20, 10_000, "Webhook endpoints that an account may have."),
      waiting_deliveries: count(
        10_000,
        10_000_000,
        "Deliveries of an account that wait to be sent; others are kept as failed.",
      ),
      agents: count(
        1_000,
        1_000_000,
        "Agents that an account may have, archived ones not counted.",
      ),
      versions: count(1_000, 1_000_000, "Versions that an agent may have."),
      stored_bytes: integer(
        "Bytes that an account may store: agents, tools, runs, threads, events, deliveries.",
        { default: 10_737_418_240, minimum: 1_048_576, maximum: BYTES_MAX },
      ),
      free_disk_bytes: integer(
        "Below this much free disk in the data directory nothing new is accepted; 0: no limit.",
        { default: 536_870_912, minimum: 0, maximum: BYTES_MAX },
      ),
      hook_requests_per_minute: count(
        60,
        1_000_000,
        "Signed requests to a trigger's hook in any 60 seconds, per trigger.",
      ),
      address_requests_per_minute: count(
        1_200,
        1_000_000,
        "Requests to the agent service in any 60 seconds, per client address.",
      ),
    }),
    operator: section("The operator API, which `wadi --server` calls.", {
      enabled: flag("The operator API answers; without it every path of it is 404.", {
        default: true,
      }),
      listen: text(
        "listen",
        '"": on the address of the server, for clients of this machine only, and not for ' +
          'requests that a proxy forwards; "HOST:PORT": on that address alone, for everybody.',
        { default: "", restart: true },
      ),
      public_url: text(
        "link",
        'The address at which browsers open the console, such as "https://wadi.internal", where ' +
          'a proxy is in front of it; "": the address above.',
        { default: "" },
      ),
      requests_per_minute: count(600, 1_000_000, "Requests of one operator in any 60 seconds."),
    }),
    telemetry: section("Export of traces and metrics by OTLP/HTTP in JSON.", {
      otlp: text(
        "search",
        'The base address of the collector, such as "http://127.0.0.1:4318"; "": no export.',
        { default: "", unquoted: true, restart: true },
      ),
      headers_file: anyText(
        'A file of headers for the collector, one "Name: value" a line; "": none.',
        { default: "", unquoted: true, restart: true },
      ),
      sample: number(
        "The share of traces that is recorded, from 0 to 1; of callers' traces only sampled ones.",
        { default: 1, minimum: 0, maximum: 1, restart: true },
      ),
      metrics_every: duration("How often all metrics are sent, too; 0s is never.", {
        default: "60s",
        maximum: HOUR_MS,
        restart: true,
      }),
      content: flag("Traces hold messages, arguments and results of tools.", {
        default: false,
        restart: true,
      }),
    }),
    retention: section("How long data is kept.", {
      runs: retention("How long finished runs and their steps are kept.", { default: "forever" }),
      events: retention("How long events are kept.", { default: "30d" }),
      request_log: retention(
        "How long each request's row is kept; the sums of `wadi usage` stay.",
        { default: "30d" },
      ),
      usage_half_hours: retention(
        "How long sums of usage are kept by half hours, for days of any zone; then by days in UTC.",
        { default: "400d" },
      ),
      audit: retention("How long entries of the audit log are kept.", { default: "forever" }),
    }),
    backup: Backup,
    gateway: Gateway,
    agents: Agents,
    egress: Egress,
    think: Think,
    embeddings: Embeddings,
    search: Search,
  },
  { description: "wadi.toml" },
);
