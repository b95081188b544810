// Bundles the console's page with its script and its style into one HTML text.
import { join } from "node:path";

const CLIENT = join(import.meta.dir, "client");
const LINK = /<link rel="stylesheet" href="(.*?)">\n?/g;

export async function bundleConsole(): Promise<string> {
  const page = join(CLIENT, "index.html");
  const source = await Bun.file(page).text();
  const sheets = [...source.matchAll(LINK)].map(([, href]) => Bun.file(join(CLIENT, href!)).text());
  const style = shorten((await Promise.all(sheets)).join(""));
  const { outputs } = await Bun.build({
    entrypoints: [page],
    // Bun would write lists of languages for logical properties, which then ignore `dir`.
    files: { [page]: source.replace(LINK, "") },
    target: "browser",
    // One text, so that one request shows everything.
    compile: true,
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  // A function: texts of a replacement have signs of their own.
  return (await outputs[0]!.text()).replace("</head>", () => `<style>${style}</style></head>`);
}

/** Leaves out comments and spaces, except those in strings. */
function shorten(css: string): string {
  return css
    .split(/("[^"]*")/)
    .map((part, at) => (at % 2 === 1 ? part : shortenRules(part)))
    .join("");
}

const shortenRules = (css: string) =>
  css
    .replaceAll(/\/\*.*?\*\//gs, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([{};,>~]) ?/g, "$1")
    .replaceAll(": ", ":")
    .replaceAll(";}", "}");
