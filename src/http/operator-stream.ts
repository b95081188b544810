// A stream of the operator API: server-sent events to one operator, for as long as it is in force.
import type { TSchema } from "@sinclair/typebox";
import type { Operator } from "../access/index.ts";
import { apiError } from "../platform/errors.ts";
import { findOperator, type OperatorCallerOptions, watchOperator } from "./operator-caller.ts";
import type { RequestContext } from "./response.ts";
import type { HandlerReply } from "./route.ts";
import { type EventStream, openEventStream } from "./sse.ts";

/** An operator who follows something. */
export interface StreamCaller extends Pick<Operator, "id" | "role"> {
  /** Tells whether its token or session is in force, with the same role. */
  isInForce(): Promise<boolean>;
}

export interface OperatorStreamSpec {
  /** Path below /operator/v1, without parameters. */
  path: `/${string}`;
  summary: string;
  description: string;
  /** The JSON of one frame. */
  frame: TSchema;
  open(
    caller: StreamCaller,
    openStream: (onBug: (bug: unknown) => void) => EventStream,
  ): EventStream;
}

interface OperatorStreamOptions extends OperatorCallerOptions {
  isEnabled(): boolean;
}

/** Approvers may open a stream too: it tells each role what that may see. */
export function createStreamPipeline(spec: OperatorStreamSpec, options: OperatorStreamOptions) {
  return async ({ request, request_id }: RequestContext): Promise<HandlerReply> => {
    if (!options.isEnabled()) throw apiError("not_found");
    const operator = await findOperator(request, options);
    await options.limiter.take(operator.id);
    const { id, role } = operator;
    const isInForce = watchOperator(request, operator, options);
    const stream = spec.open({ id, role, isInForce }, (onBug) =>
      openEventStream(request.signal, onBug),
    );
    return stream.answer(200, {
      "x-request-id": request_id,
      "cache-control": "no-store, no-transform",
    });
  };
}
