// SGLang: it tells its model and its own arguments, of which only those that matter here are read.

import { readCount, readFlag, readList, readTable, readWord } from "./json-fields.ts";
import type { ServerKind } from "./server-kind.ts";

/** The reasoning parsers of models that can be told not to think, with the word that tells them. */
const SWITCHES: Readonly<Record<string, string>> = {
  qwen3: "enable_thinking",
  glm45: "enable_thinking",
  "deepseek-v3": "thinking",
};

export const sglang: ServerKind = {
  name: "SGLang",
  is_self_hosted: true,
  health_route: "/health",
  count_route: "/tokenize",
  recognise: ({ models, model_info, get_model_info }) =>
    typeof (model_info.json ?? get_model_info.json)?.is_generation === "boolean" ||
    models.some(({ entry }) => entry.owned_by === "sglang"),
  async learn({ answers, asking, root, model }) {
    // They also hold its key and its paths: nothing is kept but what is named here.
    const said = await asking.get(`${root}/server_info`);
    const server = said.json ?? (await asking.get(`${root}/get_server_info`)).json ?? {};
    const info = answers.model_info.json ?? answers.get_model_info.json ?? {};
    const find = (name: string) => (name in info ? info[name] : server[name]);
    const window = readCount(model?.entry.max_model_len) ?? readCount(server.context_length);
    // null is its word for none; a server that does not name the argument says nothing.
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
        readCount(readTable(readList(server.internal_states)[0]).max_running_requests),
      waiting_max: readCount(server.max_queued_requests),
      notes: parser === null ? ["it was started without a reasoning parser"] : [],
    };
  },
};
