// Routes without a key: the sender signs the bytes, and the handler verifies the signature.
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../database/index.ts";
import { ApiError, apiError, type PublicSurface } from "../platform/errors.ts";
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
  /** Texts of any form: an unknown name is refused like a wrong signature. */
  params: P;
  /** For the OpenAPI document; the handler gets bytes. */
  body: TSchema;
  bodyBytesMax: number;
  /** Refuses all requests while no signature can be verified, before any limit counts them. */
  requireAble(): Promise<void>;
}

export interface SignedRequest<P> {
  params: P;
  headers: Headers;
  /** Bytes as sent. */
  body: Uint8Array;
}

export type RegisterSigned = <P extends TObject>(
  path: Path,
  spec: SignedRouteSpec<P>,
  handler: (ask: SignedRequest<Static<P>>) => Promise<HandlerReply>,
) => void;

const JSON_ONLY = /^application\/json[ \t]*(?:;|$)/i;

/** agents.authentication.1, agents.endpoints.p1: has no key and no limit of a key. */
export function createSignedRoute<P extends TObject>(
  options: ResponderOptions & { surface: PublicSurface },
  policy: SurfacePolicy,
  path: Path,
  { requireAble, ...spec }: SignedRouteSpec<P>,
  handler: (ask: SignedRequest<Static<P>>) => Promise<HandlerReply>,
): Route {
  const route = { method: "POST", path } as const;
  const readParameters = compileParameters(path, spec, false);

  const handle = async (context: RequestContext): Promise<HandlerReply> => {
    const { request } = context;
    policy.requireOpen();
    // agents.errors.not_enabled: 503 instead of 403, since no caller is known.
    if (!policy.isEnabled(spec.feature)) throw apiError("not_enabled", { isUnavailable: true });
    await requireAble();
    await policy.limitAddress(request);
    // agents.limits.body_size, agents.errors.p10
    const reading = readBytes(request, spec.bodyBytesMax, options.clock);
    const body = await logDisconnect(options, route, context, reading);
    // agents.errors.unsupported_media_type: a missing type is refused too.
    if (!JSON_ONLY.test(request.headers.get("content-type") ?? "")) {
      throw apiError("unsupported_media_type");
    }
    const { params } = readParameters(request.url);
    return handler({ params: params as Static<P>, headers: request.headers, body });
  };

  /** agents.errors.internal_error: after a bug the sender may send the same again. */
  const handleSafely = async (context: RequestContext): Promise<HandlerReply> => {
    try {
      return await handle(context);
    } catch (failure) {
      if (failure instanceof DatabaseUnavailable) throw failure;
      if (failure instanceof ApiError && failure.code !== "internal_error") throw failure;
      throw new ApiError("hook_failed", {}, failure instanceof ApiError ? failure.cause : failure);
    }
  };
  const answer = createResponder(options, route, handleSafely);
  return {
    ...route,
    surface: options.surface,
    spec: { ...spec, isSigned: true } as RouteSpec,
    answer,
  };
}
