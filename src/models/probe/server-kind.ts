// A kind of model server: how it is recognised, and what is learnt of it.
import type { ProbeClient, ProbeJson, ProbeReply } from "./client.ts";
import { readList, readTable, readWord } from "./client.ts";

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
  /** Named entries of its list of models. */
  models: readonly ListedEntry[];
};

export interface ListedEntry {
  id: string;
  /** The whole entry. */
  entry: ProbeJson;
}

/** Facts about a server and one of its models; null where unknown. */
export interface ServerFacts {
  version: string | null;
  serves: "chat" | "embeddings" | "reranking" | "classification";
  /** Name of its only model, for servers without a list. */
  only_model: string | null;
  context_window: number | null;
  tools: boolean | null;
  vision: boolean | null;
  reasoning: boolean | null;
  /** Fields merged into request bodies that turn reasoning on or off. */
  reasoning_on: ProbeJson | null;
  reasoning_off: ProbeJson | null;
  structured_outputs: boolean | null;
  /** Tools can be chosen by name. */
  tool_choice_by_name: boolean;
  /** Requests that run at once, and that may wait. */
  requests_max: number | null;
  waiting_max: number | null;
  /** Remarks for people that no setting holds. */
  notes: string[];
}

export interface ServerKind {
  /** Name by its makers. */
  name: string;
  /** Whoever runs the server has the weights. */
  is_self_hosted: boolean;
  /** Route that answers 200 when healthy, if any. */
  health_route: string | null;
  /** Route that counts a chat's tokens, if any. */
  count_route: string | null;
  /** Embeddings have a format of their own. */
  embeddings_kind?: "tei";
  recognise(answers: ProbeAnswers): boolean;
  /** Reads facts from its replies, with further requests where needed. */
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
    const entry = readTable(one);
    const id = readWord(entry.id);
    return id === null ? [] : [{ id, entry }];
  });
}
