// Serves the documentation as HTML: an index, a page for each topic and API, and one stylesheet.
import type { StaticPage } from "../http/index.ts";
import { apiError } from "../platform/errors.ts";
import { unpackText } from "../platform/packed.ts";
import { type ApiDocument, writeApi } from "./api.ts";
import style from "./style.css" with { type: "file" };
import { type DocsTopic, listTopics, type References, TOPIC_GROUPS } from "./topics.ts";

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
  /** The console is at this address, too. */
  hasConsole(): boolean;
  /** OpenAPI documents of the public API and of the operators' one. */
  readApi(): Promise<object>;
  readOperatorApi(): Promise<object>;
}

interface DocsPage extends Pick<DocsTopic, "name" | "summary" | "group"> {
  writeBody(): Promise<string>;
}

export function createDocsPages(options: DocsOptions): StaticPage[] {
  const pages = listPages(options);
  const answers = new Map(
    pages.map(({ name, writeBody }) => [name, keep("text/html", () => writePage(name, writeBody))]),
  );
  const writePage = async (name: string, writeBody: DocsPage["writeBody"]) => {
    const body = await writeBody();
    return writeHtml({ title: `${titleOf(name)} · Wadi`, body, nav: writeNav(pages, name) });
  };
  return [
    { path: "/", answer: (request) => answerRoot(request, options) },
    { path: "/docs", answer: keep("text/html", async () => writeIndex(pages)) },
    {
      path: "/docs/style.css",
      answer: keep("text/css", async () => unpackText(await Bun.file(style).bytes())),
    },
    {
      path: "/docs/:topic",
      answer({ url }) {
        const answer = answers.get(new URL(url).pathname.slice("/docs/".length));
        if (!answer) throw apiError("not_found");
        return answer();
      },
    },
  ];
}

function listPages(options: DocsOptions): DocsPage[] {
  const api = (name: string, summary: string, source: string, read: () => Promise<object>) => {
    const writeBody = async () => writeApi((await read()) as ApiDocument, source, { inline });
    return { name, summary, group: "Reference", writeBody } as const;
  };
  const changes: DocsTopic = {
    ...{ name: "changes", summary: "what is deprecated, and until when it works" },
    group: "Reference",
    read: async () => options.writeChanges(),
  };
  const topics = [...listTopics(options), changes].map(
    (topic): DocsPage => ({ ...topic, writeBody: () => writeTopic(topic) }),
  );
  return [
    ...topics,
    api("api", "every operation for callers, with fields and errors", "/openapi.json", () =>
      options.readApi(),
    ),
    api(
      "operator-api",
      "every operation for operators, each a verb of the command line",
      "/operator/openapi.json",
      () => options.readOperatorApi(),
    ),
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

const CONSOLE = `<dt>Web console</dt><dd><a href="/console/">/console/</a></dd>
`;

/** Shows a start page to browsers; clients that don't ask for HTML get the usual 404. */
function answerRoot(request: Request, { version, publicUrl, hasConsole }: DocsOptions): Response {
  if (!request.headers.get("accept")?.includes("text/html")) throw apiError("not_found");
  const address = publicUrl().replace(/\/$/, "") || new URL(request.url).origin;
  const body = `<h1>Wadi ${Bun.escapeHTML(version)}</h1>
<p>This server serves language models and runs agents durably.</p>
<dl>
<dt>Base address of clients</dt><dd><code>${Bun.escapeHTML(address)}/v1</code></dd>
${hasConsole() ? CONSOLE : ""}<dt>Documentation</dt><dd><a href="/docs">/docs</a></dd>
<dt>OpenAPI 3.1.0 document</dt><dd><a href="/openapi.json">/openapi.json</a></dd>
</dl>
<p>New here? Begin with <a href="/docs/quickstart">the quickstart</a>. Requests need an API key;
the operator of this server creates keys with <code>wadi keys create</code>.</p>
`;
  const reply = respond(writeHtml({ title: "Wadi", body, nav: "" }), "text/html", "no-store");
  reply.headers.set("vary", "Accept");
  return reply;
}

function writeIndex(pages: readonly DocsPage[]): string {
  const groups = TOPIC_GROUPS.map((group) => {
    const rows = pages
      .filter((page) => page.group === group)
      .map(({ name, summary }) => {
        return `<dt><a href="/docs/${name}">${titleOf(name)}</a></dt><dd>${inline(summary)}</dd>`;
      });
    return `<h2>${group}</h2>\n<dl class="index">\n${rows.join("\n")}\n</dl>`;
  });
  const body = `<h1>Documentation</h1>
<p>The same topics are printed by <code>wadi help TOPIC</code>. The API is also an
<a href="/openapi.json">OpenAPI 3.1.0 document</a>.</p>
${groups.join("\n")}
`;
  return writeHtml({ title: "Wadi documentation", body, nav: writeNav(pages, "") });
}

/** Names that do not become titles by a capital letter. */
const TITLES: Readonly<Record<string, string>> = {
  api: "API",
  cli: "Command line",
  "operator-api": "Operator API",
};

function titleOf(name: string): string {
  return TITLES[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
}

function writeNav(pages: readonly DocsPage[], current: string): string {
  const groups = TOPIC_GROUPS.map((group) => {
    const items = pages
      .filter((page) => page.group === group)
      .map(({ name }) => {
        const mark = name === current ? ' aria-current="page"' : "";
        return `<li><a href="/docs/${name}"${mark}>${titleOf(name)}</a></li>`;
      });
    return `<h2>${group}</h2><ul>${items.join("")}</ul>`;
  });
  return `<nav aria-label="Topics">${groups.join("\n")}</nav>`;
}

async function writeTopic(topic: DocsTopic): Promise<string> {
  const html = scrollable(Bun.markdown.html(await topic.read(), MARKDOWN));
  return topic.name === "errors" ? anchorCodes(html) : html;
}

/** Gives each error code an address of its own, such as `/docs/errors#model_offline`. */
function anchorCodes(html: string): string {
  return html.replaceAll(
    /<tr><td><code>(\w+)<\/code>/g,
    '<tr id="$1"><td><a href="#$1"><code>$1</code></a>',
  );
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
  /** The sidebar as HTML; empty: none. */
  nav: string;
}

/** The mark of the console's sidebar. */
const MARK =
  '<svg width="18" height="18" viewBox="0 0 18 18" fill="none" stroke="currentColor" ' +
  'stroke-width="1.9" stroke-linecap="round" aria-hidden="true">' +
  '<path d="M2 4.5c3.2 0 3.2 9 7 9s3.8-9 7-9"/>' +
  '<path d="M6.7 4.5c1 0 1 3.6 2.3 3.6s1.3-3.6 2.3-3.6" opacity=".55"/></svg>';

function writeHtml({ title, body, nav }: HtmlPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${Bun.escapeHTML(title)}</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header><a class="brand" href="/">${MARK}Wadi</a> <a href="/docs">Documentation</a></header>
${nav}<main>
${body}</main>
</body>
</html>
`;
}
