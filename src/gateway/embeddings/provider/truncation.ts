// From inputs to what of them is sent: whole where they fit, and cut where their tokens say so.
import type { UpstreamError } from "../../../models/index.ts";
import { TOKENS_MAX } from "../contract.ts";
import { type BatchItem, fitsSurely } from "./batch-item.ts";
import type { ReplicaClient } from "./replica-client.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * gateway.limits.embeddings_input: what is too long is sent as the ids of its first tokens and of
 * those that stand behind every text. null: the server cuts by itself.
 */
export async function truncateInputs(
  talk: ReplicaClient,
  tokenizer: Tokenizer | null,
  inputs: readonly string[],
): Promise<BatchItem[] | UpstreamError> {
  const parts: BatchItem[] = [];
  for (const [index, content] of inputs.entries()) {
    if (tokenizer === null || fitsSurely(content)) {
      parts.push({ index, content, tokens: null });
      continue;
    }
    const ids = await tokenizer.tell(talk, content);
    if (ids === null) {
      parts.push({ index, content, tokens: null, is_alone: true });
    } else if ("ok" in ids) {
      return ids;
    } else if (ids.length <= TOKENS_MAX) {
      parts.push({ index, content, tokens: ids.length });
    } else {
      const tail = await tokenizer.measureTail(talk);
      if (typeof tail !== "number") return tail;
      const head = ids.slice(0, TOKENS_MAX - tail);
      const kept = [...head, ...ids.slice(ids.length - tail)];
      parts.push({ index, content: kept, tokens: TOKENS_MAX });
    }
  }
  return parts;
}
