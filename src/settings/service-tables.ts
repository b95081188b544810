// The settings of services beside chats: agents and their egress, embeddings, search, thinking.
import { Type } from "@sinclair/typebox";
import {
  anyText,
  count,
  duration,
  flag,
  healthEvery,
  integer,
  money,
  place,
  section,
  serverFields,
  text,
  word,
} from "./fields.ts";

const HOUR_MS = 3_600_000;

/** Without named models, stubs answer for all services; beside one, none does. */
const KIND = "auto: stub in `wadi dev` or where no model is named, else off";

const timeout = (default_: string) =>
  duration("How long one request to the server may take, its whole reply included.", {
    default: default_,
    minimum: 1,
    maximum: HOUR_MS,
  });

const capacity = (places: number, queue: number, quota: number) => ({
  max_concurrent: count(
    places,
    10_000,
    "How many requests are processed at once, of all accounts together.",
  ),
  max_queued: integer("How many more may wait; further ones get 429 with Retry-After.", {
    default: queue,
    minimum: 0,
    maximum: 10_000,
  }),
  requests_per_minute: count(
    quota,
    1_000_000,
    "Requests in any 60 seconds, per account, beside the limit of every route.",
  ),
});

export const Think = section(
  "Deep thinking: the model answers several times, and the most frequent answer wins.",
  {
    attempts: integer("How many times the model is asked at once.", {
      default: 3,
      minimum: 3,
      maximum: 9,
    }),
    attempts_more: integer("How many more times if the answers differ; at most 9 in all.", {
      default: 2,
      minimum: 0,
      maximum: 6,
    }),
  },
);

export const Embeddings = section("What answers POST /v1/embeddings: the model bge-m3.", {
  kind: word(
    ["auto", "off", "openai", "tei", "stub"],
    "openai: anything that speaks its embeddings (vLLM, llama.cpp, Ollama, a provider); tei: " +
      `Text Embeddings Inference; stub: vectors made inside; ${KIND}.`,
    { default: "auto" },
  ),
  urls: Type.Array(text("upstream", "One replica.", { unquoted: true }), {
    description:
      "Base addresses of the replicas: of openai up to and with /v1, such as " +
      '"http://10.0.0.7:8000/v1"; of tei without it.',
    maxItems: 256,
    uniqueItems: true,
    default: [],
  }),
  model: anyText("The name that is sent to the server.", {
    default: "bge-m3",
    minLength: 1,
    maxLength: 256,
  }),
  ...serverFields(),
  price: Type.Union([money("SAR."), Type.Null()], {
    description: "SAR per million tokens, as decimal text; omitted: unknown.",
    default: null,
    example: "0.10",
  }),
  max_batch: integer(
    "Maximum texts in one request to the server; 0: what the server reports, else 64.",
    { default: 0, minimum: 0, maximum: 64 },
  ),
  health: text(
    "path",
    'The path of a replica\'s health, behind its address without /v1; "" is /health.',
    { default: "" },
  ),
  health_every: healthEvery(),
  timeout: timeout("60s"),
  ...capacity(8, 32, 20),
});

export const Search = section("What answers POST /v1/search.", {
  kind: word(
    ["auto", "off", "searxng", "brave", "stub"],
    `searxng; brave: its web search API; stub: a folder of Markdown files; ${KIND}.`,
    { default: "auto" },
  ),
  url: text(
    "search",
    'The base address of SearXNG, such as "http://10.0.0.8:8888"; of brave "" is its own.',
    { default: "", unquoted: true },
  ),
  folder: anyText('Of stub: the folder of Markdown files; "" is a few pages of its own.', {
    default: "",
  }),
  ...serverFields(),
  timeout: timeout("15s"),
  ...capacity(4, 8, 10),
});

export const Gateway = section("Routes of the gateway in the formats of other interfaces.", {
  responses: flag("POST /v1/responses answers; default: true in `wadi dev`, else 404.", {
    default: false,
  }),
  messages: flag("POST /v1/messages answers; default: true in `wadi dev`, else 404.", {
    default: false,
  }),
});

export const Agents = section("The agent service.", {
  open: flag("false: every route of the agent service answers 503.", { default: true }),
  enforce_scope: flag(
    "false: a grace period in which most routes do not require the scope agents.",
    { default: true },
  ),
  http_tools: flag("false: tools that callers registered are neither changed nor called.", {
    default: true,
  }),
  mcp: flag("true: accounts may register MCP servers, and runs call their tools.", {
    default: false,
  }),
  triggers: flag("false: triggers are neither changed nor fired, and hooks answer 503.", {
    default: true,
  }),
  webhooks: flag("false: webhook endpoints are not changed, and deliveries wait.", {
    default: true,
  }),
  mcp_server: flag("/mcp answers; default: true in `wadi dev`, else 404.", { default: false }),
  tool_prices: Type.Record(Type.String(), money("SAR for one call, as decimal text."), {
    description:
      'SAR per call by the name of a tool, such as { web_search = "0.010000" }; other ' +
      "tools have an unknown price, unless they are free.",
    default: {},
  }),
});

export const Egress = section(
  "What tools, pages and webhooks may reach beside public hosts (https, port 443).",
  {
    allow: Type.Array(place("One place."), {
      description:
        'Places that may be reached even though they are not public: "HOST:PORT", "HOST:*" or ' +
        '"[IPV6]:PORT", such as "10.0.0.9:8443"; also by plain http. `--allow-egress` adds more.',
      default: [],
      maxItems: 1_000,
    }),
  },
);
