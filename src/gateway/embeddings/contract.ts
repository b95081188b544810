// What a server of embeddings is asked and what it comes to.
import type { CompletionStats, UpstreamError } from "../../models/index.ts";
import type { Trace } from "../../platform/trace.ts";
import type { MeteredBackend } from "../metered/service.ts";

/** gateway.endpoints.embeddings.model */
export const MODEL = "bge-m3";
/** gateway.endpoints.embeddings.p1 */
export const DIMENSIONS = 1024;
/** gateway.limits.embeddings_input: what is longer is cut, not refused. */
export const TOKENS_MAX = 4096;

export interface EmbedRequest {
  request_id: string;
  trace: Trace | null;
  /** The account, or the key of none, in whose turn a place is taken; it is not sent. */
  account: string;
  /** 1 to 64, none of them empty, and none with half a surrogate pair. */
  inputs: readonly string[];
}

export interface Embedded {
  ok: true;
  /** In the order of the inputs: of `DIMENSIONS` finite numbers, and of unit length. */
  vectors: Float32Array[];
  /** Of what was converted: what was cut away does not count. */
  prompt_tokens: number;
  /** Its server told no usage: what stands there is our estimate, and nobody pays by it. */
  usageEstimated?: true;
}

export type Embed = (
  ask: EmbedRequest,
  signal: AbortSignal,
) => Promise<(Embedded | UpstreamError) & CompletionStats>;

/** What stands behind the route. */
export interface Embedder extends MeteredBackend {
  embed: Embed;
}
