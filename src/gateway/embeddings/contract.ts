// The interface of an embedder: its request and its vectors.
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Trace } from "../../platform/trace.ts";
import type { MeteredBackend } from "../metered/service.ts";

/** gateway.endpoints.embeddings.model */
export const MODEL = "bge-m3";
/** gateway.endpoints.embeddings.p1 */
export const DIMENSIONS = 1024;
/** gateway.limits.embeddings_input: longer inputs are cut, not refused. */
export const TOKENS_MAX = 4096;

export interface EmbedRequest {
  request_id: string;
  trace: Trace | null;
  /** For fair queues; it is not sent. */
  account: string;
  /** 1 to 64, none empty, all well-formed Unicode. */
  inputs: readonly string[];
}

export interface Embedded {
  ok: true;
  /** In the order of the inputs, of unit length. */
  vectors: Float32Array[];
  prompt_tokens: number;
  usageEstimated?: true;
}

export type Embed = (
  ask: EmbedRequest,
  signal: AbortSignal,
) => Promise<(Embedded | UpstreamError) & CompletionStats>;

export interface Embedder extends MeteredBackend {
  embed: Embed;
  /** Counts tokens in advance, or estimates them; at most what is converted. */
  countTokens(inputs: readonly string[]): number;
}
