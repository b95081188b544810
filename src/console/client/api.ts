// The operator API as the console calls it, with the session's cookie.
import { signal } from "@preact/signals";

export type SessionState =
  | { kind: "unknown" | "none" | "ended" | "used" }
  | { kind: "signed_in"; operator: string; role: "operator" | "approver" };

export const session = signal<SessionState>({ kind: "unknown" });

/** A reply that is no success, as the operator API words it. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
  ) {
    super(message);
  }
}

const NO_ANSWER = "The server does not answer.";

export async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const reply = await fetch(path, {
    method,
    ...(body && { body: JSON.stringify(body) }),
    headers: body ? { "content-type": "application/json" } : {},
    credentials: "same-origin",
    cache: "no-store",
  }).catch(() => null);
  if (!reply) throw new ApiFailure(0, "no_answer", NO_ANSWER, null);
  if (reply.status === 401 && session.value.kind === "signed_in") session.value = { kind: "ended" };
  const text = await reply.text();
  if (reply.ok) return (text === "" ? null : JSON.parse(text)) as T;
  throw readFailure(reply, text);
}

function readFailure(reply: Response, text: string): ApiFailure {
  const requestId = reply.headers.get("x-request-id");
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    return new ApiFailure(reply.status, error.code, error.message, requestId);
  } catch {
    return new ApiFailure(reply.status, "unknown", reply.statusText, requestId);
  }
}

export const get = <T>(path: string): Promise<T> => call<T>("GET", `/operator/v1${path}`);
export const post = <T>(path: string, body: object): Promise<T> =>
  call<T>("POST", `/operator/v1${path}`, body);
