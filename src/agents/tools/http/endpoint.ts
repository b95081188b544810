// A tool that a caller registered: each call is one POST of its arguments to the endpoint.

import { signMessage } from "../../../crypto/index.ts";
import type { GuardedEgress, GuardedFailure } from "../../../net/index.ts";
import { writeCanonical } from "../../../platform/canonical.ts";
import type { ConnectionCredentials, OpenCredentials } from "../connections/credentials.ts";
import type { Tool, ToolOutcome, ToolResult, ToolUse } from "../contract.ts";
import { classifyOutcome } from "./outcome.ts";
import { isSuccess, REPLY_BYTES_MAX, showReply } from "./reply.ts";
import type { StoredRevision } from "./revision.ts";

export interface EndpointDeps {
  egress: Pick<GuardedEgress, "request">;
  openConnection: OpenCredentials;
}

const UNKNOWN = "It is unknown whether the call was done.";

/** What the engine runs as this revision of the tool; whatever fails outside is its result. */
export function createHttpTool(revision: StoredRevision, deps: EndpointDeps): Tool {
  const { name, description, risk, external_content, timeout_ms, idempotent } = revision;
  // What cannot be undone is never sent again by itself, whatever it was registered as.
  const sends = { isIdempotent: risk === "write" && idempotent };
  return {
    ...{ name, description, risk, revision: revision.revision, external_content, timeout_ms },
    parameters: revision.parameters,
    ...(risk !== "read" && { sends }),
    run: (use) => call(revision, deps, use),
  };
}

async function call(
  revision: StoredRevision,
  { egress, openConnection }: EndpointDeps,
  use: ToolUse,
): Promise<ToolResult> {
  const { account_id, endpoint, connection_id, timeout_ms } = revision;
  const url = new URL(endpoint);
  let connection: ConnectionCredentials | null = null;
  if (connection_id !== null) {
    const opened = await openConnection({ id: connection_id, account_id, host: url.host });
    if (!opened.ok) return keep(`Nothing was sent: ${opened.say}`);
    ({ connection } = opened);
  }
  const body = new TextEncoder().encode(writeCanonical(use.arguments));
  const end = await egress.request({
    ...{ url: endpoint, method: "POST", body, headers: writeHeaders(use, body, connection) },
    ...{ timeout_ms, response_bytes_max: REPLY_BYTES_MAX, signal: use.signal },
  });
  const outcome = classifyOutcome(end, revision.risk === "read");
  const http_status = end.status ?? undefined;
  if (!end.ok) {
    const content = tellFailure(end, revision, outcome);
    return { outcome, content, external: false, http_status };
  }
  const { content, isTheirs } = await showReply(end, connection?.secret ?? null);
  const external = revision.external_content && isTheirs;
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
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/*;q=0.9, */*;q=0.1",
    // The same each time that this call is sent: by it the endpoint knows a repeat.
    "idempotency-key": tool_call_id,
    "webhook-id": tool_call_id,
    "webhook-timestamp": String(timestampS),
  };
  if (connection === null) return headers;
  const { header_name, secret } = connection;
  headers[header_name?.toLowerCase() ?? "authorization"] =
    header_name === null ? `Bearer ${secret}` : secret;
  headers["webhook-signature"] = signMessage([secret], tool_call_id, timestampS, body);
  return headers;
}

function tellFailure(
  end: GuardedFailure,
  { risk, timeout_ms }: StoredRevision,
  outcome: ToolOutcome,
): string {
  const { status, sent, code } = end;
  const say = code === "aborted" ? sayBrokenOff(timeout_ms) : end.say;
  if (!sent) return `Nothing was sent: ${say}`;
  if (risk === "read") return status === null ? say : `The endpoint answered ${status}. ${say}`;
  if (status === null) return `${say} ${UNKNOWN}`;
  if (isSuccess(status)) {
    return `The endpoint answered ${status}: the call was done, but its reply is lost. ${say}`;
  }
  const told = `The endpoint answered ${status}, and its reply is lost. ${say}`;
  return outcome === "outcome_unknown" ? `${told} ${UNKNOWN}` : told;
}

/** The signal does not say which of the two it was. */
function sayBrokenOff(timeout_ms: number): string {
  const seconds = timeout_ms === 1_000 ? "a second" : `${timeout_ms / 1_000} seconds`;
  return `The call was cancelled, or took longer than ${seconds}.`;
}

function keep(content: string): ToolResult {
  return { outcome: "error", content, external: false };
}
