// The operator API's routes: a token in place of a key, strict input, and a document of their own.
import type { Operator, RateLimiter } from "../access/index.ts";
import { type ApiError, apiError } from "../platform/errors.ts";
import { checkLength, readJson } from "./body.ts";
import { compileFields } from "./fields.ts";
import { writeOperatorDocument } from "./openapi/operator-document.ts";
import { type OperatorRouteSpec, splitInput } from "./operator-route.ts";
import { compileParameters } from "./parameters.ts";
import { createResponder, type RequestContext, type ResponderOptions } from "./response.ts";
import type { HandlerReply, HttpMethod, Path } from "./route.ts";

/** Owner of a token. */
type OperatorIdentity = Pick<Operator, "id" | "name" | "role">;

export interface OperatorRouterOptions extends Omit<ResponderOptions, "surface"> {
  version: string;
  isEnabled(): boolean;
  /** Returns undefined for a token that is not in force. */
  identify(token: string): Promise<OperatorIdentity | undefined>;
  limiter: Pick<RateLimiter, "take">;
  /** Names the client of a request, whose failed attempts are counted. */
  addressOf(request: Request): string;
  holdOpen(request: Request): () => void;
  handle(
    spec: OperatorRouteSpec,
    input: Record<string, unknown>,
    operator: OperatorIdentity,
  ): Promise<unknown>;
}

export interface OperatorRoute {
  method: HttpMethod;
  path: string;
  answer(request: Request): Promise<Response>;
}

export const OPERATOR_PREFIX = "/operator/";
const BASE = "/operator/v1";
const DOCUMENT = "/operator/openapi.json";
const BODY_BYTES_MAX = 256 * 1024;
const TOKEN_CHARACTERS_MAX = 512;
const BEARER = /^Bearer +([^ ].*)$/i;

/** Creates the routes; all answer 404 while the API is switched off. */
export function createOperatorRoutes(
  specs: readonly OperatorRouteSpec[],
  options: OperatorRouterOptions,
): OperatorRoute[] {
  const routes = specs.map((spec): OperatorRoute => {
    const path = `${BASE}${spec.path}`;
    const route = { method: spec.method, path: path as Path };
    const perform = createPipeline(spec, path, options);
    return {
      ...route,
      answer: createResponder({ ...options, surface: "operator" }, route, perform),
    };
  });
  let document: Promise<string> | undefined;
  const readDocument = async (): Promise<HandlerReply> => {
    if (!options.isEnabled()) throw apiError("not_found");
    document ??= writeOperatorDocument(specs, BASE, options.version).then(JSON.stringify);
    return new Response(await document, { headers: { "content-type": "application/json" } });
  };
  const route = { method: "GET", path: DOCUMENT as Path } as const;
  const answer = createResponder({ ...options, surface: "operator" }, route, readDocument);
  return [...routes, { ...route, answer }];
}

function createPipeline(spec: OperatorRouteSpec, path: string, options: OperatorRouterOptions) {
  const { inPath, rest } = splitInput(spec);
  const hasQuery = spec.method === "GET" || spec.method === "DELETE";
  const readParameters = compileParameters(
    path as Path,
    { params: inPath, query: hasQuery ? rest : undefined },
    true,
  );
  const checkBody = hasQuery ? undefined : compileFields(rest);

  return async ({ request }: RequestContext): Promise<HandlerReply> => {
    if (!options.isEnabled()) throw apiError("not_found");
    const operator = await identify(request, options);
    await options.limiter.take(operator.id);
    if (operator.role === "approver" && spec.isForApprovers !== true) {
      throw apiError("permission_denied", { message: "An approver may only decide approvals." });
    }
    const { params, query } = readParameters(request.url);
    if (!checkBody) checkLength(request, BODY_BYTES_MAX);
    const body = checkBody?.(await readJson(request, BODY_BYTES_MAX, options.clock));
    const input = { ...(params as object), ...(query as object), ...(body as object) };
    // Checks and deletions take longer than a silent connection lives.
    const release = options.holdOpen(request);
    try {
      const reply = await options.handle(spec, input, operator);
      return [200, reply, { "cache-control": "no-store" }];
    } finally {
      release();
    }
  };
}

async function identify(
  request: Request,
  options: OperatorRouterOptions,
): Promise<OperatorIdentity> {
  const token = BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
  const isPlausible = token !== undefined && token.length <= TOKEN_CHARACTERS_MAX;
  const operator = isPlausible ? await options.identify(token) : undefined;
  if (operator) return operator;
  // Guesses are slowed down by their address.
  await options.limiter.take(`failed ${options.addressOf(request)}`);
  throw refuseToken(token === undefined);
}

function refuseToken(isMissing: boolean): ApiError {
  if (!isMissing) {
    const message = "The operator token is unknown, revoked or expired.";
    return apiError("invalid_api_key", { message });
  }
  const message = "No operator token was sent; send it as `Authorization: Bearer <TOKEN>`.";
  return apiError("missing_api_key", { message });
}
