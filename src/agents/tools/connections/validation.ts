// What makes a connection one that a request can carry: its header, its secret, its hosts.
import { apiError } from "../../../platform/errors.ts";
import type { ConnectionKind } from "./connection.ts";
import { isHeaderName, mayCarrySecret } from "./header-name.ts";

export const NAME_CHARACTERS_MAX = 200;
export const SECRET_CHARACTERS_MAX = 8_192;
export const HOSTS_MAX = 20;
const HOST_RULE =
  'must name whole hosts such as "api.example.com" or "api.example.com:8443", in lower case: ' +
  "without https://, path, `*` and the usual port";

/** A connection as it is wished for. */
export interface ConnectionInput {
  name: string;
  kind: ConnectionKind;
  /** null: of kind bearer. */
  header_name: string | null;
  secret: string;
  allowed_hosts: readonly string[];
}

/** Refuses what is wrong; lengths of what came by HTTP were judged before. */
export function requireConnection(wish: ConnectionInput): void {
  requireName(wish.name);
  requireField("header_name", judgeHeaderName(wish));
  requireSecret(wish.kind, wish.secret);
  requireHosts(wish.allowed_hosts);
}

export function requireName(name: string): void {
  const isLong = name.length > NAME_CHARACTERS_MAX && [...name].length > NAME_CHARACTERS_MAX;
  const isWrong = name === "" || isLong || name.includes("\0");
  requireField("name", isWrong ? `must be a text of 1 to ${NAME_CHARACTERS_MAX} characters` : null);
}

export function requireSecret(kind: ConnectionKind, secret: string): void {
  requireField("secret", judgeSecret(kind, secret));
}

export function requireHosts(hosts: readonly string[]): void {
  requireField("allowed_hosts", judgeHosts(hosts));
}

/** `wrong` goes on from the name of the field; null: nothing is. */
function requireField(param: string, wrong: string | null): void {
  if (wrong === null) return;
  throw apiError("invalid_request", { param, message: `\`${param}\` ${wrong}.` });
}

function judgeHeaderName({ kind, header_name }: ConnectionInput): string | null {
  if (kind === "bearer") return header_name === null ? null : "goes with the kind `header` only";
  if (header_name === null) return "is needed with the kind `header`";
  if (!isHeaderName(header_name)) return "must be the name of a header, such as `X-Api-Key`";
  return mayCarrySecret(header_name) ? null : "names a header that may not carry a secret";
}

/** agents.endpoints.tools.p5: what is wrong with a secret is said without a word of it. */
function judgeSecret(kind: ConnectionKind, secret: string): string | null {
  if (secret.length > SECRET_CHARACTERS_MAX) {
    return `must have at most ${SECRET_CHARACTERS_MAX} characters`;
  }
  const allowed = kind === "bearer" ? /^[!-~]+$/ : /^[ -~]+$/;
  if (!allowed.test(secret)) {
    const how = kind === "bearer" ? "without spaces and line breaks" : "without line breaks";
    return `must be visible ASCII characters, ${how}`;
  }
  // A header's value has none at its ends: what was sent would be another text than what was kept.
  return secret.trim() === secret ? null : "must not begin or end with a space";
}

/** A host is compared as it stands, so it must be spelled as every URL is that was read. */
function judgeHosts(hosts: readonly string[]): string | null {
  if (hosts.length > HOSTS_MAX) return `must name at most ${HOSTS_MAX} hosts`;
  if (new Set(hosts).size < hosts.length) return "must name each host once";
  return hosts.every(isHost) ? null : HOST_RULE;
}

function isHost(text: string): boolean {
  // No part of a name stands for others: who writes so means hosts that a call would not reach.
  if (text.includes("*")) return false;
  // The usual port is left out, whichever of the two it is.
  return ["https", "http"].every((scheme) => URL.parse(`${scheme}://${text}/`)?.host === text);
}
