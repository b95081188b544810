// The operator API as the console calls it, with the session's cookie.
import { signal } from "@preact/signals";

export type SessionState =
  | { kind: "unknown" | "none" | "ended" | "used"; command?: string | undefined }
  | { kind: "signed_in"; operator: string; role: "operator" | "approver" };

export const session = signal<SessionState>({ kind: "unknown" });

/** The operator who is signed in, as the server answers. */
export interface SignedInOperator {
  operator: string;
  role: "operator" | "approver";
  program: string;
  needs_server: boolean;
}

/** How commands are typed on the server's machine. */
export const commands = { program: "wadi", needs_server: false };

/** A reply that is no success, as the operator API words it. */
export class ApiFailure extends Error {
  /** Seconds after which it is tried again; 0 where it is not. */
  againInS = 0;

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    /** Seconds that the server asks to wait for. */
    readonly retryAfterS = 0,
  ) {
    super(message);
  }

  /** Later the same request may succeed. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export const NO_ANSWER = "The server does not answer.";

async function send(
  method: string,
  path: string,
  body?: object,
  signal: AbortSignal | null = null,
): Promise<string> {
  const reply = await fetch(path, {
    ...{ method, signal, credentials: "same-origin", cache: "no-store" },
    ...(body && { body: JSON.stringify(body) }),
    headers: body ? { "content-type": "application/json" } : {},
  }).catch(() => null);
  if (!reply) throw new ApiFailure(0, "no_answer", NO_ANSWER, null);
  if (reply.status === 401 && session.value.kind === "signed_in") session.value = { kind: "ended" };
  const text = await reply.text().catch(() => "");
  if (reply.ok) return text;
  throw readFailure(reply, text);
}

export async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const text = await send(method, path, body);
  return (text === "" ? null : JSON.parse(text)) as T;
}

export function readFailure({ status, statusText, headers }: Response, text: string): ApiFailure {
  const requestId = headers.get("x-request-id");
  const retryAfterS = Number(headers.get("retry-after")) || 0;
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    return new ApiFailure(status, error.code, error.message, requestId, retryAfterS);
  } catch {
    return new ApiFailure(status, "unknown", statusText, requestId, retryAfterS);
  }
}

/** Paths below which operations are: those of a link to approvals are its own. */
export const api = { base: "/operator/v1" };

export const getText = (path: string, signal: AbortSignal): Promise<string> =>
  send("GET", api.base + path, undefined, signal);
export const get = <T>(path: string): Promise<T> => call<T>("GET", `${api.base}${path}`);
export const post = <T>(path: string, body: object): Promise<T> =>
  call<T>("POST", `${api.base}${path}`, body);
