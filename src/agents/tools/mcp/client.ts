// A client of MCP servers: sends requests in the revision of the server, and offers it nothing.
import { isObject, type JsonObject } from "../../../platform/json.ts";
import type { RpcMessage } from "./messages.ts";
import { type Session, Sessions } from "./sessions.ts";
import type { McpOutcome, TransportDeps } from "./transport.ts";
import { createWire, type McpTarget, makeEnvelope, type Wire, writeStateless } from "./wire.ts";

const UNSUPPORTED_REVISION = -32022;
const NO_METHOD = -32601;
/** Statuses by which a server with sessions refuses a request without one. */
const UNREAD_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 406, 415]);
/** Maximum requests of a server that are refused beside one request of ours; others are ignored. */
const REFUSALS_MAX = 16;

export interface McpRequest {
  method: "tools/call" | "tools/list" | `tasks/${"get" | "result" | "update" | "cancel"}`;
  params: JsonObject;
  /** How long a task is kept that the call becomes at a server which wants to be asked for one. */
  taskMs?: number | undefined;
  /** Headers beside those of the protocol. */
  headers?: Readonly<Record<string, string>>;
  /** Time for everything, the handshake included; nothing that a server sends prolongs it. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  onNotification?(method: string): void;
}

export type McpReply = McpOutcome & { session?: Session };

export class McpClient {
  readonly #wire: Wire;
  readonly #sessions: Sessions;

  constructor(deps: TransportDeps) {
    this.#wire = createWire(deps);
    this.#sessions = new Sessions(this.#wire);
  }

  async request(target: McpTarget, request: McpRequest): Promise<McpReply> {
    const budget = {
      endAt: this.#wire.clock.monotonic() + request.timeoutMs,
      signal: request.signal,
    };
    const session = await this.#sessions.open(target, budget);
    if ("ok" in session) return session;
    const outcome = await this.#send(target, session, request, budget.endAt);
    const isForgotten = session.id !== null && outcome.status === 404;
    if (!isForgotten && !mayBeReplaced(outcome, session, request)) return { ...outcome, session };
    this.#sessions.forget(target);
    // A session that its server has forgotten is not taken over again.
    const next = await this.#sessions.open({ ...target, adopted: undefined }, budget);
    if ("ok" in next) return isForgotten ? next : { ...outcome, session };
    if (!isForgotten && next.isStateless === session.isStateless) return { ...outcome, session };
    // The server refused the request unread, so that it can be sent again.
    return { ...(await this.#send(target, next, request, budget.endAt)), session: next };
  }

  /** Ends the session, which others may share. */
  end(target: McpTarget): void {
    this.#sessions.end(target);
  }

  async #send(
    target: McpTarget,
    session: Session,
    { method, params: asked, taskMs, headers, signal, onNotification }: McpRequest,
    endAt: number,
  ): Promise<McpOutcome> {
    const { isStateless } = session;
    const isTask = session.takesTasks && taskMs !== undefined;
    const params = isTask ? { ...asked, task: { ttl: taskMs } } : asked;
    const own = isStateless
      ? writeStateless(method, params.name ?? params.taskId)
      : session.headers;
    const meta = isObject(params._meta) ? params._meta : {};
    let refusals = 0;
    const { id, outcome } = await this.#wire.request(
      target,
      { endAt, signal },
      {
        method,
        params: isStateless ? { ...params, _meta: { ...meta, ...makeEnvelope() } } : params,
        headers: { ...headers, ...own },
        onMessage: (message) => {
          if (message.kind === "notification") onNotification?.(message.method);
          // A stateless server has no way to be answered.
          else if (!isStateless && ++refusals <= REFUSALS_MAX) {
            void this.#wire.note(target, own, refuse(message));
          }
        },
      },
    );
    const isGivenUp = !outcome.ok && outcome.sent && ["timeout", "aborted"].includes(outcome.code);
    // A stateless server sees it by the end of the connection.
    if (isGivenUp && !isStateless) void this.#wire.note(target, own, cancel(id));
    return outcome;
  }
}

function cancel(requestId: number): JsonObject {
  const params = { requestId, reason: "The caller has given the request up." };
  return { method: "notifications/cancelled", params };
}

/** Sampling, elicitation and roots are not offered, so that no server should ask for them. */
function refuse({ id, method }: Extract<RpcMessage, { kind: "request" }>): JsonObject {
  if (method === "ping") return { id, result: {} };
  const message = "This client takes no requests of a server: no sampling, elicitation or roots.";
  return { id, error: { code: NO_METHOD, message } };
}

/** Tells by a refusal that another version of the server may speak another revision. */
function mayBeReplaced(
  outcome: McpOutcome,
  { isStateless }: Session,
  { method }: McpRequest,
): boolean {
  const code = outcome.ok ? outcome.answer.error?.code : undefined;
  // A second list does no harm.
  if (method === "tools/list" && code !== undefined) return true;
  if (code === UNSUPPORTED_REVISION) return true;
  // With a session these statuses may be about the arguments, and its end would lose its state.
  return isStateless && UNREAD_STATUSES.has(outcome.status ?? 0);
}
