// The kind of content and the character encoding of a reply, by its headers and first bytes.

export type Content =
  | { kind: "html" | "xhtml" | "text"; encoding: string }
  /** `description` is in our words: a header could say anything to a model. */
  | { kind: "unreadable"; description: string };

const SNIFFED_BYTES = 2_048;
const TRIED_BYTES = 65_536;

const TEXT_TYPES = new Set(
  (
    "json ld+json jsonl ndjson x-ndjson json-seq json5 xml xml-dtd yaml x-yaml toml javascript " +
    "ecmascript x-javascript graphql sql x-www-form-urlencoded x-sh"
  )
    .split(" ")
    .map((name) => `application/${name}`),
);

const UNREADABLE: readonly [start: string, description: string][] = [
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

/** Empty texts where a header is missing. */
export interface ContentHeaders {
  type: string;
  coding: string;
}

/** Goes by `content-type`, or by the first bytes of a reply without one. */
export function detectContent({ type, coding }: ContentHeaders, body: Uint8Array): Content {
  if (isCompressed(coding)) {
    return { kind: "unreadable", description: "compressed, although that was not asked for" };
  }
  const media = readMediaType(type);
  const start = Buffer.from(body.subarray(0, SNIFFED_BYTES)).toString("latin1");
  const unreadable = UNREADABLE.find(([prefix]) => media.startsWith(prefix));
  const kind = unreadable ? null : detectKind(media, start);
  if (kind === null) {
    return { kind: "unreadable", description: unreadable?.[1] ?? "no page and no text" };
  }
  const encoding = detectEncoding(type, start, body);
  // Text of other encodings has no zero bytes, and a mislabelled picture soon does.
  if (!encoding.startsWith("utf-16") && start.includes("\0")) {
    return { kind: "unreadable", description: "no text" };
  }
  return { kind, encoding };
}

/** Compressed replies are not unpacked, since a small one could become huge. */
export function isCompressed(coding: string): boolean {
  return !["", "identity"].includes(coding.trim().toLowerCase());
}

export function readMediaType(contentType: string): string {
  return contentType.split(";", 1)[0]!.trim().toLowerCase();
}

export function isTextType(media: string): boolean {
  return media.startsWith("text/") || /\+(?:json|xml|yaml)$/.test(media) || TEXT_TYPES.has(media);
}

function detectKind(media: string, start: string): "html" | "xhtml" | "text" | null {
  if (media === "text/html") return "html";
  if (media === "application/xhtml+xml") return "xhtml";
  if (media === "") {
    return /^\s{0,99}<(?:!doctype|html|head|body|!--)/i.test(start) ? "html" : "text";
  }
  return isTextType(media) ? "text" : null;
}

/** The byte order mark decides, then the header, then the document, then the bytes. */
function detectEncoding(type: string, start: string, body: Uint8Array): string {
  if (start.startsWith("\xef\xbb\xbf")) return "utf-8";
  if (start.startsWith("\xff\xfe")) return "utf-16le";
  if (start.startsWith("\xfe\xff")) return "utf-16be";
  const header = readCharset(type);
  if (header !== null) return header;
  const document =
    findEncoding(/<meta\s[^>]{0,400}?charset\s{0,9}=\s{0,9}["']?([\w:.+-]{1,40})/i, start) ??
    findEncoding(/^<\?xml\s[^>]{0,99}?encoding\s{0,9}=\s{0,9}["']([\w:.+-]{1,40})/i, start);
  // A label that was read as single bytes was not written in UTF-16.
  if (document !== null) return document.startsWith("utf-16") ? "utf-8" : document;
  const tried = body.subarray(0, TRIED_BYTES);
  return isUtf8(tried, tried.length < body.length) ? "utf-8" : "windows-1252";
}

export function readCharset(contentType: string): string | null {
  return findEncoding(/charset\s{0,9}=\s{0,9}["']?([\w:.+-]{1,40})/i, contentType);
}

function findEncoding(pattern: RegExp, text: string): string | null {
  const label = pattern.exec(text)?.[1];
  if (label === undefined) return null;
  try {
    return new TextDecoder(label as Bun.Encoding).encoding;
  } catch {
    return null;
  }
}

/** A cut body may end inside a character. */
export function isUtf8(body: Uint8Array, isCut: boolean): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: isCut });
    return true;
  } catch {
    return false;
  }
}
