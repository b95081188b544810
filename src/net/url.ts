// Judges the text of an address that a stranger wants us to call, before any name is resolved.
import { isIP } from "node:net";
import { isAllowed, portOf } from "./allow.ts";
import type { AllowEntry } from "./allow-entry.ts";

export type UrlCheck = { ok: true; url: URL } | { ok: false; why: string };

/** Nobody opens a longer one. */
export const URL_CHARACTERS_MAX = 2_048;
const NAME_CHARACTERS_MAX = 253;

/** Endings that no public name has; `example.com` and its like are ordinary names. */
const privateEndings = new Set([
  ...["localhost", "local", "internal", "invalid", "test", "example", "onion", "arpa"],
  ...["home", "lan", "corp"],
]);

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

// Readers of URLs disagree about these: some drop them, some take a backslash for a slash.
const disputed = /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u;

/** Judges a URL's text; where the operator's list names its host and port, only its form counts. */
export function checkUrl(text: string, allow: readonly AllowEntry[] = []): UrlCheck {
  const fault = findFaultOfForm(text);
  if (fault !== null) return { ok: false, why: fault };
  const url = URL.parse(text);
  if (url === null) return { ok: false, why: "The URL names no host that could exist." };
  const why = isAllowed(url, allow) ? null : findFaultOfPlace(url);
  return why === null ? { ok: true, url } : { ok: false, why };
}

/** Whether a URL names its host by an IP address, whatever its spelling was. */
export function hasIpHost(url: URL): boolean {
  return url.hostname.startsWith("[") || isIP(url.hostname) !== 0;
}

function findFaultOfForm(text: string): string | null {
  // A pair of halves is one character: twice the number is more in any case.
  const isLong = text.length > 2 * URL_CHARACTERS_MAX || [...text].length > URL_CHARACTERS_MAX;
  if (isLong) return "The URL is longer than 2,048 characters.";
  if (disputed.test(text)) {
    return "The URL contains white space, a backslash or a character that cannot be seen.";
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return "The URL must begin with https:// and name a host.";
  if (authority.includes("@")) return "The URL must not carry a user name or a password.";
  if (text.includes("#")) return "The URL must not have a fragment.";
  return null;
}

function findFaultOfPlace(url: URL): string | null {
  if (url.protocol !== "https:") return "The URL must begin with https://.";
  if (portOf(url) !== 443) return "The URL must use port 443.";
  if (hasIpHost(url)) return "The URL must name its host by a DNS name, not by an IP address.";
  const labels = url.hostname.split(".");
  if (labels.length < 2) return "The host must be a DNS name with a dot in it.";
  if (url.hostname.length > NAME_CHARACTERS_MAX || !labels.every((part) => label.test(part))) {
    return "The host is not a well-formed DNS name.";
  }
  const ending = labels.at(-1)!;
  if (privateEndings.has(ending)) return `Names that end in .${ending} are not public.`;
  return null;
}
