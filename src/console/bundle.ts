// Bundles the console into two texts: the page with its script and style, and the Arabic table.
import { join } from "node:path";

/** Texts of the files that a browser loads. */
export interface ConsoleFiles {
  page: string;
  arabic: string;
}

const LINK = /<link rel="stylesheet" href="(.*?)">\n?/g;

const inClient = (path: string) => join(import.meta.dir, "client", path);
const read = (path: string) => Bun.file(inClient(path)).text();

export async function bundleConsole(): Promise<ConsoleFiles> {
  const arabic = await bundle("texts/arabic/table.ts", { format: "iife" });
  const source = await read("index.html");
  const sheets = [...source.matchAll(LINK)].map(([, href]) => read(href!));
  const style = shorten((await Promise.all(sheets)).join(""));
  const page = await bundle("index.html", {
    // Bun would write lists of languages for logical properties, which then ignore `dir`.
    files: { [inClient("index.html")]: source.replace(LINK, "") },
    // One text, so that one request shows everything.
    compile: true,
    define: {
      "process.env.NODE_ENV": '"production"',
      ARABIC_INTEGRITY: JSON.stringify(hashSource(arabic)),
    },
  });
  // A function: texts of a replacement have signs of their own.
  return { page: page.replace("</head>", () => `<style>${style}</style></head>`), arabic };
}

async function bundle(path: string, options: Partial<Bun.BuildConfig>): Promise<string> {
  const entrypoints = [inClient(path)];
  const build = { entrypoints, target: "browser", minify: true, ...options } as Bun.BuildConfig;
  const { outputs } = await Bun.build(build);
  return outputs[0]!.text();
}

/** Writes the digest that policies and `integrity` name. */
export const hashSource = (text: string): string =>
  `sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}`;

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
