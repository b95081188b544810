// Validates an address that a stranger wants us to call, before any name is resolved.
import { isIP } from "node:net";
import { URL_CHARACTERS_MAX } from "../platform/text.ts";
import type { AllowEntry } from "./allow-list.ts";
import { isAllowed, portOf } from "./allow-list.ts";

export type UrlCheck = { ok: true; url: URL } | { ok: false; reason: string };

const NAME_CHARACTERS_MAX = 253;

const PRIVATE_ENDINGS = new Set([
  ...["localhost", "local", "internal", "invalid", "test", "example", "onion", "arpa"],
  ...["home", "lan", "corp"],
]);

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Characters on which URL parsers disagree: some drop them, some read a backslash as a slash. */
const DISPUTED = /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u;

/** Validates a URL; if the list names its host and port, only its form is checked. */
export function checkUrl(text: string, allow: readonly AllowEntry[] = []): UrlCheck {
  const fault = findFormFault(text);
  if (fault !== null) return { ok: false, reason: fault };
  const url = URL.parse(text);
  if (url === null) return { ok: false, reason: "The URL names no host that could exist." };
  const reason = isAllowed(url, allow) ? null : findPlaceFault(url);
  return reason === null ? { ok: true, url } : { ok: false, reason };
}

export function hasIpHost(url: URL): boolean {
  return url.hostname.startsWith("[") || isIP(url.hostname) !== 0;
}

function findFormFault(text: string): string | null {
  // A character takes at most two units, so longer texts need no counting.
  const isLong = text.length > 2 * URL_CHARACTERS_MAX || [...text].length > URL_CHARACTERS_MAX;
  if (isLong) return "The URL is longer than 2,048 characters.";
  if (DISPUTED.test(text)) {
    return "The URL contains white space, a backslash or a character that cannot be seen.";
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return "The URL must begin with https:// and name a host.";
  if (authority.includes("@")) return "The URL must not carry a user name or a password.";
  if (text.includes("#")) return "The URL must not have a fragment.";
  return null;
}

function findPlaceFault(url: URL): string | null {
  if (url.protocol !== "https:") return "The URL must begin with https://.";
  if (portOf(url) !== 443) return "The URL must use port 443.";
  if (hasIpHost(url)) return "The URL must name its host by a DNS name, not by an IP address.";
  const labels = url.hostname.split(".");
  if (labels.length < 2) return "The host must be a DNS name with a dot in it.";
  if (url.hostname.length > NAME_CHARACTERS_MAX || !labels.every((part) => LABEL.test(part))) {
    return "The host is not a well-formed DNS name.";
  }
  const ending = labels.at(-1)!;
  if (PRIVATE_ENDINGS.has(ending)) return `Names that end in .${ending} are not public.`;
  return null;
}
