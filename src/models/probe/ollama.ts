// Ollama: it knows what each model can; the window is what a model was loaded with.

import { readCount, readList, readTable, readWord } from "./json-fields.ts";
import type { ServerKind } from "./server-kind.ts";

const UNLOADED = "it tells a window only while its model is loaded: probe it again";

export const ollama: ServerKind = {
  name: "Ollama",
  is_self_hosted: true,
  health_route: "/api/version",
  count_route: null,
  recognise: ({ api_version }) => readWord(api_version.json?.version) !== null,
  async learn({ answers, asking, root, model }) {
    const version = readWord(answers.api_version.json?.version);
    if (model === null) return { version };
    const shown = (await asking.post(`${root}/api/show`, { model: model.id })).json ?? {};
    const capabilities = readList(shown.capabilities);
    const can = (name: string) => (capabilities.length > 0 ? capabilities.includes(name) : null);
    const running = readList((await asking.get(`${root}/api/ps`)).json?.models).map(readTable);
    const loaded = running.find(({ name, model: id }) => [name, id].includes(model.id));
    const parameters = typeof shown.parameters === "string" ? shown.parameters : "";
    const told = Number(/^num_ctx\s+(\d{1,9})$/m.exec(parameters)?.[1]);
    const window = readCount(loaded?.context_length) ?? readCount(told);
    const [, trained] =
      Object.entries(readTable(shown.model_info)).find(([name]) =>
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
