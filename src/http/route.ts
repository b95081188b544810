// What a route says of itself, what its handler is asked, and what it answers.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Caller, Scope } from "../access/index.ts";
import type { ErrorCode, Surface } from "../platform/errors.ts";
import type { Trace } from "../platform/trace.ts";
import type { DocumentedHeader, RequestHeader } from "./openapi/components.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/**
 * gateway.p4, gateway.p5, gateway.versioning.1, agents.p3, agents.versioning.3: every route lies
 * below the version.
 */
export type Path = `/v1/${string}`;

/** What an operator can switch off in the agent service while it is open. */
export type Feature = "http_tools" | "triggers" | "webhooks";

/** A success, for the document. */
interface DocumentedReply {
  description: string;
  /** Left out: it has no body. */
  schema?: TSchema;
  /** Server-sent events beside JSON. */
  stream?: TSchema;
  /** Beside those of every reply. */
  headers?: readonly DocumentedHeader[];
}

/** Enough to judge a request, and to document it. */
export interface RouteSpec<
  B extends TSchema = TSchema,
  T extends RequestRecorder = RequestRecorder,
  P extends TObject = TObject,
  Q extends TObject = TObject,
> {
  summary: string;
  description?: string;
  /** The scope that the route itself needs; left out: none. */
  scope?: Scope;
  /** agents.authentication.3: the scope is asked for in the grace period, too. */
  isScopeCertain?: true;
  /** Needs no key: it is asked for a signature. */
  is_signed?: true;
  /** Where it is switched off, the route refuses whatever it is asked. */
  feature?: Feature;
  /** What stands in the path: `id` of /v1/agents/:id. */
  params?: P;
  /** What may stand behind the path; left out in the agent half: nothing. */
  query?: Q;
  ignores_unknown_query?: true;
  /**
   * Judges who may do this to what the path names: before a body is read, so that no fault of one
   * is told to who may not.
   */
  admit?(ask: { caller: Caller; params: Static<P> }): Promise<void>;
  /** What it reads of the request's head, for the document; the handler judges it. */
  request_headers?: readonly RequestHeader[];
  body?: B;
  /** Left out: what the half allows. */
  body_bytes_max?: number;
  /** The reply may take as long as a model takes: the connection is not closed for being idle. */
  is_slow?: boolean;
  /** Keeps accounts of its requests; left out: nobody does. */
  meter?: RecorderFactory<T>;
  replies: Record<number, DocumentedReply>;
  /** The codes that this route can refuse with, beside those of every route. */
  refusals: readonly ErrorCode[];
  /** What they say, for the document, where it is not the catalogue's sentence. */
  refusal_sentences?: Readonly<Partial<Record<ErrorCode, string>>>;
  /** What the refusals of a status carry, beside what those of every route do. */
  refusal_headers?: Readonly<Record<number, readonly DocumentedHeader[]>>;
}

/** The value of a schema; undefined: the route has none. */
export type Decoded<S extends TSchema> = [S] extends [never] ? undefined : Static<S>;

export interface HandlerContext<B, T = unknown, P = unknown, Q = unknown> {
  caller: Caller;
  params: P;
  query: Q;
  body: B;
  request: Request;
  request_id: string;
  trace: Trace | null;
  /** Of a metered route: the handler closes it when it answers with a `Response` of its own. */
  recorder: T;
}

/** A ready response, or a status and the value that becomes its JSON body (of 204: null). */
export type HandlerReply =
  | Response
  | readonly [status: number, value: unknown, headers?: Record<string, string>];
export type Handler<B, T = unknown, P = unknown, Q = unknown> = (
  ask: HandlerContext<B, T, P, Q>,
) => Promise<HandlerReply> | HandlerReply;

/** Makes a route of a verb that carries a body. */
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

/** Makes a route of a verb that carries none. */
export type RegisterBodiless = <P extends TObject = never, Q extends TObject = never>(
  path: Path,
  spec: RouteSpec<never, RequestRecorder, P, Q>,
  handler: Handler<undefined, RequestRecorder, Decoded<P>, Decoded<Q>>,
) => void;

export interface Route {
  method: HttpMethod;
  path: Path;
  surface: Surface;
  spec: RouteSpec;
  answer(request: Request): Promise<Response>;
}

/**
 * A request that counts: of a known caller, within the rate limit. What is refused before that is
 * not metered, or strangers could make a table grow that nobody has promised them room in.
 */
export interface MeteredRequest {
  caller: Caller;
  request_id: string;
  trace: Trace | null;
  /** On the monotonic clock, when the door got the request. */
  started_at: number;
}

/** What one request comes to, from its arrival to its end. */
export interface RequestRecorder {
  /** Bytes of its body: those announced until it is read, then those that were read. */
  request_bytes: number;
  /**
   * Its end, told once: by the door when it has the whole reply, or by a handler when its stream is
   * over. `code` is what the caller was told, null: nothing went wrong.
   */
  close(status: number, code: string | null, reply_bytes: number): void;
}

export interface RecorderFactory<T extends RequestRecorder = RequestRecorder> {
  open(arrival: MeteredRequest): T;
}
