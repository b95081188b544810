// Reads a page in a test, as if a server had sent it.
import { type PageText, readPage } from "../../../../src/agents/tools/page/page-text.ts";

interface Sent {
  type?: string | null;
  headers?: Record<string, string>;
  url?: string;
  isWhole?: boolean;
}

export function read(body: string | Uint8Array, sent: Sent = {}): Promise<PageText> {
  const { type = "text/html; charset=utf-8", url = "https://camels.example.com/wiki/page" } = sent;
  const headers = new Headers(sent.headers);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const coding = headers.get("content-encoding") ?? "";
  const reply = { url, type: type ?? headers.get("content-type") ?? "", coding, body: bytes };
  return readPage({ ...reply, isWhole: sent.isWhole ?? false });
}

/** The text of a readable page. */
export async function readText(body: string | Uint8Array, sent: Sent = {}): Promise<string> {
  const page = await read(body, sent);
  if (!page.ok) throw new Error(page.problem);
  return page.text;
}
