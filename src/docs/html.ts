// The HTML document around each page of the documentation.

export interface HtmlPage {
  title: string;
  /** HTML, escaped already. */
  body: string;
  /** The topics beside the page; none: the page has no sidebar. */
  links: readonly { name: string; href: string; isCurrent: boolean }[];
}

export function writeHtml({ title, body, links }: HtmlPage): string {
  const items = links.map(({ name, href, isCurrent }) => {
    return `<li><a href="${href}"${isCurrent ? ' aria-current="page"' : ""}>${name}</a></li>`;
  });
  const nav = items.length === 0 ? "" : `<nav aria-label="Topics"><ul>${items.join("")}</ul></nav>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
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

export function escapeHtml(text: string): string {
  return Bun.escapeHTML(text);
}
