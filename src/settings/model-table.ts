// The settings of one model: its public properties and its model servers.
import { Type } from "@sinclair/typebox";
import {
  anyText,
  command,
  count,
  duration,
  fields,
  flag,
  healthEvery,
  integer,
  money,
  number,
  serverFields,
  table,
  text,
  word,
} from "./fields.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TOKENS_MAX = 100_000_000;

export const Start = table("How the server of an idle model is started.", {
  request: text(
    "action",
    'The request that starts it, such as "POST http://10.0.0.5:8000/wake_up".',
    { default: "", unquoted: true },
  ),
  command: command("Or the command that starts it: program and arguments, without a shell."),
  health: text("probe", "The address that answers 2xx once the server is ready.", {
    example: "http://127.0.0.1:8000/health",
    unquoted: true,
  }),
  timeout: duration("How long a start may take.", {
    default: "600s",
    minimum: 1_000,
    maximum: DAY_MS,
  }),
  stop: text("action", 'The request that stops an idle server; "": it is never stopped.', {
    default: "",
    unquoted: true,
  }),
  stop_command: command("Or the command that stops it."),
  idle_stop: duration("The time without requests after which it is stopped; 0s: never.", {
    default: "0s",
    maximum: 7 * DAY_MS,
  }),
  min_up: duration("The minimum time from its start to its stop.", {
    default: "10m",
    maximum: 7 * DAY_MS,
  }),
});

export const OpenaiUpstream = table(
  "A server that speaks chat completions: vLLM, SGLang, llama.cpp, TGI, Ollama …",
  {
    kind: Type.Literal("openai", {
      description: "`openai`: anything that speaks chat completions; `stub`: the model inside.",
    }),
    urls: Type.Array(text("upstream", "One replica.", { unquoted: true }), {
      description: "Base addresses of the replicas, up to and with /v1.",
      minItems: 1,
      maxItems: 256,
      uniqueItems: true,
      example: ["http://127.0.0.1:8000/v1"],
    }),
    model: anyText('The name that is sent to the server; "" is the id.', { default: "" }),
    ...serverFields(),
    reasoning_on: fields("Merged into the body of a request that wants reasoning.", {
      default: {},
    }),
    reasoning_off: fields("Merged into the body of every other request.", { default: {} }),
    thought_opens: word(
      ["reply", "asked", "always"],
      "Who opens a <think> block: the reply; or the template, if asked to reason, or always.",
      { default: "reply" },
    ),
    tool_choice_by_name: flag(
      "false: it ignores a choice by name and is sent that one tool with `required`.",
      { default: true },
    ),
    max_in_flight: integer(
      "How many requests each replica gets at once; others wait. 0 is no limit.",
      { default: 0, minimum: 0, maximum: 100_000 },
    ),
    health: text(
      "path",
      'The path of a replica\'s health, behind its address without /v1; "" is /health if ' +
        "self_hosted, and none else.",
      { default: "" },
    ),
    health_every: healthEvery(),
    first_token_timeout: duration(
      "How long the first token may take; for JSON replies: the whole reply.",
      { default: "120s", minimum: 1, maximum: DAY_MS },
    ),
    stall_timeout: duration("How long a stream may be silent between two chunks.", {
      default: "60s",
      minimum: 1,
      maximum: DAY_MS,
    }),
    start: Type.Union([Start, Type.Null()], {
      description: "How the idle model server is started; omitted: it always runs.",
      default: null,
    }),
  },
);

export const StubUpstream = table(
  "The deterministic model inside the program, without network or weights.",
  {
    kind: Type.Literal("stub", { description: "The model inside the program." }),
    tokens_per_second: number("The pace of its streams; 0 is as fast as it can.", {
      default: 0,
      minimum: 0,
      maximum: 100_000,
    }),
    first_token_delay: duration("How long it waits before the first token.", {
      default: "0s",
      maximum: 10 * MINUTE_MS,
    }),
    start_delay: duration("How long it takes to start at its first request.", {
      default: "0s",
      maximum: 10 * MINUTE_MS,
    }),
  },
);

const Price = table("SAR per million tokens, as decimal text.", {
  prompt: money("For a million tokens of the prompt."),
  completion: money("For a million tokens of the reply."),
});

export const Model = table("One model.", {
  id: text("model", "What callers send as `model`.", { example: "my-model" }),
  provider: anyText("The party that runs the model.", {
    default: "unknown",
    minLength: 1,
    maxLength: 64,
  }),
  self_hosted: flag("Weights you control on a server you run or rent; other models need a grant.", {
    default: false,
  }),
  visibility: word(
    ["public", "private", "internal"],
    "public; private: visible only with a grant; internal: not visible to any key.",
    { default: "public" },
  ),
  context_window: Type.Union([Type.Integer({ minimum: 1, maximum: TOKENS_MAX }), Type.Null()], {
    description: "Tokens of messages and reply together; omitted: unknown.",
    default: null,
    example: 32_768,
  }),
  max_output_tokens: count(8_192, TOKENS_MAX, "The longest reply in tokens."),
  default_max_tokens: count(
    1_024,
    TOKENS_MAX,
    "The longest reply if the request names none; at most max_output_tokens.",
  ),
  capabilities: Type.Array(
    word(["tools", "streaming", "reasoning", "vision", "structured_outputs"], "One of them."),
    { description: "What the model supports.", default: ["streaming"], uniqueItems: true },
  ),
  system_prompt: anyText("Used when a request sends no system message.", { default: "" }),
  frequency_penalty: number("Used when a request sends none.", {
    default: 0,
    minimum: -2,
    maximum: 2,
  }),
  think: word(["optional", "required"], "required: a model that needs deep-thinking mode.", {
    default: "optional",
  }),
  price: Type.Union([Price, Type.Null()], {
    description: "SAR per million tokens; omitted: unknown.",
    default: null,
    example: { prompt: "1.20", completion: "3.60" },
  }),
  upstream: Type.Union([OpenaiUpstream, StubUpstream], { description: "What answers for it." }),
});
