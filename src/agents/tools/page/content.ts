// What kind of content a reply holds, by its headers or its first bytes, and in which characters.

/** `unreadable` says in words of ours what it is. */
export type Content =
  | { kind: "html" | "xhtml" | "text"; encoding: string }
  | { kind: "unreadable"; what: string };

const SNIFFED_BYTES = 2_048;
/** So many bytes tell whether a text that names no encoding is UTF-8. */
const TRIED_BYTES = 65_536;

const TEXTS = new Set([
  ...["application/json", "application/ld+json", "application/x-ndjson", "application/jsonl"],
  ...["application/xml", "application/yaml", "application/x-yaml", "application/toml"],
  ...["application/javascript", "application/x-javascript", "application/sql"],
]);

/** A header could say anything to a model: only what stands here is told of it. */
const UNREADABLE: readonly [start: string, what: string][] = [
  ["application/pdf", "a PDF file"],
  ["image/", "an image"],
  ["audio/", "a sound"],
  ["video/", "a film"],
  ["font/", "a font"],
  ["multipart/", "a message of several parts"],
  ["application/zip", "an archive"],
  ["application/gzip", "an archive"],
  ["application/vnd.openxmlformats", "an office document"],
  ["application/vnd.oasis", "an office document"],
  ["application/msword", "an office document"],
];

/** What the headers say: `content-type` and `content-encoding`, or "". */
export interface ContentHeaders {
  type: string;
  coding: string;
}

/** Judges by `content-type`; a reply without one is judged by how it begins. */
export function detectContent({ type, coding }: ContentHeaders, body: Uint8Array): Content {
  if (!["", "identity"].includes(coding.trim().toLowerCase())) {
    return { kind: "unreadable", what: "compressed, although that was not asked for" };
  }
  const media = type.split(";", 1)[0]!.trim().toLowerCase();
  const start = Buffer.from(body.subarray(0, SNIFFED_BYTES)).toString("latin1");
  const kind = kindOf(media, start);
  if (kind === null) return { kind: "unreadable", what: describe(media) };
  const encoding = readEncoding(type, start, body);
  // No text of any other encoding has it; a picture with the wrong name soon does.
  if (!encoding.startsWith("utf-16") && start.includes("\0")) {
    return { kind: "unreadable", what: "no text" };
  }
  return { kind, encoding };
}

function kindOf(media: string, start: string): "html" | "xhtml" | "text" | null {
  if (media === "text/html") return "html";
  if (media === "application/xhtml+xml") return "xhtml";
  if (media === "")
    return /^\s{0,99}<(?:!doctype|html|head|body|!--)/i.test(start) ? "html" : "text";
  if (media.startsWith("text/") || TEXTS.has(media)) return "text";
  if (media.startsWith("application/") && /\+(?:json|xml)$/.test(media)) return "text";
  return null;
}

function describe(media: string): string {
  return UNREADABLE.find(([start]) => media.startsWith(start))?.[1] ?? "no page and no text";
}

/** The mark at the beginning, then the header, then what the document says; else what fits. */
function readEncoding(type: string, start: string, body: Uint8Array): string {
  if (start.startsWith("\xef\xbb\xbf")) return "utf-8";
  if (start.startsWith("\xff\xfe")) return "utf-16le";
  if (start.startsWith("\xfe\xff")) return "utf-16be";
  const said = findLabel(/charset\s{0,9}=\s{0,9}["']?([\w:.+-]{1,40})/i, type);
  if (said !== null) return said;
  const written =
    findLabel(/<meta\s[^>]{0,400}?charset\s{0,9}=\s{0,9}["']?([\w:.+-]{1,40})/i, start) ??
    findLabel(/^<\?xml\s[^>]{0,99}?encoding\s{0,9}=\s{0,9}["']([\w:.+-]{1,40})/i, start);
  // Who could read that as single bytes did not write it in pairs.
  if (written !== null) return written.startsWith("utf-16") ? "utf-8" : written;
  return isUtf8(body) ? "utf-8" : "windows-1252";
}

/** The encoding's own name; null: none is named, or none that exists. */
function findLabel(pattern: RegExp, text: string): string | null {
  const label = pattern.exec(text)?.[1];
  if (label === undefined) return null;
  try {
    return new TextDecoder(label as Bun.Encoding).encoding;
  } catch {
    return null;
  }
}

function isUtf8(body: Uint8Array): boolean {
  const tried = body.subarray(0, TRIED_BYTES);
  try {
    // Its last character may be cut.
    const stream = tried.length < body.length;
    new TextDecoder("utf-8", { fatal: true }).decode(tried, { stream });
    return true;
  } catch {
    return false;
  }
}
