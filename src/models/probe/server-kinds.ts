// The known kinds of model servers: how each is recognised, and what it says of itself.
import { readList, readObject } from "../../platform/json.ts";
import { readCount, readFlag, readWord } from "./client.ts";
import type { ProbeAnswers, ServerFacts, ServerKind } from "./server-kind.ts";

const llama: ServerKind = {
  name: "llama.cpp",
  count_route: "/v1/chat/completions/input_tokens",
  recognise: ({ models, props }) =>
    models.some(({ entry }) => entry.owned_by === "llamacpp") ||
    props.json?.default_generation_settings !== undefined,
  async learn({ answers, client, root, model }) {
    const own = answers.props.json ?? {};
    // A router has many models, and must not load one for a probe.
    const query = `?model=${encodeURIComponent(model?.id ?? "")}&autoload=false`;
    const isRouter = own.role === "router" && model !== null;
    const props = isRouter ? ((await client.get(`${root}/props${query}`)).json ?? {}) : own;
    const template = typeof props.chat_template === "string" ? props.chat_template : null;
    const caps = readObject(props.chat_template_caps);
    const takesTools = readFlag(caps.supports_tools) ?? readFlag(caps.supports_tool_calls);
    const meta = readObject(model?.entry.meta);
    const slot = readCount(readObject(props.default_generation_settings).n_ctx);
    const window = slot ?? readCount(meta.n_ctx);
    const trained = readCount(meta.n_ctx_train);
    const isTold = window === null && trained !== null;
    const hasSwitch = template !== null && /\benable_thinking\b/.test(template);
    const turn = (on: boolean) =>
      hasSwitch ? { chat_template_kwargs: { enable_thinking: on } } : null;
    return {
      version: readWord(own.build_info),
      // Window of one slot, which is part of what the server was started with.
      context_window: window,
      // A template with tools proves nothing: without --jinja the server refuses them.
      tools: takesTools === false ? false : null,
      vision: readFlag(readObject(props.modalities).vision),
      reasoning: hasSwitch ? true : null,
      reasoning_on: turn(true),
      reasoning_off: turn(false),
      // The server only reads a choice that is a word.
      tool_choice_by_name: false,
      requests_max: readCount(props.total_slots),
      notes: isTold ? [`its model was trained on a window of ${trained} tokens`] : [],
    };
  },
};

const llamaPython: ServerKind = {
  name: "llama-cpp-python",
  health_route: "/v1/models",
  // Only this server names the owner of its models so.
  recognise: ({ models }) =>
    models.length > 0 && models.every(({ entry }) => entry.owned_by === "me"),
  async learn({ client, root }) {
    const { json } = await client.get(`${root}/openapi.json`);
    const info = readObject(json?.info);
    const isOwn = typeof info.title === "string" && info.title.includes("llama.cpp");
    return {
      version: isOwn ? readWord(info.version) : null,
      requests_max: 1,
      notes: ["a new request breaks off a stream that is under way, unless it was told not to"],
    };
  },
};

const UNLOADED = "it tells a window only while its model is loaded: probe it again";

const ollama: ServerKind = {
  name: "Ollama",
  health_route: "/api/version",
  recognise: ({ api_version }) => readWord(api_version.json?.version) !== null,
  async learn({ answers, client, root, model }) {
    const version = readWord(answers.api_version.json?.version);
    if (model === null) return { version };
    const shown = (await client.post(`${root}/api/show`, { model: model.id })).json ?? {};
    const capabilities = readList(shown.capabilities);
    const can = (name: string) => (capabilities.length > 0 ? capabilities.includes(name) : null);
    const running = readList((await client.get(`${root}/api/ps`)).json?.models).map(readObject);
    const loaded = running.find(({ name, model: id }) => [name, id].includes(model.id));
    const parameters = typeof shown.parameters === "string" ? shown.parameters : "";
    const told = Number(/^num_ctx\s+(\d{1,9})$/m.exec(parameters)?.[1]);
    const window = readCount(loaded?.context_length) ?? readCount(told);
    const [, trained] =
      Object.entries(readObject(shown.model_info)).find(([name]) =>
        name.endsWith(".context_length"),
      ) ?? [];
    const thinks = can("thinking");
    const isEmbedding = can("embedding") === true && can("completion") !== true;
    const most = readCount(trained);
    return {
      version,
      serves: isEmbedding ? "embeddings" : "chat",
      context_window: window,
      tools: can("tools"),
      vision: can("vision"),
      reasoning: thinks,
      reasoning_on: thinks ? { reasoning_effort: "medium" } : null,
      reasoning_off: thinks ? { reasoning_effort: "none" } : null,
      notes: [
        "what is longer than its window is cut silently: OLLAMA_CONTEXT_LENGTH sets that window",
        ...(window === null && !loaded ? [UNLOADED] : []),
        ...(most === null ? [] : [`the model could take a window of ${most} tokens`]),
      ],
    };
  },
};

/** Template switches of models whose reasoning can be turned off, by reasoning parser. */
const SWITCHES: Readonly<Record<string, string>> = {
  qwen3: "enable_thinking",
  glm45: "enable_thinking",
  "deepseek-v3": "thinking",
};

const sglang: ServerKind = {
  name: "SGLang",
  recognise: ({ models, model_info, get_model_info }) =>
    typeof (model_info.json ?? get_model_info.json)?.is_generation === "boolean" ||
    models.some(({ entry }) => entry.owned_by === "sglang"),
  async learn({ answers, client, root, model }) {
    // Arguments hold its key and paths, so only the named ones are read.
    const said = await client.get(`${root}/server_info`);
    const server = said.json ?? (await client.get(`${root}/get_server_info`)).json ?? {};
    const info = answers.model_info.json ?? answers.get_model_info.json ?? {};
    const find = (name: string) => (name in info ? info[name] : server[name]);
    const window = readCount(model?.entry.max_model_len) ?? readCount(server.context_length);
    // A null parser means none; an absent argument says nothing.
    const tool_parser = find("tool_call_parser");
    const parser = readWord(find("reasoning_parser"));
    const name = parser === null ? undefined : SWITCHES[parser];
    const turn = (on: boolean) => (name ? { chat_template_kwargs: { [name]: on } } : null);
    return {
      version: readWord(server.version),
      serves: readFlag(info.is_generation) === false ? "embeddings" : "chat",
      context_window: window,
      tools: tool_parser === null ? false : readWord(tool_parser) === null ? null : true,
      vision: readFlag(info.has_image_understanding),
      reasoning: parser === null ? null : true,
      reasoning_on: turn(true),
      reasoning_off: turn(false),
      requests_max:
        readCount(server.max_running_requests) ??
        readCount(readObject(readList(server.internal_states)[0]).max_running_requests),
      waiting_max: readCount(server.max_queued_requests),
      notes: parser === null ? ["it was started without a reasoning parser"] : [],
    };
  },
};

const SERVES: Readonly<Record<string, ServerFacts["serves"]>> = {
  embedding: "embeddings",
  reranker: "reranking",
  classifier: "classification",
};

const embeddingsInference: ServerKind = {
  name: "Text Embeddings Inference",
  embeddings_kind: "tei",
  recognise: ({ info }) => findServes(info.json?.model_type) !== undefined,
  learn({ answers: { info } }) {
    const said = info.json ?? {};
    return {
      version: readWord(said.version),
      only_model: readWord(said.model_id),
      serves: SERVES[findServes(said.model_type)!]!,
      context_window: readCount(said.max_input_length),
      requests_max: readCount(said.max_concurrent_requests),
    };
  },
};

const generationInference: ServerKind = {
  name: "Text Generation Inference",
  count_route: "/chat_tokenize",
  recognise: ({ info }) =>
    readCount(info.json?.max_total_tokens) !== null && readWord(info.json?.model_id) !== null,
  learn({ answers: { info } }) {
    const said = info.json ?? {};
    const input = readCount(said.max_input_tokens) ?? readCount(said.max_input_length);
    return {
      version: readWord(said.version),
      context_window: readCount(said.max_total_tokens),
      requests_max: readCount(said.max_concurrent_requests),
      notes: input === null ? [] : [`of its window at most ${input} tokens are the messages`],
    };
  },
};

function findServes(model_type: unknown): string | undefined {
  const names = typeof model_type === "string" ? [model_type] : Object.keys(readObject(model_type));
  return names.find((name) => Object.hasOwn(SERVES, name));
}

const vllm: ServerKind = {
  name: "vLLM",
  recognise: ({ models, version }) =>
    models.some(({ entry }) => entry.owned_by === "vllm") ||
    // A proxy may rename models, but both routes are vLLM's.
    (readWord(version.json?.version) !== null &&
      models.some(({ entry }) => readCount(entry.max_model_len) !== null)),
  learn: ({ answers, model }) => ({
    version: readWord(answers.version.json?.version),
    context_window: readCount(model?.entry.max_model_len),
    notes: ["vLLM takes requests without end and lets them wait"],
  }),
};

const unnamed: ServerKind = {
  name: "a server of chat completions",
  is_self_hosted: false,
  recognise: ({ models }) => models.length > 0,
  learn: () => ({}),
};

/** Kinds in the order of their tests: some also answer like others, so the specific come first. */
const KINDS: readonly ServerKind[] = [
  embeddingsInference,
  generationInference,
  sglang,
  llama,
  ollama,
  vllm,
  llamaPython,
  unnamed,
];

export function detectServerKind(answers: ProbeAnswers): ServerKind | null {
  return KINDS.find((kind) => kind.recognise(answers)) ?? null;
}
