// The way in without a key: a sender signs the bytes that it sends, and the route judges that.
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../platform/database/index.ts";
import { Refusal, refuse } from "../platform/refusal.ts";
import { type AnsweringOptions, createAnswer, noteLeaving, type Visit } from "./answering.ts";
import { readBytes } from "./body.ts";
import type { HalfRules } from "./half-rules.ts";
import { compileParameters } from "./parameters.ts";
import type { Feature, Path, Reply, Route, RouteSpec } from "./route.ts";

/** What a signed route says of itself. */
export interface SignedSpec<P extends TObject = TObject>
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

export interface SignedAsk<P> {
  params: P;
  headers: Headers;
  /** As it was sent. */
  body: Uint8Array;
}

/** Makes a route of which the handler verifies who sends. */
export type RegisterSigned = <P extends TObject>(
  path: Path,
  spec: SignedSpec<P>,
  handler: (ask: SignedAsk<Static<P>>) => Promise<Reply>,
) => void;

const JSON_ONLY = /^application\/json[ \t]*(?:;|$)/i;

/** agents.authentication.1, agents.endpoints.p1: no key is asked for, and none is counted. */
export function createSignedRoute<P extends TObject>(
  options: AnsweringOptions,
  rules: HalfRules,
  path: Path,
  { requireAble, ...spec }: SignedSpec<P>,
  handler: (ask: SignedAsk<Static<P>>) => Promise<Reply>,
): Route {
  const route = { verb: "POST", path } as const;
  const readParameters = compileParameters(path, spec, false);

  const judge = async (visit: Visit): Promise<Reply> => {
    const { request } = visit;
    rules.requireOpen();
    // agents.errors.not_enabled: its second status, as nobody is let in who could be refused.
    if (!rules.isEnabled(spec.feature)) throw refuse("not_enabled", { second_status: true });
    await requireAble();
    rules.limitAddress(request);
    // agents.limits.body_size, agents.errors.p10
    const reading = readBytes(request, spec.body_bytes_max, options.clock);
    const body = await noteLeaving(options, route, visit, reading);
    // agents.errors.unsupported_media_type: also where none is named.
    if (!JSON_ONLY.test(request.headers.get("content-type") ?? "")) {
      throw refuse("unsupported_media_type");
    }
    const { params } = readParameters(request.url);
    return handler({ params: params as Static<P>, headers: request.headers, body });
  };

  /** agents.errors.internal_error: a bug, after which the same may be sent again. */
  const judgeSafely = async (visit: Visit): Promise<Reply> => {
    try {
      return await judge(visit);
    } catch (failure) {
      if (failure instanceof DatabaseUnavailable) throw failure;
      if (failure instanceof Refusal && failure.code !== "internal_error") throw failure;
      throw new Refusal("hook_failed", {}, failure instanceof Refusal ? failure.cause : failure);
    }
  };
  const answer = createAnswer(options, route, judgeSafely);
  return { ...route, half: options.half, spec: { ...spec, is_signed: true } as RouteSpec, answer };
}
