// Serves the documentation as HTML: an index, a page for each topic and one stylesheet.
import type { StaticPage } from "../http/index.ts";
import { apiError } from "../platform/errors.ts";
import style from "./style.css" with { type: "file" };
import { listTopics, type References, type Topic } from "./topics.ts";

/** Policy that allows this server's stylesheet only: no script, frame, image or form. */
const SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";
/** Options by which HTML inside a text is shown as text. */
const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true };
/** Time in seconds for which browsers keep a page; an upgrade may change it. */
const MAX_AGE_S = 300;

export interface DocsOptions extends References {
  version: string;
  /** Writes the deprecated parts of this server's API as Markdown. */
  writeChanges(): string;
  publicUrl(): string;
}

export function createDocsPages(options: DocsOptions): StaticPage[] {
  const topics = [
    ...listTopics(options),
    {
      name: "changes",
      summary: "what is deprecated, and until when it works",
      read: async () => options.writeChanges(),
    },
  ];
  return [
    { path: "/", answer: (request) => answerRoot(request, options) },
    { path: "/docs", answer: keep("text/html", async () => writeIndex(topics)) },
    { path: "/docs/style.css", answer: keep("text/css", () => Bun.file(style).text()) },
    ...topics.map((topic) => ({
      path: `/docs/${topic.name}`,
      answer: keep("text/html", () => writeTopic(topic, topics)),
    })),
  ];
}

/** Renders at the first request and keeps the bytes: later requests cost no rendering. */
function keep(type: "text/html" | "text/css", write: () => Promise<string>) {
  let written: Promise<Uint8Array<ArrayBuffer>> | undefined;
  return async () => {
    written ??= write().then((text) => new TextEncoder().encode(text));
    return respond(await written, type, `public, max-age=${MAX_AGE_S}`);
  };
}

/** Shows a start page to browsers; clients that don't ask for HTML get the usual 404. */
function answerRoot(request: Request, { version, publicUrl }: DocsOptions): Response {
  if (!request.headers.get("accept")?.includes("text/html")) throw apiError("not_found");
  const address = publicUrl().replace(/\/$/, "") || new URL(request.url).origin;
  const body = `<h1>Wadi ${Bun.escapeHTML(version)}</h1>
<p>This server serves language models and runs agents durably.</p>
<dl>
<dt>Base address of clients</dt><dd><code>${Bun.escapeHTML(address)}/v1</code></dd>
<dt>Documentation</dt><dd><a href="/docs">/docs</a></dd>
<dt>OpenAPI 3.1.0 document</dt><dd><a href="/openapi.json">/openapi.json</a></dd>
</dl>
<p>New here? Begin with <a href="/docs/quickstart">the quickstart</a>. Requests need an API key;
the operator of this server creates keys with <code>wadi keys create</code>.</p>
`;
  const reply = respond(writeHtml({ title: "Wadi", body, links: [] }), "text/html", "no-store");
  reply.headers.set("vary", "Accept");
  return reply;
}

function writeIndex(topics: readonly Topic[]): string {
  const rows = topics.map(({ name, summary }) => {
    return `<dt><a href="/docs/${name}">${name}</a></dt><dd>${inline(summary)}</dd>`;
  });
  const body = `<h1>Documentation</h1>
<p>The same pages are printed by <code>wadi help TOPIC</code>.</p>
<dl>
${rows.join("\n")}
<dt><a href="/openapi.json">openapi.json</a></dt><dd>the API as an OpenAPI 3.1.0 document</dd>
</dl>
`;
  return writeHtml({ title: "Wadi documentation", body, links: [] });
}

async function writeTopic(topic: Topic, topics: readonly Topic[]): Promise<string> {
  const text = await topic.read();
  const body = Bun.markdown.html(text, MARKDOWN);
  const links: HtmlPage["links"] = topics.map(({ name }) => {
    return { name, href: `/docs/${name}`, isCurrent: name === topic.name };
  });
  return writeHtml({ title: `Wadi: ${topic.name}`, body: scrollable(body), links });
}

/** Lets a wide table scroll by itself, so that the page never does. */
function scrollable(html: string): string {
  return html
    .replaceAll("<table>", '<div class="scroll" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
}

function inline(markdown: string): string {
  return Bun.markdown.html(markdown, MARKDOWN).replace(/^<p>|<\/p>\s*$/g, "");
}

function respond(
  body: string | Uint8Array<ArrayBuffer>,
  type: "text/html" | "text/css",
  cache: string,
) {
  return new Response(body, {
    headers: {
      "content-type": `${type}; charset=utf-8`,
      "cache-control": cache,
      "content-security-policy": SECURITY_POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}

export interface HtmlPage {
  title: string;
  /** HTML, escaped already. */
  body: string;
  /** Links of the sidebar, which is left out without any. */
  links: readonly { name: string; href: string; isCurrent: boolean }[];
}

function writeHtml({ title, body, links }: HtmlPage): string {
  const items = links.map(({ name, href, isCurrent }) => {
    return `<li><a href="${href}"${isCurrent ? ' aria-current="page"' : ""}>${name}</a></li>`;
  });
  const nav = items.length === 0 ? "" : `<nav aria-label="Topics"><ul>${items.join("")}</ul></nav>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)}</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header><a class="brand" href="/">Wadi</a> <a href="/docs">Documentation</a></header>
${nav}<main>
${body}</main>
</body>
</html>
`;
}
