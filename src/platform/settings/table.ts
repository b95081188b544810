// Every setting there is: the file's checks, defaults and documentation come from this table.
import { type TUnsafe, Type } from "@sinclair/typebox";
import type { FormatName } from "./formats.ts";

/** What a setting may say beside JSON Schema's own words. */
interface Words<Value> {
  description: string;
  default?: Value;
  /** Stands in a new file where there is no default to show. */
  example?: Value;
  /** Durations and numbers; those of a duration are milliseconds. */
  minimum?: number;
  maximum?: number;
  /** The value may hold a password: no message quotes it. */
  unquoted?: true;
  /**
   * Said by every setting outside of models, which all reload. true: a change counts from the next
   * request on; false: it waits for the next start.
   */
  reloads?: boolean;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TOKENS_MAX = 100_000_000;

/** Text of a named form (formats.ts). */
const text = (format: FormatName, words: Words<string>) => Type.String({ format, ...words });

/** One of a few words. */
const word = <const T extends string>(values: readonly T[], words: Words<T>) =>
  Type.Unsafe<T>({ type: "string", enum: values, ...words });

/** "5s" in the file; whole milliseconds, under the name with `_ms` behind it, in the program. */
export interface Duration extends TUnsafe<number> {
  format: "duration";
}
const duration = (words: Words<string>) =>
  Type.Unsafe<number>({ type: "string", format: "duration", ...words }) as Duration;

/** "1.20" in the file; whole micro-SAR in the program. */
const money = (words: Words<string>) =>
  Type.Unsafe<number>({ type: "string", format: "money", ...words });

/** Any table: it goes into a JSON body as it stands. */
const fields = (words: Words<object>) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    any_fields: true,
    ...words,
  });

export const OpenaiUpstream = Type.Object(
  {
    kind: Type.Literal("openai", {
      description: "`openai`: anything that speaks chat completions; `stub`: the model inside.",
    }),
    urls: Type.Array(text("upstream", { description: "One replica.", unquoted: true }), {
      description: "Base addresses of the replicas, up to and with /v1.",
      minItems: 1,
      maxItems: 256,
      uniqueItems: true,
      example: ["http://127.0.0.1:8000/v1"],
    }),
    model: Type.String({
      description: 'The name that is sent to the server; "" is the id.',
      default: "",
    }),
    api_key_env: text("variable", {
      description: "The environment variable that holds the server's key.",
      default: "",
      unquoted: true,
    }),
    api_key_file: Type.String({
      description: "The file that holds the server's key.",
      default: "",
      unquoted: true,
    }),
    headers: Type.Record(
      Type.String(),
      text("header", { description: "One header.", unquoted: true }),
      {
        description:
          "Further headers of each request; a key goes into api_key_env or api_key_file.",
        default: {},
      },
    ),
    reasoning_on: fields({
      description: "Merged into the body of a request that wants reasoning.",
      default: {},
    }),
    reasoning_off: fields({
      description: "Merged into the body of every other request.",
      default: {},
    }),
    thought_opens: word(["reply", "asked", "always"], {
      description:
        "Who opens a <think> block: the reply; or the template, if asked to reason, or always.",
      default: "reply",
    }),
    tool_choice_by_name: Type.Boolean({
      description: "false: the server ignores it; it is sent that one tool with `required`.",
      default: true,
    }),
    max_in_flight: Type.Integer({
      description: "How many requests each replica gets at once, the others wait; 0 is no limit.",
      default: 0,
      minimum: 0,
      maximum: 100_000,
    }),
    health: text("path", {
      description:
        'The path of a replica\'s health, behind its address without /v1; "" is /health if ' +
        "self_hosted, and none else.",
      default: "",
    }),
    health_every: duration({
      description: "How often it is asked; 0s is never.",
      default: "10s",
      maximum: DAY_MS,
    }),
    connect_timeout: duration({
      description: "How long a connection may take to be made.",
      default: "5s",
      minimum: 1,
      maximum: DAY_MS,
    }),
    first_token_timeout: duration({
      description: "How long the first token may take; for JSON replies: the whole reply.",
      default: "120s",
      minimum: 1,
      maximum: DAY_MS,
    }),
    stall_timeout: duration({
      description: "How long a stream may be silent between two chunks.",
      default: "60s",
      minimum: 1,
      maximum: DAY_MS,
    }),
  },
  { description: "A server that speaks chat completions: vLLM, SGLang, llama.cpp, TGI, Ollama …" },
);

export const StubUpstream = Type.Object(
  {
    kind: Type.Literal("stub", { description: "The model inside the program." }),
    tokens_per_second: Type.Number({
      description: "The pace of its streams; 0 is as fast as it can.",
      default: 0,
      minimum: 0,
      maximum: 100_000,
    }),
    first_token_delay: duration({
      description: "How long it waits before the first token.",
      default: "0s",
      maximum: 10 * MINUTE_MS,
    }),
  },
  { description: "The deterministic model inside the program, without network or weights." },
);

const Price = Type.Object(
  {
    prompt: money({ description: "For a million tokens of the prompt." }),
    completion: money({ description: "For a million tokens of the reply." }),
  },
  { description: "SAR per million tokens, as decimal text." },
);

export const Model = Type.Object(
  {
    id: text("model", { description: "What callers send as `model`.", example: "my-model" }),
    provider: Type.String({
      description: "The party that runs the model.",
      default: "unknown",
      minLength: 1,
      maxLength: 64,
    }),
    self_hosted: Type.Boolean({
      description: "Weights you control on a server you run or rent; other models need a grant.",
      default: false,
    }),
    visibility: word(["public", "private", "internal"], {
      description: "public; private: needs a grant to be seen; internal: never seen by keys.",
      default: "public",
    }),
    context_window: Type.Union([Type.Integer({ minimum: 1, maximum: TOKENS_MAX }), Type.Null()], {
      description: "Tokens of messages and reply together; omitted: unknown.",
      default: null,
      example: 32_768,
    }),
    max_output_tokens: Type.Integer({
      description: "The longest reply.",
      default: 8_192,
      minimum: 1,
      maximum: TOKENS_MAX,
    }),
    default_max_tokens: Type.Integer({
      description: "The longest reply when the request does not say; at most max_output_tokens.",
      default: 1_024,
      minimum: 1,
      maximum: TOKENS_MAX,
    }),
    capabilities: Type.Array(
      word(["tools", "streaming", "reasoning", "vision", "structured_outputs"], {
        description: "One of them.",
      }),
      { description: "What the model supports.", default: ["streaming"], uniqueItems: true },
    ),
    system_prompt: Type.String({
      description: "Used when a request sends no system message.",
      default: "",
    }),
    frequency_penalty: Type.Number({
      description: "Used when a request sends none.",
      default: 0,
      minimum: -2,
      maximum: 2,
    }),
    think: word(["optional", "required"], {
      description: "required: a model that needs deep-thinking mode.",
      default: "optional",
    }),
    price: Type.Union([Price, Type.Null()], {
      description: "SAR per million tokens; omitted: unknown.",
      default: null,
      example: { prompt: "1.20", completion: "3.60" },
    }),
    upstream: Type.Union([OpenaiUpstream, StubUpstream], { description: "What answers for it." }),
  },
  { description: "One model." },
);

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
          maximum: 60 * MINUTE_MS,
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
          capabilities: ["tools", "streaming", "reasoning", "vision"],
          price: { prompt: "1.00", completion: "2.00" },
          upstream: { kind: "stub" },
        },
      ],
    }),
    limits: Type.Object(
      {
        requests_per_minute: Type.Integer({
          description: "Requests in any 60 seconds, per account and route.",
          default: 120,
          minimum: 1,
          maximum: 1_000_000,
          reloads: true,
        }),
      },
      { description: "The numbers of the limits that are yours to set.", default: {} },
    ),
  },
  { description: "wadi.toml" },
);
