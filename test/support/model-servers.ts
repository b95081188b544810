// Model servers as their projects document them, for tests of detection: each answers its own
// routes with bodies of their form, and chats with one token.

interface Body {
  model?: string;
  messages?: { content: unknown }[];
  tools?: object[];
  input?: readonly string[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  response_format?: object;
  chat_template_kwargs?: { enable_thinking?: boolean; thinking?: boolean };
}
type Route = (body: Body, request: Request) => object | Response | Promise<Response>;
export type Routes = Record<string, Route>;

export interface ModelServer {
  root: string;
  asked: string[];
  bodies: Body[];
  stop(): Promise<void>;
}

/** Routes are named "GET /v1/models"; any other is answered 404. */
export function startModelServer(routes: Routes): ModelServer {
  const asked: string[] = [];
  const bodies: Body[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const name = `${request.method} ${new URL(request.url).pathname}`;
      asked.push(name);
      const body = request.method === "POST" ? ((await request.json()) as Body) : {};
      if (request.method === "POST") bodies.push(body);
      const route = routes[name];
      if (!route) return Response.json({ detail: "Not Found" }, { status: 404 });
      const answer = await route(body, request);
      return answer instanceof Response ? answer : Response.json(answer);
    },
  });
  const stop = () => server.stop(true);
  return { root: `http://127.0.0.1:${server.port}`, asked, bodies, stop };
}

export const refuse = (status: number, message: string) =>
  Response.json(
    { error: { message, type: "BadRequestError", param: null, code: status } },
    { status },
  );

interface Chatting {
  /** Tokens that a request adds to a prompt of 9. */
  count?(body: Body): number;
  judge?(body: Body): Response | undefined;
  say?(body: Body): object;
  /** Whether streams end with a requested usage chunk; true by default. */
  tellsUsage?: boolean;
  holdsSchema?: boolean;
}

/** One token of an answer, whole or as a stream. */
export function chat(chatting: Chatting = {}): Route {
  const { count = () => 0, judge, say, tellsUsage = true, holdsSchema = true } = chatting;
  return (body) => {
    const refused = judge?.(body);
    if (refused) return refused;
    const prompt_tokens = 9 + count(body);
    const usage = { prompt_tokens, completion_tokens: 1, total_tokens: prompt_tokens + 1 };
    const content = body.response_format && holdsSchema ? '{"w' : "Hello";
    const head = { id: "chatcmpl-1", created: 1_790_000_000, model: body.model };
    if (!body.stream) {
      const said = { role: "assistant", content, ...say?.(body) };
      const choices = [{ index: 0, message: said, logprobs: null, finish_reason: "length" }];
      return { ...head, object: "chat.completion", choices, usage };
    }
    const chunk = (fields: object) =>
      `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields })}\n\n`;
    const delta = { role: "assistant", content };
    const frames = [chunk({ choices: [{ index: 0, delta, finish_reason: "length" }] })];
    if (tellsUsage && body.stream_options?.include_usage)
      frames.push(chunk({ choices: [], usage }));
    const text = `${frames.join("")}data: [DONE]\n\n`;
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  };
}

const hasTools = (body: Body) => (body.tools ? 140 : 0);
const hasImage = (body: Body) => Array.isArray(body.messages?.[0]?.content);
/** A template like Qwen3's, which writes an empty thought if thinking is off. */
const countQwen = (body: Body) =>
  hasTools(body) + (body.chat_template_kwargs?.enable_thinking === false ? 4 : 0);

/** vLLM 0.11 with Qwen3-32B, its reasoning parser and its tool parser. */
export function vllm(more: Routes = {}): Routes {
  const permission = { id: "modelperm-1", object: "model_permission", allow_sampling: true };
  const model = {
    ...{ id: "Qwen/Qwen3-32B", object: "model", created: 1_790_000_000, owned_by: "vllm" },
    ...{ root: "Qwen/Qwen3-32B", parent: null, max_model_len: 40_960, permission: [permission] },
  };
  return {
    "GET /v1/models": () => ({ object: "list", data: [model] }),
    "GET /version": () => ({ version: "0.11.0" }),
    "GET /health": () => new Response(""),
    "POST /tokenize": (body) => ({
      ...{ count: 9 + countQwen(body), max_model_len: 40_960 },
      ...{ tokens: [151_644, 872, 198], token_strs: null },
    }),
    "POST /v1/chat/completions": chat({
      count: countQwen,
      judge: (body) =>
        hasImage(body) ? refuse(400, "Qwen/Qwen3-32B is not a multimodal model") : undefined,
      say: (body) =>
        body.chat_template_kwargs?.enable_thinking === false
          ? {}
          : { content: null, reasoning_content: "Okay", tool_calls: [] },
    }),
    ...more,
  };
}

/** SGLang 0.5 with DeepSeek-V3.1; its server_info may hold its key, like the real one. */
export function sglang(more: Routes = {}): Routes {
  const id = "deepseek-ai/DeepSeek-V3.1";
  const card = { id, object: "model", created: 1_790_000_000, owned_by: "sglang", root: id };
  return {
    "GET /v1/models": () => ({ object: "list", data: [{ ...card, max_model_len: 131_072 }] }),
    "GET /get_model_info": () => ({
      ...{ model_path: id, tokenizer_path: id, is_generation: true },
      ...{ preferred_sampling_params: null, weight_version: "default" },
      ...{ has_image_understanding: false, has_audio_understanding: false },
      ...{ model_type: "deepseek_v3", architectures: ["DeepseekV3ForCausalLM"] },
    }),
    "GET /get_server_info": () => ({
      ...{ model_path: id, api_key: "sk-sglang-secret", context_length: null, tp_size: 8 },
      ...{ tool_call_parser: "deepseekv31", reasoning_parser: "deepseek-v3" },
      ...{ max_running_requests: 256, max_queued_requests: 1_000 },
      ...{ max_total_num_tokens: 524_288, internal_states: [{}], version: "0.5.3" },
    }),
    "GET /health": () => new Response(""),
    "POST /tokenize": () => refuse(400, "Field required: prompt"),
    "POST /v1/chat/completions": chat({
      count: (body) => hasTools(body) + (body.chat_template_kwargs?.thinking === true ? 1 : 0),
    }),
    ...more,
  };
}

/** llama-server with a Gemma that accepts images: two slots of half the window. */
export function llamaServer(more: Routes = {}): Routes {
  const meta = { vocab_type: 2, n_vocab: 262_144, n_ctx_train: 131_072, n_params: 3_880_099_328 };
  const id = "gemma-3-4b-it-Q4_K_M.gguf";
  const data = [{ id, object: "model", created: 1_790_000_000, owned_by: "llamacpp", meta }];
  return {
    "GET /v1/models": () => ({
      models: [{ name: id, model: id, capabilities: ["completion", "multimodal"] }],
      object: "list",
      data,
    }),
    "GET /props": () => ({
      default_generation_settings: { id: 0, n_ctx: 8_192, params: { temperature: 0.8 } },
      total_slots: 2,
      model_path: `/models/${id}`,
      modalities: { vision: true, audio: false },
      chat_template: "{% for message in messages %}{{ message.content }}{% endfor %}",
      chat_template_caps: { supports_tools: false, supports_tool_calls: false },
      build_info: "b6730-e60f241ea",
    }),
    "GET /health": () => ({ status: "ok" }),
    "GET /api/version": () => ({ version: "0.0.0" }),
    "POST /tokenize": () => ({ tokens: [2, 105] }),
    "POST /v1/chat/completions/input_tokens": () => ({ input_tokens: 10 }),
    "POST /v1/chat/completions": chat(),
    ...more,
  };
}

/** Ollama with a reasoning model, loaded with 8192 tokens, and an embedding model. */
export function ollama(more: Routes = {}): Routes {
  const card = (id: string) => ({
    id,
    object: "model",
    created: 1_790_000_000,
    owned_by: "library",
  });
  const details = { format: "gguf", family: "qwen3", quantization_level: "Q4_K_M" };
  return {
    "GET /v1/models": () => ({
      object: "list",
      data: [card("qwen3:8b"), card("nomic-embed-text:latest")],
    }),
    "GET /": () => new Response("Ollama is running"),
    "GET /api/version": () => ({ version: "0.12.6" }),
    "GET /api/ps": () => ({
      models: [{ name: "qwen3:8b", model: "qwen3:8b", context_length: 8_192, details }],
    }),
    "POST /api/show": ({ model }) =>
      model === "qwen3:8b"
        ? {
            parameters: 'stop  "<|im_end|>"\ntemperature 0.6',
            details,
            model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
            capabilities: ["completion", "tools", "thinking"],
          }
        : {
            details,
            model_info: { "nomic-bert.context_length": 2_048 },
            capabilities: ["embedding"],
          },
    "POST /v1/chat/completions": chat({ count: hasTools }),
    ...more,
  };
}

export function embedding(dimensions = 1_024): Route {
  return ({ model, input }) => ({
    object: "list",
    data: input!.map((_, index) => {
      return { object: "embedding", index, embedding: new Array(dimensions).fill(0.03125) };
    }),
    model,
    usage: { prompt_tokens: 4 * input!.length, total_tokens: 4 * input!.length },
  });
}

/** Text Embeddings Inference with bge-m3, without a list of models. */
export function textEmbeddings(more: Routes = {}): Routes {
  return {
    "GET /info": () => ({
      ...{ model_id: "BAAI/bge-m3", model_sha: "5617a9f", model_dtype: "float16" },
      ...{ model_type: { embedding: { pooling: "cls" } }, max_concurrent_requests: 512 },
      ...{ max_input_length: 8_192, max_batch_tokens: 16_384, max_client_batch_size: 32 },
      ...{ auto_truncate: false, version: "1.8.2", sha: "dd5a3e1", docker_label: null },
    }),
    "GET /health": () => new Response(""),
    "POST /v1/embeddings": embedding(),
    ...more,
  };
}

/** Text Generation Inference with a Llama, named as at its start. */
export function textGeneration(): Routes {
  const model_id = "meta-llama/Llama-3.1-8B-Instruct";
  const card = { id: model_id, object: "model", created: 0, owned_by: model_id };
  return {
    "GET /v1/models": () => ({ object: "list", data: [card] }),
    "GET /info": () => ({
      ...{ model_id, model_sha: "0e9e39f", model_pipeline_tag: "text-generation" },
      ...{ max_concurrent_requests: 128, max_best_of: 2, max_stop_sequences: 4 },
      ...{ max_input_tokens: 8_191, max_total_tokens: 8_192, validation_workers: 2 },
      ...{ router: "text-generation-router", version: "3.3.4", sha: "2d5b3e1" },
    }),
    "GET /health": () => new Response(""),
    "POST /chat_tokenize": () => ({
      tokenize_response: [{ id: 128_000, text: "<|begin_of_text|>", start: 0, stop: 0 }],
      templated_text: "<|begin_of_text|>Hi",
    }),
    "POST /v1/chat/completions": chat({
      count: hasTools,
      judge: (body) => (hasImage(body) ? refuse(422, "Template error") : undefined),
    }),
  };
}

export function behindKey(routes: Routes, key: string): Routes {
  const guard =
    (route: Route): Route =>
    (body, request) =>
      request.headers.get("authorization") === `Bearer ${key}`
        ? route(body, request)
        : Response.json({ error: "Unauthorized" }, { status: 401 });
  return Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, guard(route)]));
}
