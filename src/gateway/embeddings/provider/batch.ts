// What one request wants converted is divided into what a server takes at once; each such batch is
// asked for, and asked for again where the server takes it only in another form.
import type { UpstreamError } from "../../../models/index.ts";
import { type BatchItem, shorten, shortenTold } from "./batch-item.ts";
import {
  classifyEmbeddingError,
  invalidEmbeddings,
  isBase64Refused,
  isGood,
  isTooLong,
} from "./failure.ts";
import type { EmbeddingProtocol, EncodingFormat } from "./protocol.ts";
import type { ReplicaClient } from "./replica-client.ts";
import type { ParsedEmbeddings } from "./reply.ts";

export type Convert = (
  talk: ReplicaClient,
  manner: EmbeddingProtocol,
  batch: readonly BatchItem[],
) => Promise<ParsedEmbeddings | UpstreamError>;

/**
 * In the order of the inputs; texts and token ids never share one: vLLM takes no mixed list. Of a
 * text that is alone the usage tells how long it is.
 */
export function divide(parts: readonly BatchItem[], batch_max: number): BatchItem[][] {
  const single = parts.filter(({ is_alone }) => is_alone);
  const others = parts.filter(({ is_alone }) => !is_alone);
  const texts = others.filter(({ content }) => typeof content === "string");
  const cut = others.filter(({ content }) => typeof content !== "string");
  const batches = [texts, cut].flatMap((kind) => {
    const count = Math.ceil(kind.length / batch_max);
    const at = (batch: number) => kind.slice(batch * batch_max, (batch + 1) * batch_max);
    return Array.from({ length: count }, (_, batch) => at(batch));
  });
  return [...batches, ...single.map((part) => [part])];
}

export function createConvert(model: string): Convert {
  // A quarter of the size of numbers, and much less to read; most servers know it.
  let encoding_format: EncodingFormat = "base64";

  const post = async (
    talk: ReplicaClient,
    manner: EmbeddingProtocol,
    parts: readonly BatchItem[],
  ) => {
    const send = (format: EncodingFormat) =>
      talk.post(manner.path, manner.write(model, parts, format));
    const heard = await send(encoding_format);
    if (encoding_format === "float" || !heard.ok || !isBase64Refused(heard)) return heard;
    const again = await send("float");
    // A refusal may repeat all that was sent, and be of something else.
    if (again.ok && isGood(again.status)) encoding_format = "float";
    return again;
  };
  return async (talk, manner, batch) => {
    let parts = batch;
    let refusals = 0;
    let cuts = 0;
    for (;;) {
      const heard = await post(talk, manner, parts);
      if (!heard.ok) return heard;
      if (isGood(heard.status)) {
        const reading = manner.read(heard.text, parts.length);
        if (typeof reading === "string") {
          return { ...invalidEmbeddings(reading), upstreamStatus: heard.status };
        }
        const fitting = shortenTold(parts, reading.prompt_tokens, cuts++);
        if (!fitting) return reading;
        parts = fitting;
        continue;
      }
      const shorter = isTooLong(heard) ? shorten(parts, refusals++) : null;
      if (!shorter) return classifyEmbeddingError(heard);
      parts = shorter;
    }
  };
}
