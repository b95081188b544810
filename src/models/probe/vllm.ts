// vLLM: its list of models tells the window of each; the rest has to be tried.

import { readCount, readWord } from "./json-fields.ts";
import type { ServerKind } from "./server-kind.ts";

export const vllm: ServerKind = {
  name: "vLLM",
  is_self_hosted: true,
  health_route: "/health",
  count_route: "/tokenize",
  recognise: ({ models, version }) =>
    models.some(({ entry }) => entry.owned_by === "vllm") ||
    // A gateway's own names for its models: the two routes are still vLLM's.
    (readWord(version.json?.version) !== null &&
      models.some(({ entry }) => readCount(entry.max_model_len) !== null)),
  learn: ({ answers, model }) => ({
    version: readWord(answers.version.json?.version),
    context_window: readCount(model?.entry.max_model_len),
    notes: ["vLLM takes requests without end and lets them wait"],
  }),
};
