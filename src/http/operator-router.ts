// The operator API's routes: operators in place of keys, strict input, a document of their own.
import { apiError } from "../platform/errors.ts";
import { checkLength, readJson } from "./body.ts";
import { compileFields } from "./fields.ts";
import { OPERATOR_BASE, writeOperatorDocument } from "./openapi/operator-document.ts";
import {
  findOperator,
  type OperatorCaller,
  type OperatorCallerOptions,
} from "./operator-caller.ts";
import { type OperatorRouteSpec, splitInput } from "./operator-route.ts";
import { createStreamPipeline, type OperatorStreamSpec } from "./operator-stream.ts";
import { compileParameters } from "./parameters.ts";
import { createResponder, type RequestContext, type ResponderOptions } from "./response.ts";
import type { HandlerReply, HttpMethod, Path } from "./route.ts";

export interface ApiRouteOptions extends Omit<ResponderOptions, "surface"> {
  limiter: OperatorCallerOptions["limiter"];
  isEnabled(): boolean;
  holdOpen(request: Request): () => void;
  streams?: readonly OperatorStreamSpec[];
  handle(
    spec: OperatorRouteSpec,
    input: Record<string, unknown>,
    operator: OperatorCaller,
    request: Request,
  ): Promise<unknown>;
}

export interface OperatorRouterOptions extends ApiRouteOptions, OperatorCallerOptions {
  version: string;
}

interface FoundCaller {
  find(request: Request): Promise<OperatorCaller>;
}

export interface OperatorRoute {
  method: HttpMethod;
  path: string;
  answer(request: Request): Promise<Response>;
}

/** Paths of operators: their API, and the console. */
export const OPERATOR_PREFIXES = ["/operator/", "/console/"];
const DOCUMENT = "/operator/openapi.json";
const BODY_BYTES_MAX = 256 * 1024;

/** Creates the routes; all answer 404 while the API is switched off. */
export function createOperatorRoutes(
  specs: readonly OperatorRouteSpec[],
  options: OperatorRouterOptions,
): OperatorRoute[] {
  const open = (method: HttpMethod, path: string, perform: Perform): OperatorRoute => {
    const route = { method, path: path as Path };
    const answer = createResponder({ ...options, surface: "operator" }, route, perform);
    return { ...route, answer };
  };
  const find = (request: Request) => findOperator(request, options);
  let document: Promise<string> | undefined;
  const readDocument = async (): Promise<HandlerReply> => {
    if (!options.isEnabled()) throw apiError("not_found");
    document ??= writeOperatorDocument(specs, options).then(JSON.stringify);
    return new Response(await document, { headers: { "content-type": "application/json" } });
  };
  return [
    ...createApiRoutes(specs, OPERATOR_BASE, { ...options, find }),
    ...(options.streams ?? []).map((spec) =>
      open("GET", `${OPERATOR_BASE}${spec.path}`, createStreamPipeline(spec, options)),
    ),
    open("GET", DOCUMENT, readDocument),
  ];
}

type Perform = (context: RequestContext) => Promise<HandlerReply>;

/** Creates a route below `base` for each operation, for callers that `find` finds. */
export function createApiRoutes(
  specs: readonly OperatorRouteSpec[],
  base: string,
  options: ApiRouteOptions & FoundCaller,
): OperatorRoute[] {
  return specs.map((spec) => {
    const path = `${base}${spec.path}`;
    const route = { method: spec.method, path: path as Path };
    let perform: Perform | undefined;
    // Compiled at first need, so that a start is quick.
    const performLazily = (context: RequestContext) => {
      perform ??= createPipeline(spec, path, options);
      return perform(context);
    };
    const responder = { ...options, surface: "operator" } as const;
    return { ...route, answer: createResponder(responder, route, performLazily) };
  });
}

function createPipeline(
  spec: OperatorRouteSpec,
  path: string,
  options: ApiRouteOptions & FoundCaller,
) {
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
    const operator = await options.find(request);
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
      const reply = await options.handle(spec, input, operator, request);
      if (reply instanceof Response) return reply;
      return [200, reply, { "cache-control": "no-store" }];
    } finally {
      release();
    }
  };
}
