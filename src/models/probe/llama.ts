// llama.cpp: its own server, which tells nearly everything, and the Python one, which tells little.

import { readCount, readFlag, readTable, readWord } from "./json-fields.ts";
import type { ServerKind } from "./server-kind.ts";

export const llama: ServerKind = {
  name: "llama.cpp",
  is_self_hosted: true,
  health_route: "/health",
  count_route: "/v1/chat/completions/input_tokens",
  recognise: ({ models, props }) =>
    models.some(({ entry }) => entry.owned_by === "llamacpp") ||
    props.json?.default_generation_settings !== undefined,
  async learn({ answers, asking, root, model }) {
    const own = answers.props.json ?? {};
    // A router has many models, each with its own; it is not to load one for the asking.
    const query = `?model=${encodeURIComponent(model?.id ?? "")}&autoload=false`;
    const isRouter = own.role === "router" && model !== null;
    const props = isRouter ? ((await asking.get(`${root}/props${query}`)).json ?? {}) : own;
    const template = typeof props.chat_template === "string" ? props.chat_template : null;
    const caps = readTable(props.chat_template_caps);
    const takesTools = readFlag(caps.supports_tools) ?? readFlag(caps.supports_tool_calls);
    const meta = readTable(model?.entry.meta);
    const slot = readCount(readTable(props.default_generation_settings).n_ctx);
    const window = slot ?? readCount(meta.n_ctx);
    const trained = readCount(meta.n_ctx_train);
    const isTold = window === null && trained !== null;
    const hasSwitch = template !== null && /\benable_thinking\b/.test(template);
    const turn = (on: boolean) =>
      hasSwitch ? { chat_template_kwargs: { enable_thinking: on } } : null;
    return {
      version: readWord(own.build_info),
      // Of one slot: with several of them it is smaller than what the server was started with.
      context_window: window,
      // The template's word; a server started without --jinja refuses them all the same.
      tools: takesTools === false ? false : null,
      vision: readFlag(readTable(props.modalities).vision),
      reasoning: hasSwitch ? true : null,
      reasoning_on: turn(true),
      reasoning_off: turn(false),
      // It reads a choice only as a word.
      tool_choice_by_name: false,
      requests_max: readCount(props.total_slots),
      notes: isTold ? [`its model was trained on a window of ${trained} tokens`] : [],
    };
  },
};

/** The server of llama-cpp-python. */
export const llamaPython: ServerKind = {
  name: "llama-cpp-python",
  is_self_hosted: true,
  health_route: "/v1/models",
  count_route: null,
  // The owner of every model in its list; nobody else calls an owner so.
  recognise: ({ models }) =>
    models.length > 0 && models.every(({ entry }) => entry.owned_by === "me"),
  async learn({ asking, root }) {
    const { json } = await asking.get(`${root}/openapi.json`);
    const info = readTable(json?.info);
    const isOwn = typeof info.title === "string" && info.title.includes("llama.cpp");
    return {
      version: isOwn ? readWord(info.version) : null,
      requests_max: 1,
      notes: ["a new request breaks off a stream that is under way, unless it was told not to"],
    };
  },
};
