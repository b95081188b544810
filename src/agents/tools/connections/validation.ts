// Rules of connections beyond their schema: header names, secrets and hosts.
import { apiError } from "../../../platform/errors.ts";
import {
  type ConnectionKind,
  HOSTS_MAX,
  NAME_CHARACTERS_MAX,
  SECRET_CHARACTERS_MAX,
} from "./connection.ts";

const HOST_RULE =
  'must name whole hosts such as "api.example.com" or "api.example.com:8443", in lower case: ' +
  "without https://, path, `*` and the usual port";

/** A token of RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;

const RESERVED_HEADERS = new Set([
  // Headers that control routing, framing and the connection.
  ...["host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["expect", "http2-settings", "range", "max-forwards"],
  // Headers that the program sends itself, or promises to the endpoint.
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "date"],
  ...["idempotency-key", "x-request-id", "traceparent", "tracestate", "baggage"],
  // Headers that identify the client and its origin.
  ...["cookie", "cookie2", "set-cookie", "origin", "referer", "from", "via", "forwarded"],
]);
const RESERVED_PREFIXES = ["content-", "webhook-", "proxy-", "sec-", "if-", "x-forwarded-"];

export interface ConnectionInput {
  name: string;
  kind: ConnectionKind;
  header_name: string | null;
  secret: string;
  allowed_hosts: readonly string[];
}

export function requireConnection(input: ConnectionInput): void {
  requireName(input.name);
  requireField("header_name", findHeaderProblem(input));
  requireSecret(input.kind, input.secret);
  requireHosts(input.allowed_hosts);
}

export function requireName(name: string): void {
  const isLong = name.length > NAME_CHARACTERS_MAX && [...name].length > NAME_CHARACTERS_MAX;
  const isWrong = name === "" || isLong || name.includes("\0");
  requireField("name", isWrong ? `must be a text of 1 to ${NAME_CHARACTERS_MAX} characters` : null);
}

export function requireSecret(kind: ConnectionKind, secret: string): void {
  requireField("secret", findSecretProblem(kind, secret));
}

export function requireHosts(hosts: readonly string[]): void {
  requireField("allowed_hosts", findHostsProblem(hosts));
}

/** Throws a problem, which continues a sentence that begins with the field's name. */
function requireField(param: string, problem: string | null): void {
  if (problem === null) return;
  throw apiError("invalid_request", { param, message: `\`${param}\` ${problem}.` });
}

function findHeaderProblem({ kind, header_name }: ConnectionInput): string | null {
  if (kind === "bearer") return header_name === null ? null : "goes with the kind `header` only";
  if (header_name === null) return "is needed with the kind `header`";
  if (!HEADER_NAME.test(header_name)) return "must be the name of a header, such as `X-Api-Key`";
  return mayCarrySecret(header_name) ? null : "names a header that may not carry a secret";
}

/** agents.endpoints.tools.p5: problems never quote the secret. */
function findSecretProblem(kind: ConnectionKind, secret: string): string | null {
  if (secret.length > SECRET_CHARACTERS_MAX) {
    return `must have at most ${SECRET_CHARACTERS_MAX} characters`;
  }
  const allowed = kind === "bearer" ? /^[!-~]+$/ : /^[ -~]+$/;
  if (!allowed.test(secret)) {
    const how = kind === "bearer" ? "without spaces and line breaks" : "without line breaks";
    return `must be visible ASCII characters, ${how}`;
  }
  // Header values are trimmed on the way.
  return secret.trim() === secret ? null : "must not begin or end with a space";
}

/** Hosts are compared as texts, so they must be spelled as `URL.host` spells them. */
function findHostsProblem(hosts: readonly string[]): string | null {
  if (hosts.length > HOSTS_MAX) return `must name at most ${HOSTS_MAX} hosts`;
  if (new Set(hosts).size < hosts.length) return "must name each host once";
  return hosts.every(isHost) ? null : HOST_RULE;
}

function isHost(text: string): boolean {
  // There are no wildcards; whoever writes one means hosts that no call would reach.
  if (text.includes("*")) return false;
  // `URL.host` leaves out the usual port of either scheme.
  return ["https", "http"].every((scheme) => URL.parse(`${scheme}://${text}/`)?.host === text);
}

/** `authorization` may, since some endpoints want another scheme than Bearer. */
function mayCarrySecret(header_name: string): boolean {
  const name = header_name.toLowerCase();
  return !RESERVED_HEADERS.has(name) && !RESERVED_PREFIXES.some((start) => name.startsWith(start));
}
