// A kind of model server: how it is recognised, and what is learnt of it.
import { readList, readObject } from "../../platform/json.ts";
import { type ProbeClient, type ProbeJson, type ProbeReply, readWord } from "./client.ts";

/** Routes by whose replies a server is recognised; none changes anything. */
export const PROBE_PATHS = {
  version: "/version",
  model_info: "/model_info",
  /** The same route in older SGLang. */
  get_model_info: "/get_model_info",
  props: "/props",
  api_version: "/api/version",
  info: "/info",
} as const;

export type ProbeAnswers = Readonly<Record<keyof typeof PROBE_PATHS, ProbeReply>> & {
  models: readonly ListedEntry[];
};

export interface ListedEntry {
  id: string;
  entry: ProbeJson;
}

/** Facts about a server and one of its models; null where unknown. */
export interface ServerFacts {
  version: string | null;
  serves: "chat" | "embeddings" | "reranking" | "classification";
  only_model: string | null;
  context_window: number | null;
  tools: boolean | null;
  vision: boolean | null;
  reasoning: boolean | null;
  /** Fields merged into request bodies that turn reasoning on or off. */
  reasoning_on: ProbeJson | null;
  reasoning_off: ProbeJson | null;
  structured_outputs: boolean | null;
  tool_choice_by_name: boolean;
  /** Requests that run at once, and that may wait. */
  requests_max: number | null;
  waiting_max: number | null;
  notes: string[];
}

export interface ServerKind {
  name: string;
  /** Any server may answer like this, also a provider. */
  is_self_hosted?: false;
  /** Route of its health, by default `/health`. */
  health_route?: string;
  /** Route to try for counting tokens, by default `/tokenize`. */
  count_route?: string;
  embeddings_kind?: "tei";
  recognise(answers: ProbeAnswers): boolean;
  learn(known: DetectionContext): Promise<Partial<ServerFacts>> | Partial<ServerFacts>;
}

export interface DetectionContext {
  answers: ProbeAnswers;
  client: ProbeClient;
  /** Without `/v1`. */
  root: string;
  model: ListedEntry | null;
}

/** Reads a list in the standard format; drops names that could not be sent again. */
export function readModels({ json }: ProbeReply): ListedEntry[] {
  return readList(json?.data).flatMap((one): ListedEntry[] => {
    const entry = readObject(one);
    const id = readWord(entry.id);
    return id === null ? [] : [{ id, entry }];
  });
}
