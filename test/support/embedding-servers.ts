// Embedding servers as their projects document them, with one token per word.

export interface AskedServer {
  name: string;
  headers: Headers;
  body: Json;
  signal: AbortSignal;
}

export type Json = Record<string, unknown>;
export type EmbeddingRoutes = Record<string, (body: Json, asked: AskedServer) => unknown>;

export interface EmbeddingServer {
  url: string;
  asked: AskedServer[];
  routes: EmbeddingRoutes;
  /** Answers in place of the routes; undefined lets them answer. */
  instead(asked: AskedServer): unknown;
  stop(): Promise<void>;
}

export function startEmbeddingServer(routes: EmbeddingRoutes): EmbeddingServer {
  const asked: AskedServer[] = [];
  const http = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { headers, method, signal, url } = request;
      const { pathname } = new URL(url);
      if (pathname === "/health") return new Response("");
      const body = method === "POST" ? ((await request.json()) as Json) : {};
      const one = { name: `${method} ${pathname}`, headers, body, signal };
      asked.push(one);
      const route = server.routes[one.name];
      const value = (await server.instead(one)) ?? (await route?.(body, one)) ?? lost();
      return value instanceof Response ? value : Response.json(value);
    },
  });
  const server: EmbeddingServer = {
    url: `http://127.0.0.1:${http.port}/v1`,
    asked,
    routes,
    instead: () => undefined,
    stop: () => http.stop(true),
  };
  return server;
}

const lost = () => Response.json({ detail: "Not Found" }, { status: 404 });

const BOS = 0;
const EOS = 2;
const words = new Map<string, number>();
const named = new Map<number, string>();

/** One id per word, equal in every server; "a b" and "ab" differ. */
export function tokenize(text: string, framed = true): number[] {
  const ids = text.split(" ").map((word) => {
    const known = words.get(word);
    if (known !== undefined) return known;
    const id = 10 + words.size;
    words.set(word, id);
    named.set(id, word);
    return id;
  });
  return framed ? [BOS, ...ids, EOS] : ids;
}

function detokenize(ids: readonly number[]): string {
  return ids
    .filter((id) => id !== BOS && id !== EOS)
    .map((id) => named.get(id)!)
    .join(" ");
}

export function vectorOf(ids: readonly number[]): Float32Array {
  let state = Bun.hash.crc32(JSON.stringify(ids));
  const vector = Float32Array.from({ length: 1024 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  const length = Math.hypot(...vector);
  return vector.map((number) => number / length);
}

export function encode(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}

export function writeData(read: readonly (readonly number[])[], body: Json): Json {
  const prompt_tokens = read.reduce((sum, ids) => sum + ids.length, 0);
  const data = read.map((ids, index) => {
    const vector = vectorOf(ids);
    const embedding = body.encoding_format === "base64" ? encode(vector) : [...vector];
    return { object: "embedding", index, embedding };
  });
  return {
    object: "list",
    data,
    model: body.model,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  };
}

const refuse = (status: number, error: unknown) => Response.json({ error }, { status });
const isText = (one: unknown) => typeof one === "string";

/** vLLM with `max_model_len`; it adds tokens around texts, and takes ids unchanged. */
export function vllm({ window = 8_192 } = {}): EmbeddingRoutes {
  return {
    "POST /tokenize": ({ prompt, add_special_tokens = true }) => {
      if (!isText(prompt)) return refuse(400, { message: "Field required: prompt", code: 400 });
      const tokens = tokenize(prompt as string, add_special_tokens as boolean);
      return { count: tokens.length, max_model_len: window, tokens, token_strs: null };
    },
    "POST /v1/embeddings": (body) => {
      const input = body.input as unknown[];
      const texts = input.filter(isText);
      if (texts.length !== 0 && texts.length !== input.length) {
        const message = `[{'type': 'string_type', 'loc': ('body', 'input', 'str')}]`;
        return refuse(400, { message, type: "Bad Request", param: null, code: 400 });
      }
      const read = input.map((one) => (isText(one) ? tokenize(one as string) : (one as number[])));
      const longest = Math.max(...read.map((ids) => ids.length));
      if (longest <= window) return writeData(read, body);
      const message =
        `This model's maximum context length is ${window} tokens. However, you requested ` +
        `${longest} tokens in the input for embedding generation. Please reduce the length of the input.`;
      return refuse(400, { message, type: "BadRequestError", param: null, code: 400 });
    },
  };
}

/** llama.cpp; an input must fit into one physical batch, `-ub`. */
export function llama({ ubatch = 8_192 } = {}): EmbeddingRoutes {
  return {
    "POST /tokenize": ({ content = "", add_special = false }) => ({
      tokens: content === "" ? [] : tokenize(content as string, add_special as boolean),
    }),
    "POST /v1/embeddings": (body) => {
      const read = (body.input as (string | number[])[]).map((one) =>
        typeof one === "string" ? tokenize(one) : one,
      );
      const longest = Math.max(...read.map((ids) => ids.length));
      if (longest <= ubatch) return writeData(read, body);
      const message =
        `input (${longest} tokens) is too large to process. increase the physical batch size ` +
        `(current batch size: ${ubatch})`;
      return refuse(500, { code: 500, message, type: "server_error" });
    },
  };
}

/** Ollama, which truncates silently at the window of the request. */
export function ollama({ window = 2_048, model = "bge-m3" } = {}): EmbeddingRoutes {
  return {
    "GET /api/version": () => ({ version: "0.34.2" }),
    "POST /api/embed": (body) => {
      if (body.model !== model) return refuse(404, `model '${body.model}' not found`);
      const input = body.input as unknown[];
      if (!input.every(isText)) return refuse(400, "invalid input type");
      const { num_ctx = window, num_batch = window } = (body.options ?? {}) as Json;
      const most = Math.min(num_ctx as number, num_batch as number);
      const read = input.map((text) => {
        const ids = tokenize(text as string);
        return ids.length <= most ? ids : [...ids.slice(0, most - 1), EOS];
      });
      return {
        model,
        embeddings: read.map((ids) => [...vectorOf(ids)]),
        total_duration: 14_143_917,
        load_duration: 1_019_500,
        prompt_eval_count: read.reduce((sum, ids) => sum + ids.length, 0),
      };
    },
    // This route cannot change the server's window.
    "POST /v1/embeddings": (body) =>
      writeData(
        (body.input as string[]).map((text) => tokenize(text).slice(0, window)),
        body,
      ),
  };
}

/** Text Embeddings Inference, which converts ids to text, and that to ids. */
export function tei({ window = 8_192, batch = 32 } = {}): EmbeddingRoutes {
  const refuseTei = (status: number, message: string, type: string) =>
    Response.json({ message, code: status, type }, { status });
  return {
    "GET /info": () => ({
      ...{ model_id: "BAAI/bge-m3", model_sha: null, model_dtype: "float16" },
      ...{ model_type: { embedding: { pooling: "cls" } }, max_concurrent_requests: 512 },
      ...{ max_input_length: window, max_batch_tokens: 16_384, max_batch_requests: null },
      ...{ max_client_batch_size: batch, auto_truncate: false, tokenization_workers: 2 },
      ...{ version: "1.7.1", sha: null, docker_label: null },
    }),
    "POST /tokenize": ({ inputs, add_special_tokens = true }) =>
      (inputs as string[]).map((text) =>
        tokenize(text, add_special_tokens as boolean).map((id) => {
          const special = id === BOS || id === EOS;
          return special
            ? { id, text: id === BOS ? "<s>" : "</s>", special, start: null, stop: null }
            : { id, text: named.get(id), special, start: 0, stop: 1 };
        }),
      ),
    "POST /v1/embeddings": (body) => {
      const input = body.input as (string | number[])[];
      if (input.length > batch) {
        const message = `batch size ${input.length} > maximum allowed batch size ${batch}`;
        return refuseTei(413, message, "Validation");
      }
      const read = input.map((one) => tokenize(typeof one === "string" ? one : detokenize(one)));
      const longest = Math.max(...read.map((ids) => ids.length));
      if (longest <= window) return writeData(read, body);
      const message = `Input validation error: \`inputs\` must have less than ${window} tokens. Given: ${longest}`;
      return refuseTei(413, message, "Validation");
    },
  };
}
