// The types of routes: their specification, their handlers and their replies.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Caller, Scope } from "../access/index.ts";
import type { ApiError, ErrorCode, PublicSurface } from "../platform/errors.ts";
import type { Trace } from "../platform/trace.ts";
import type { ApiDialect } from "./dialects.ts";
import type { DocumentedHeader, RequestHeader } from "./openapi/components.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/**
 * gateway.p4, gateway.p5, gateway.versioning.1, agents.p3, agents.versioning.3: every route lies
 * below the version. `/mcp` is of another protocol, which names its revision in each request.
 */
export type Path = `/v1/${string}` | "/mcp";

/** Features that an operator can switch off while the agent service is open. */
export type Feature = "http_tools" | "mcp" | "triggers" | "webhooks";

interface DocumentedReply {
  description: string;
  schema?: TSchema;
  /** Server-sent events beside JSON. */
  stream?: TSchema;
  headers?: readonly DocumentedHeader[];
}

export interface RouteSpec<
  B extends TSchema = TSchema,
  T extends RequestRecorder = RequestRecorder,
  P extends TObject = TObject,
  Q extends TObject = TObject,
> {
  summary: string;
  description?: string;
  scope?: Scope;
  /** agents.authentication.3: the scope is required in the grace period too. */
  isScopeCertain?: true;
  isSigned?: true;
  feature?: Feature;
  /** Format of another interface, in which errors are sent. */
  dialect?: ApiDialect;
  /** Tells in `www-authenticate` of a 401 how a key is sent. */
  challenge?(request: Request): string;
  /** Read for each request; false answers like an unknown path. */
  isOpen?(): boolean;
  /** Route whose rate limit counts the requests; its own by default. */
  countsAs?: `${HttpMethod} ${Path}`;
  params?: P;
  /** The query; without one the agent service refuses all parameters. */
  query?: Q;
  ignores_unknown_query?: true;
  /** Authorizes access to the object before a body is read, so that no body fault reveals it. */
  authorize?(request: { caller: Caller; params: Static<P> }): Promise<void>;
  request_headers?: readonly RequestHeader[];
  body?: B;
  /** Replaces the surface's limit. */
  bodyBytesMax?: number;
  /** Turns the idle time-out of the connection off while the handler works. */
  isSlow?: boolean | ((request: Request) => boolean);
  meter?: RecorderFactory<T>;
  replies: Record<number, DocumentedReply>;
  /** Error codes of this route beside those of every route. */
  refusals: readonly ErrorCode[];
  /** Documented sentences that replace the catalogue's. */
  refusal_sentences?: Readonly<Partial<Record<ErrorCode, string>>>;
  refusal_headers?: Readonly<Record<number, readonly DocumentedHeader[]>>;
}

export type Decoded<S extends TSchema> = [S] extends [never] ? undefined : Static<S>;

export interface HandlerContext<B, T = unknown, P = unknown, Q = unknown> {
  caller: Caller;
  params: P;
  query: Q;
  body: B;
  request: Request;
  requestId: string;
  trace: Trace | null;
  /** Set on metered routes; a handler that returns a `Response` closes it. */
  recorder: T;
}

export type HandlerReply =
  | Response
  | readonly [status: number, value: unknown, headers?: Record<string, string>];
export type Handler<B, T = unknown, P = unknown, Q = unknown> = (
  context: HandlerContext<B, T, P, Q>,
) => Promise<HandlerReply> | HandlerReply;

export type Register = <
  B extends TSchema = never,
  T extends RequestRecorder = RequestRecorder,
  P extends TObject = never,
  Q extends TObject = never,
>(
  path: Path,
  spec: RouteSpec<B, T, P, Q>,
  handler: Handler<Decoded<B>, T, Decoded<P>, Decoded<Q>>,
) => void;

export type RegisterBodiless = <P extends TObject = never, Q extends TObject = never>(
  path: Path,
  spec: RouteSpec<never, RequestRecorder, P, Q>,
  handler: Handler<undefined, RequestRecorder, Decoded<P>, Decoded<Q>>,
) => void;

export interface Route {
  method: HttpMethod;
  path: Path;
  surface: PublicSurface;
  spec: RouteSpec;
  answer(request: Request, sentAs?: SentAs): Promise<Response>;
}

/** An operator sends a request as a key, without its secret. */
export interface SentAs {
  key_id: string;
  /** Name of the operator. */
  operator: string;
}

/** The run whose round or call a request is. */
export interface RunSource {
  id: string;
  agent_id: string;
  version: number;
}

/** A request of a known caller. Others are not metered, so that strangers cannot grow a table. */
export interface MeteredRequest {
  caller: Caller;
  request_id: string;
  trace: Trace | null;
  run?: RunSource;
  /** Name of the operator who sent it in the caller's place. */
  operator?: string;
  /** Arrival on the monotonic clock. */
  started_at: number;
}

export interface RequestRecorder {
  /** Bytes of its body: announced ones, then those read. */
  request_bytes: number;
  /** Set once the rate limit has counted the request; few others are kept. */
  isAdmitted: boolean;
  /** Explains the end that `close` records after it. */
  explain(refusal: ApiError): void;
  /**
   * Called once: by the router with the whole reply, or by a handler when its stream is over.
   * `code` is the public error code; null for a success.
   */
  close(status: number, code: string | null, reply_bytes: number): void;
}

export interface RecorderFactory<T extends RequestRecorder = RequestRecorder> {
  open(arrival: MeteredRequest): T;
}
