// A call of a registered tool: one POST of its arguments to the caller's endpoint.
import { signMessage } from "../../../crypto/index.ts";
import type {
  GuardedEgress,
  GuardedFailure,
  GuardedOutcome,
  GuardedReply,
} from "../../../net/index.ts";
import { writeCanonical } from "../../../platform/json.ts";
import { shorten } from "../../../platform/text.ts";
import {
  type ConnectionCredentials,
  type OpenCredentials,
  sendRenewed,
  writeSecret,
} from "../connections/connections.ts";
import {
  failure,
  type Tool,
  type ToolOutcome,
  type ToolResult,
  type ToolUse,
} from "../contract.ts";
import { isCompressed, isTextType, isUtf8, readCharset, readMediaType } from "../page/content.ts";
import { describeCallable, type StoredRevision } from "../revision.ts";
import { scrub } from "./scrub.ts";

const REPLY_BYTES_MAX = 1024 * 1024;
/** Maximum text of a failure, whose beginning says what is wrong. */
export const FAILURE_CHARACTERS_MAX = 4_000;
export const UNKNOWN = "It is unknown whether the call was done.";
/**
 * Statuses of proxies that got no whole reply of the endpoint; 520, 522 and 524 are Cloudflare's.
 */
export const GATEWAY_STATUSES = new Set([502, 504, 520, 522, 524]);
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/;
/** Content type that many servers send for unknown types. */
const UNTYPED = "application/octet-stream";

export interface EndpointDeps {
  egress: Pick<GuardedEgress, "request">;
  openConnection: OpenCredentials;
}

/** The tool that the engine runs for a revision; a failure of the endpoint is its result. */
export function createHttpTool(revision: StoredRevision, deps: EndpointDeps): Tool {
  const { risk, idempotent } = revision;
  // An irreversible call is never repeated by itself, even if registered as idempotent.
  const sends = { isIdempotent: risk === "write" && idempotent };
  return {
    ...describeCallable(revision),
    ...(risk !== "read" && { sends }),
    run: (use) => callEndpoint(revision, deps, use),
  };
}

async function callEndpoint(
  revision: StoredRevision,
  { egress, openConnection }: EndpointDeps,
  use: ToolUse,
): Promise<ToolResult> {
  const { account_id, endpoint, connection_id, timeout_ms } = revision;
  const url = new URL(endpoint);
  let connection: ConnectionCredentials | null = null;
  if (connection_id !== null) {
    const opened = await openConnection({ id: connection_id, account_id, host: url.host });
    if (!opened.ok) return failure(`Nothing was sent: ${opened.problem}`);
    ({ connection } = opened);
  }
  const body = new TextEncoder().encode(writeCanonical(use.arguments));
  const reply = await sendRenewed(connection, () =>
    egress.request({
      url: endpoint,
      method: "POST",
      body,
      headers: writeHeaders(use, body, connection),
      timeoutMs: timeout_ms,
      responseBytesMax: REPLY_BYTES_MAX,
      signal: use.signal,
    }),
  );
  const outcome = classifyOutcome(reply, revision.risk === "read");
  const http_status = reply.status ?? undefined;
  if (!reply.ok) {
    const content = describeFailure(reply, revision, outcome);
    return { outcome, content, external: false, http_status };
  }
  const { content, isQuoted } = await describeReply(reply, connection?.secret ?? null);
  const external = revision.external_content && isQuoted;
  return {
    outcome,
    content: outcome === "outcome_unknown" ? `${UNKNOWN} ${content}` : content,
    external,
    ...(external && { external_url: url.origin + url.pathname }),
    http_status,
  };
}

/** agents.does.connection, agents.authentication.7 */
function writeHeaders(
  { tool_call_id, now }: ToolUse,
  body: Uint8Array,
  connection: ConnectionCredentials | null,
): Record<string, string> {
  const timestampS = Math.floor(now() / 1_000);
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/*;q=0.9, */*;q=0.1",
    "idempotency-key": tool_call_id,
    "webhook-id": tool_call_id,
    "webhook-timestamp": String(timestampS),
  };
  if (connection === null) return headers;
  const signature = signMessage([connection.secret], tool_call_id, timestampS, body);
  return { ...headers, ...writeSecret(connection), "webhook-signature": signature };
}

/**
 * Classifies how a request ended. The outcome of a write is unknown unless it was surely not sent,
 * or the endpoint itself answered; a read is simply repeated.
 */
export function classifyOutcome(reply: GuardedOutcome, isRead: boolean): ToolOutcome {
  const { status } = reply;
  if (!reply.ok) {
    const isLate = reply.code === "timeout" || reply.code === "aborted";
    if (isRead) return isLate ? "timeout" : "error";
    if (!reply.sent) return "error";
  }
  if (status === null) return "outcome_unknown";
  // A write is done once its status has arrived, even if the rest of the reply is lost.
  if (isSuccess(status)) return "ok";
  return GATEWAY_STATUSES.has(status) && !isRead ? "outcome_unknown" : "error";
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function describeFailure(
  { status, sent, code, message }: GuardedFailure,
  { risk, timeout_ms }: StoredRevision,
  outcome: ToolOutcome,
): string {
  const seconds = timeout_ms === 1_000 ? "a second" : `${timeout_ms / 1_000} seconds`;
  // The signal does not say which of the two it was.
  const aborted = `The call was cancelled, or took longer than ${seconds}.`;
  const cause = code === "aborted" ? aborted : message;
  if (!sent) return `Nothing was sent: ${cause}`;
  if (risk === "read") return status === null ? cause : `The endpoint answered ${status}. ${cause}`;
  if (status === null) return `${cause} ${UNKNOWN}`;
  if (isSuccess(status)) {
    return `The endpoint answered ${status}: the call was done, but its reply is lost. ${cause}`;
  }
  const answer = `The endpoint answered ${status}, and its reply is lost. ${cause}`;
  return outcome === "outcome_unknown" ? `${answer} ${UNKNOWN}` : answer;
}

/** The reply's text without the secret that was sent along, or a sentence in place of bytes. */
async function describeReply(
  reply: GuardedReply,
  secret: string | null,
): Promise<{ content: string; isQuoted: boolean }> {
  const { status, headers, body, truncated } = reply;
  const clean = async (text: string, isCut: boolean) =>
    secret === null ? text : await scrub(text, secret, isCut);
  const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const answer = (detail: string) => `The endpoint answered ${status}${detail}${redirect}.`;
  if (body.length === 0) return { content: answer(" with an empty reply"), isQuoted: false };
  const unit = body.length === 1 ? "byte" : "bytes";
  const size = `${truncated ? "more than " : ""}${body.length} ${unit}`;
  if (isCompressed(headers.get("content-encoding") ?? "")) {
    return { content: answer(` with ${size} that are compressed, not shown`), isQuoted: false };
  }
  const contentType = headers.get("content-type") ?? UNTYPED;
  const media = readMediaType(contentType);
  const isText =
    media === UNTYPED ? !body.includes(0) && isUtf8(body, truncated) : isTextType(media);
  if (!isText) {
    const isQuoted = MEDIA_TYPE.test(media);
    const type = isQuoted ? ` of ${await clean(media, false)}` : "";
    return { content: answer(` with ${size}${type}, not shown`), isQuoted };
  }
  const decoder = new TextDecoder((readCharset(contentType) ?? "utf-8") as Bun.Encoding);
  const text = await clean(decoder.decode(body, { stream: truncated }), truncated);
  if (!isSuccess(status)) {
    const beginning = shorten(text, FAILURE_CHARACTERS_MAX);
    return { content: `${answer("")}\n\n${beginning}`, isQuoted: true };
  }
  // Put first, since the end of a long text is cut again.
  const note = truncated ? `The reply has ${size}; this is its beginning.\n\n` : "";
  return { content: note + text, isQuoted: true };
}
