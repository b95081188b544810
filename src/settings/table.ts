// Every setting there is: the file's checks, defaults and documentation come from this table.
import { Type } from "@sinclair/typebox";
import { Model } from "./model-table.ts";
import { Agents, Egress, Embeddings, Search, Think } from "./service-tables.ts";
import { choice, duration, retention, text } from "./words.ts";

const HOUR_MS = 3_600_000;
/** Maximum of a setting in bytes: 1 PiB. */
const BYTES_MAX = 2 ** 50;

export const Table = Type.Object(
  {
    server: Type.Object(
      {
        host: text("host", {
          description: "The address to listen on.",
          default: "127.0.0.1",
          reloads: false,
        }),
        port: Type.Integer({
          description: "The port to listen on; 0 is any free one.",
          default: 8_080,
          minimum: 0,
          maximum: 65_535,
          reloads: false,
        }),
        data: Type.String({
          description: "The directory of the database and the backups.",
          default: "./wadi-data",
          minLength: 1,
          reloads: false,
        }),
        database: text("database", {
          description: '"": SQLite in the data directory; "postgres://…": that engine.',
          default: "",
          unquoted: true,
          reloads: false,
        }),
        database_env: text("variable", {
          description: "The environment variable that holds `database`.",
          default: "",
          unquoted: true,
          reloads: false,
        }),
        secrets_key_file: Type.String({
          description: 'The file of the secrets key; "" is secrets.key in the data directory.',
          default: "",
          unquoted: true,
          reloads: false,
        }),
        metrics_token_env: text("variable", {
          description: "The variable that holds the token for /metrics; without it there is none.",
          default: "",
          unquoted: true,
          reloads: false,
        }),
        trusted_proxies: Type.Array(
          text("network", { description: "An address, or a network such as 10.0.0.0/8." }),
          {
            description:
              "The proxies in front whose X-Forwarded-For says where a request comes from.",
            default: [],
            maxItems: 1_000,
            reloads: false,
          },
        ),
        connections_per_address: Type.Integer({
          description:
            "Connections of one client address (IPv6: of a /64); beyond, idle ones are closed. " +
            "Loopback and trusted proxies have no limit.",
          default: 1_000,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
        reserved_descriptors: Type.Integer({
          description:
            "File descriptors kept free for the server's own work, at most a quarter of all: " +
            "idle connections are closed for them.",
          default: 64,
          minimum: 0,
          maximum: 100_000,
          reloads: true,
        }),
        cors_origins: Type.Array(
          text("origin", { description: "An origin such as https://app.example.com." }),
          {
            description:
              "Origins whose browser apps may ask this server; without any, OPTIONS is 404.",
            default: [],
            maxItems: 1_000,
            reloads: true,
          },
        ),
        public_url: text("link", {
          description: "Where people reach this server; used in links shown to them.",
          default: "",
          unquoted: true,
          reloads: true,
        }),
        stop_timeout: duration({
          description: "How long a stop lets running requests end.",
          default: "30s",
          // Less than what a last word to each caller may take would be a cut without it.
          minimum: 1_000,
          maximum: HOUR_MS,
          reloads: true,
        }),
      },
      { description: "Where the program listens and keeps its data.", default: {} },
    ),
    service: Type.Object(
      {
        alias: text("alias", {
          description: "The permanent name of the default model; `<alias>-v0` is accepted too.",
          default: "svc",
          reloads: false,
        }),
        default_model: Type.String({
          description: 'The id of the model that answers by default; "" is the first.',
          default: "",
          reloads: true,
        }),
        operator: Type.String({
          description: "You; a self-hosted model with this provider is the service's own.",
          default: "wadi",
          minLength: 1,
          maxLength: 64,
          reloads: true,
        }),
        changelog_url: text("link", {
          description: 'The page of deprecations; "" is our own, /docs/changes.',
          default: "",
          unquoted: true,
          reloads: true,
        }),
        chat_status: choice([201, 200], {
          description: "The status of a chat reply; 200 for clients that take no other, like Dify.",
          default: 201,
          reloads: false,
        }),
      },
      { description: "What callers see of the service as a whole.", default: {} },
    ),
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
    limits: Type.Object(
      {
        requests_per_minute: Type.Integer({
          description:
            "Requests in any 60 seconds, per account and route; of the agent service, per key.",
          default: 120,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
        active_runs: Type.Integer({
          description: "Runs of an account that are queued or running.",
          default: 20,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
        daily_runs: Type.Integer({
          description: "Runs that an account may start in any 24 hours.",
          default: 2_000,
          minimum: 1,
          maximum: 100_000_000,
          reloads: true,
        }),
        concurrent_runs: Type.Integer({
          description: "Runs that are executed at once, of all accounts together.",
          default: 64,
          minimum: 1,
          maximum: 100_000,
          reloads: true,
        }),
        tools: Type.Integer({
          description: "Tools that an account may have registered and enabled.",
          default: 100,
          minimum: 1,
          maximum: 100_000,
          reloads: true,
        }),
        connections: Type.Integer({
          description: "Connections that an account may have.",
          default: 50,
          minimum: 1,
          maximum: 100_000,
          reloads: true,
        }),
        triggers: Type.Integer({
          description: "Triggers that an account may have.",
          default: 100,
          minimum: 1,
          maximum: 100_000,
          reloads: true,
        }),
        endpoints: Type.Integer({
          description: "Webhook endpoints that an account may have.",
          default: 20,
          minimum: 1,
          maximum: 10_000,
          reloads: true,
        }),
        waiting_deliveries: Type.Integer({
          description: "Deliveries of an account that wait to be sent; others are kept as failed.",
          default: 10_000,
          minimum: 1,
          maximum: 10_000_000,
          reloads: true,
        }),
        agents: Type.Integer({
          description: "Agents that an account may have beside those that are archived.",
          default: 1_000,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
        versions: Type.Integer({
          description: "Versions that an agent may have.",
          default: 1_000,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
        stored_bytes: Type.Integer({
          description:
            "Bytes that an account may store: agents, tools, runs, threads, events, deliveries.",
          default: 10_737_418_240,
          minimum: 1_048_576,
          maximum: BYTES_MAX,
          reloads: true,
        }),
        free_disk_bytes: Type.Integer({
          description:
            "While the data directory's disk has less room, nothing new is accepted; 0: no bound.",
          default: 536_870_912,
          minimum: 0,
          maximum: BYTES_MAX,
          reloads: true,
        }),
        hook_requests_per_minute: Type.Integer({
          description: "Signed requests to a trigger's hook in any 60 seconds, per trigger.",
          default: 60,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
        address_requests_per_minute: Type.Integer({
          description: "Requests to the agent service in any 60 seconds, per client address.",
          default: 1_200,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
      },
      { description: "The numbers of the limits that are yours to set.", default: {} },
    ),
    retention: Type.Object(
      {
        runs: retention({
          description: "How long finished runs and their steps are kept.",
          default: "forever",
          reloads: true,
        }),
        events: retention({
          description: "How long events are kept.",
          default: "30d",
          reloads: true,
        }),
        request_log: retention({
          description: "How long each request's row is kept; the sums of `wadi usage` stay.",
          default: "30d",
          reloads: true,
        }),
      },
      { description: "How long things are kept.", default: {} },
    ),
    agents: Agents,
    egress: Egress,
    think: Think,
    embeddings: Embeddings,
    search: Search,
  },
  { description: "wadi.toml" },
);
