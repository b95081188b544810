// Records a span of each request to a model server, and passes its trace on to the server.
import { type SpanContext, type Tracer, writeTrace } from "../../platform/spans.ts";
import type { CompleteAttempt, Completion, ModelRequest } from "./contract.ts";

export interface TracedServer {
  tracer: Tracer | null | undefined;
  /** Base address of the server. */
  url: string;
  /** Name that the server knows the model by. */
  model: string;
  provider: string;
}

export function traceAttempts(attempt: CompleteAttempt, server: TracedServer): CompleteAttempt {
  const { tracer } = server;
  if (!tracer) return attempt;
  const record = createRecord(tracer, server);
  return async (request, onChunk, signal, firstTokenMs) => {
    // Without a trace the request itself is not recorded.
    const context = request.trace && tracer.begin(request.trace);
    if (!context) return attempt(request, onChunk, signal, firstTokenMs);
    const startedAt = tracer.now();
    const traced = { ...request, trace: writeTrace(context) };
    let completion: Completion | null = null;
    try {
      completion = await attempt(traced, onChunk, signal, firstTokenMs);
      return completion;
    } finally {
      record({ context, startedAt, request, completion });
    }
  };
}

interface TracedAttempt {
  context: SpanContext;
  startedAt: number;
  request: ModelRequest;
  /** Absent where a bug ended the attempt: null. */
  completion: Completion | null;
}

function createRecord(tracer: Tracer, { url, model, provider }: TracedServer) {
  const { hostname, port, protocol } = new URL(url);
  const fixed = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "server.address": hostname,
    "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
  };
  return ({ context, startedAt, request, completion }: TracedAttempt) => {
    const usage = completion?.usage;
    tracer.record({
      context,
      name: `chat ${model}`,
      kind: "client",
      startedAt,
      endedAt: tracer.now(),
      attributes: {
        ...fixed,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.response.finish_reasons": completion?.ok ? [completion.finishReason] : null,
        "gen_ai.usage.input_tokens": usage?.prompt_tokens,
        "gen_ai.usage.output_tokens": usage?.completion_tokens,
        "http.response.status_code": completion?.ok === false ? completion.upstreamStatus : null,
      },
      error: completion?.ok ? null : (completion?.code ?? "internal_error"),
    });
  };
}
