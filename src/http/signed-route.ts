// The way in without a key: a sender signs the bytes that it sends, and the route judges that.
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../database/index.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import { readBytes } from "./body.ts";
import { compileParameters } from "./parameters.ts";
import {
  createResponder,
  logDisconnect,
  type RequestContext,
  type ResponderOptions,
} from "./response.ts";
import type { Feature, HandlerReply, Path, Route, RouteSpec } from "./route.ts";
import type { SurfacePolicy } from "./surface.ts";

/** What a signed route says of itself. */
export interface SignedRouteSpec<P extends TObject = TObject>
  extends Pick<
    RouteSpec,
    | "summary"
    | "description"
    | "request_headers"
    | "replies"
    | "refusals"
    | "refusal_sentences"
    | "refusal_headers"
  > {
  feature: Feature;
  /** Of any text: what names nothing is refused as what was wrongly signed. */
  params: P;
  /** For the document: whatever it is, it arrives as bytes. */
  body: TSchema;
  body_bytes_max: number;
  /** Refuses whatever is sent while nothing can be verified; before anybody is counted. */
  requireAble(): Promise<void>;
}

export interface SignedRequest<P> {
  params: P;
  headers: Headers;
  /** As it was sent. */
  body: Uint8Array;
}

/** Makes a route of which the handler verifies who sends. */
export type RegisterSigned = <P extends TObject>(
  path: Path,
  spec: SignedRouteSpec<P>,
  handler: (ask: SignedRequest<Static<P>>) => Promise<HandlerReply>,
) => void;

const JSON_ONLY = /^application\/json[ \t]*(?:;|$)/i;

/** agents.authentication.1, agents.endpoints.p1: no key is asked for, and none is counted. */
export function createSignedRoute<P extends TObject>(
  options: ResponderOptions,
  rules: SurfacePolicy,
  path: Path,
  { requireAble, ...spec }: SignedRouteSpec<P>,
  handler: (ask: SignedRequest<Static<P>>) => Promise<HandlerReply>,
): Route {
  const route = { method: "POST", path } as const;
  const readParameters = compileParameters(path, spec, false);

  const judge = async (context: RequestContext): Promise<HandlerReply> => {
    const { request } = context;
    rules.requireOpen();
    // agents.errors.not_enabled: its second status, as nobody is let in who could be refused.
    if (!rules.isEnabled(spec.feature)) throw apiError("not_enabled", { secondStatus: true });
    await requireAble();
    rules.limitAddress(request);
    // agents.limits.body_size, agents.errors.p10
    const reading = readBytes(request, spec.body_bytes_max, options.clock);
    const body = await logDisconnect(options, route, context, reading);
    // agents.errors.unsupported_media_type: also where none is named.
    if (!JSON_ONLY.test(request.headers.get("content-type") ?? "")) {
      throw apiError("unsupported_media_type");
    }
    const { params } = readParameters(request.url);
    return handler({ params: params as Static<P>, headers: request.headers, body });
  };

  /** agents.errors.internal_error: a bug, after which the same may be sent again. */
  const judgeSafely = async (context: RequestContext): Promise<HandlerReply> => {
    try {
      return await judge(context);
    } catch (failure) {
      if (failure instanceof DatabaseUnavailable) throw failure;
      if (failure instanceof ApiError && failure.code !== "internal_error") throw failure;
      throw new ApiError("hook_failed", {}, failure instanceof ApiError ? failure.cause : failure);
    }
  };
  const answer = createResponder(options, route, judgeSafely);
  return {
    ...route,
    surface: options.surface,
    spec: { ...spec, is_signed: true } as RouteSpec,
    answer,
  };
}
