// Real error replies of model servers and of proxies in front of them.
import type { UpstreamCode } from "../../src/models/providers/contract.ts";

const json = (value: unknown) => JSON.stringify(value);
const nested = (code: number | string | null, message: string, type: string, more: object = {}) =>
  json({ error: { message, type, param: null, code, ...more } });
const flat = (code: number, message: string, type: string) =>
  json({ object: "error", message, type, param: null, code });
const page = (title: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body><center><h1>${title}</h1></center>` +
  "<hr><center>nginx/1.25.3 (10.9.8.7)</center></body>\r\n</html>\r\n";

/** `elsewhere` means that another replica may succeed. */
export type ServerError = [
  title: string,
  status: number,
  body: string,
  code: UpstreamCode,
  elsewhere: boolean,
];

const LONG = "context_length_exceeded";
const ERROR = "upstream_error";
const BUSY = "upstream_rate_limited";
const GONE = "model_unavailable";
const LATE = "upstream_timeout";

const TOO_LONG: ServerError[] = [
  [
    "vLLM: too long",
    400,
    nested(
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
      "BadRequestError",
    ),
    LONG,
    false,
  ],
  [
    "vLLM: a budget that is too long",
    400,
    nested(
      400,
      "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
      "BadRequestError",
      { param: "max_tokens" },
    ),
    LONG,
    false,
  ],
  [
    "older vLLM, flat: too long",
    400,
    flat(
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
      "BadRequestError",
    ),
    LONG,
    false,
  ],
  [
    "older vLLM: a prompt that is too long",
    400,
    flat(
      400,
      "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
      "BadRequestError",
    ),
    LONG,
    false,
  ],
  [
    "SGLang: too long",
    400,
    flat(
      400,
      "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
      "BadRequestError",
    ),
    LONG,
    false,
  ],
  [
    "SGLang: a budget that is too long",
    400,
    flat(
      400,
      "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens.",
      "BadRequestError",
    ),
    LONG,
    false,
  ],
  [
    "llama.cpp: too long",
    400,
    json({
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 5000,
        n_ctx: 4096,
      },
    }),
    LONG,
    false,
  ],
  [
    "llama-cpp-python: too long",
    400,
    nested(
      "context_length_exceeded",
      "This model's maximum context length is 2048 tokens, however you requested 3000 tokens.",
      "invalid_request_error",
      { param: "messages" },
    ),
    LONG,
    false,
  ],
  [
    "Ollama, where it does not cut: too long",
    400,
    json({ error: "the input length exceeds the context length" }),
    LONG,
    false,
  ],
  [
    "TEI: too long",
    413,
    json({
      message: "`inputs` must have less than 512 tokens. Given: 600",
      code: 413,
      type: "Validation",
    }),
    LONG,
    false,
  ],
  [
    "TGI: too long",
    422,
    json({
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`",
      error_type: "validation",
    }),
    LONG,
    false,
  ],
];

const OVERLOADED: ServerError[] = [
  ["vLLM behind a limit", 429, nested(429, "Rate limit: slow down", "RateLimit"), BUSY, true],
  [
    "SGLang's queue",
    503,
    flat(503, "The request queue is full.", "ServiceUnavailable"),
    BUSY,
    true,
  ],
  [
    "Ollama's queue",
    503,
    nested(null, "server busy, please try again.  maximum pending requests exceeded", "api_error"),
    BUSY,
    true,
  ],
  [
    "Ollama's queue, as a text",
    503,
    json({ error: "server busy, please try again.  maximum pending requests exceeded" }),
    BUSY,
    true,
  ],
  [
    "TEI: overloaded",
    429,
    json({ message: "Model is overloaded", code: 429, type: "Overloaded" }),
    BUSY,
    true,
  ],
  [
    "TGI: overloaded",
    429,
    json({ error: "Model is overloaded", error_type: "overloaded" }),
    BUSY,
    true,
  ],
  ["a proxy's limit", 429, page("429 Too Many Requests"), BUSY, true],
];

const REFUSED: ServerError[] = [
  ["vLLM: our key", 401, json({ error: "Unauthorized" }), GONE, true],
  [
    "llama.cpp: our key",
    401,
    json({ error: { code: 401, message: "Invalid API Key", type: "authentication_error" } }),
    GONE,
    true,
  ],
  ["our rights, by the words of a proxy", 403, page("403 Forbidden"), GONE, true],
  [
    "vLLM: the model's name",
    404,
    nested(404, "The model `upstream-model` does not exist.", "NotFoundError"),
    GONE,
    true,
  ],
  [
    "older vLLM: the model's name",
    404,
    flat(404, "The model `upstream-model` does not exist.", "NotFoundError"),
    GONE,
    true,
  ],
  [
    "Ollama: the model's name",
    404,
    nested(null, 'model "upstream-model" not found, try pulling it first', "api_error"),
    GONE,
    true,
  ],
  ["FastAPI: the route", 404, json({ detail: "Not Found" }), GONE, true],
  ["a proxy: the route", 404, page("404 Not Found"), GONE, true],
  ["vLLM: a field", 400, nested(400, "seed must be in range", "BadRequestError"), ERROR, false],
  ["FastAPI: a field", 422, json({ detail: [{ loc: ["body"], msg: "No" }] }), ERROR, false],
  [
    "TGI: a template",
    422,
    json({ error: "Template error: template not found", error_type: "template_error" }),
    ERROR,
    false,
  ],
  ["a proxy: the size of the body", 413, page("413 Request Entity Too Large"), ERROR, false],
  ["a method", 405, json({ detail: "Method Not Allowed" }), ERROR, false],
  ["a teapot", 418, "", ERROR, false],
];

const BROKEN: ServerError[] = [
  [
    "llama.cpp while it loads",
    503,
    json({ error: { code: 503, message: "Loading model", type: "unavailable_error" } }),
    ERROR,
    true,
  ],
  ["SGLang while it starts", 503, "", ERROR, true],
  [
    "vLLM whose engine died",
    500,
    nested(500, "EngineCore encountered an issue.", "InternalServerError"),
    ERROR,
    true,
  ],
  [
    "llama.cpp: too long for embeddings, where it is no fault of the chat's",
    500,
    json({
      error: {
        code: 500,
        message: "input is too large to process. increase the physical batch size",
        type: "server_error",
      },
    }),
    ERROR,
    true,
  ],
  [
    "Ollama whose runner died",
    500,
    json({ error: "llama runner process has terminated: exit status 2" }),
    ERROR,
    true,
  ],
  [
    "TGI that could not go on",
    424,
    json({
      error: "Request failed during generation: Server error: CUDA",
      error_type: "generation",
    }),
    ERROR,
    true,
  ],
  [
    "a crash that talks of length",
    500,
    json({ error: "context window of the crash" }),
    ERROR,
    true,
  ],
  ["a proxy without server", 502, page("502 Bad Gateway"), ERROR, true],
  ["a proxy that is closed", 503, page("503 Service Temporarily Unavailable"), ERROR, true],
  ["a proxy that waited", 504, page("504 Gateway Time-out"), LATE, true],
  ["a server that waited", 408, "", LATE, true],
  ["a redirect", 302, "", ERROR, true],
];

export const SERVER_ERRORS = [...TOO_LONG, ...OVERLOADED, ...REFUSED, ...BROKEN];

/** Errors under status 200, as a whole reply or as an event of a stream. */
export const EVENT_ERRORS: [title: string, event: string, code: UpstreamCode][] = [
  [
    "SGLang's queue",
    json({ error: JSON.parse(flat(503, "The request queue is full.", "SERVICE_UNAVAILABLE")) }),
    BUSY,
  ],
  [
    "SGLang: too long",
    json({ error: JSON.parse(flat(400, "longer than the model's context length", "BadRequest")) }),
    LONG,
  ],
  [
    "vLLM: too long",
    nested(400, "This model's maximum context length is 4096 tokens.", "BadRequestError"),
    LONG,
  ],
  [
    "older vLLM, flat: too long",
    flat(400, "This model's maximum context length is 4096 tokens.", "BadRequestError"),
    LONG,
  ],
  ["vLLM: a crash", nested(500, "EngineCore encountered an issue.", "InternalServerError"), ERROR],
  [
    "llama.cpp: too long",
    json({
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
      },
    }),
    LONG,
  ],
  [
    "llama.cpp: a crash",
    json({ error: { code: 500, message: "Compute error.", type: "server_error" } }),
    ERROR,
  ],
  [
    "LM Studio: a crash",
    json({ error: { message: "Compute error in it." }, message: "Compute error in it." }),
    ERROR,
  ],
  ["Ollama: a crash", json({ error: "an error was encountered while running the model" }), ERROR],
  [
    "TGI: too long",
    json({
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens",
      error_type: "validation",
    }),
    LONG,
  ],
  [
    "TGI: a crash",
    json({ error: "Request failed during generation: CUDA", error_type: "generation" }),
    ERROR,
  ],
  ["TGI: overloaded", json({ error: "Model is overloaded", error_type: "overloaded" }), BUSY],
  ["a limit", nested(429, "Rate limit: slow down", "RateLimit"), BUSY],
  ["a wrong key", nested(401, "The key is not known here.", "authentication_error"), GONE],
  ["a time-out", nested(504, "The worker did not answer.", "timeout"), LATE],
];
