// Where a link of a page leads, if it leads to something that can be read.
import { URL_CHARACTERS_MAX } from "../../../net/index.ts";

export function isWeb({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

/** null: it leads nowhere else that could be read: a script, an address for mail, the same page. */
export function resolveLink(href: string | undefined, base: string): string | null {
  const text = href?.trim() ?? "";
  if (text === "" || text.startsWith("#") || text.length > URL_CHARACTERS_MAX) return null;
  const url = URL.parse(text, base);
  if (url === null || !isWeb(url)) return null;
  // It is the reader's, and is never sent.
  url.hash = "";
  return url.href.length <= URL_CHARACTERS_MAX ? url.href : null;
}
