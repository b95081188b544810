// What kind of model server answers, decided by its own answers, and what each kind tells.
import type { ProbeClient, ProbeJson, ProbeReply } from "./client.ts";
import { readList, readTable, readWord } from "./json-fields.ts";
import { llama, llamaPython } from "./llama.ts";
import { ollama } from "./ollama.ts";
import { sglang } from "./sglang.ts";
import { embeddingsInference, generationInference } from "./text-inference.ts";
import { vllm } from "./vllm.ts";

/** The questions by whose answers a server is known; none of them changes anything. */
export const PROBE_PATHS = {
  version: "/version",
  model_info: "/model_info",
  /** The same, of an older SGLang. */
  get_model_info: "/get_model_info",
  props: "/props",
  api_version: "/api/version",
  info: "/info",
} as const;

export type ProbeAnswers = Readonly<Record<keyof typeof PROBE_PATHS, ProbeReply>> & {
  /** The entries of its list of models that have a name. */
  models: readonly ListedEntry[];
};

export interface ListedEntry {
  id: string;
  /** All that the list says of it. */
  entry: ProbeJson;
}

/** What is known of a server and one of its models; null: it does not say. */
export interface ServerFacts {
  version: string | null;
  serves: "chat" | "embeddings" | "reranking" | "classification";
  /** What it calls its one model, where it has no list of models. */
  only_model: string | null;
  context_window: number | null;
  tools: boolean | null;
  vision: boolean | null;
  reasoning: boolean | null;
  /** Merged into the body of requests that want it, and of those that do not. */
  reasoning_on: ProbeJson | null;
  reasoning_off: ProbeJson | null;
  structured_outputs: boolean | null;
  /** false: it ignores the choice of a tool by its name. */
  tool_choice_by_name: boolean;
  /** Requests that it works on at once, and those that may wait for it. */
  requests_max: number | null;
  waiting_max: number | null;
  /** What people should know and no setting says. */
  notes: string[];
}

export interface ServerKind {
  /** As its makers call it. */
  name: string;
  /** Its weights are run by whoever runs the server. */
  is_self_hosted: boolean;
  /** Answers 200 where it is well; null: it has none. */
  health_route: string | null;
  /** Counts a chat's tokens; null: it has none. */
  count_route: string | null;
  /** It is asked for embeddings in its own words; left out: in the standard ones. */
  embeddings_kind?: "tei";
  recognise(answers: ProbeAnswers): boolean;
  /** What it says of itself and of one model, with further questions where that takes some. */
  learn(known: DetectionContext): Promise<Partial<ServerFacts>> | Partial<ServerFacts>;
}

export interface DetectionContext {
  answers: ProbeAnswers;
  asking: ProbeClient;
  /** Without `/v1`. */
  root: string;
  model: ListedEntry | null;
}

const unnamed: ServerKind = {
  name: "a server of chat completions",
  is_self_hosted: false,
  health_route: null,
  count_route: null,
  recognise: ({ models }) => models.length > 0,
  learn: () => ({}),
};

/** In this order: some speak in the words of others, too, and are known by their own. */
const FLAVOURS: readonly ServerKind[] = [
  embeddingsInference,
  generationInference,
  sglang,
  llama,
  ollama,
  vllm,
  llamaPython,
  unnamed,
];

/** null: nothing that it said is a model server's. */
export function detectServerKind(answers: ProbeAnswers): ServerKind | null {
  return FLAVOURS.find((flavour) => flavour.recognise(answers)) ?? null;
}

/** The models of a list in the standard format; a name that could not be sent again is left out. */
export function readModels({ json }: ProbeReply): ListedEntry[] {
  return readList(json?.data).flatMap((one): ListedEntry[] => {
    const entry = readTable(one);
    const id = readWord(entry.id);
    return id === null ? [] : [{ id, entry }];
  });
}
