// Bundles the console into two texts: the page with its script and style, and the Arabic table.
import { join } from "node:path";
import type { BunPlugin } from "bun";

/** Texts of the files that a browser loads. */
export interface ConsoleFiles {
  page: string;
  arabic: string;
}

const client = join(import.meta.dir, "client");
const LINK = /<link rel="stylesheet" href="(.*?)">\n?/g;

const read = (path: string) => Bun.file(join(client, path)).text();

export async function bundleConsole(): Promise<ConsoleFiles> {
  const shorten = await createShortener();
  const arabic = await bundle("texts/arabic/table.ts", shorten, { format: "iife" });
  const source = await read("index.html");
  const sheets = [...source.matchAll(LINK)].map(([, href]) => read(href!));
  const style = shortenStyle((await Promise.all(sheets)).join(""));
  const page = await bundle("index.html", shorten, {
    // Bun would write lists of languages for logical properties, which then ignore `dir`.
    files: { [join(client, "index.html")]: source.replace(LINK, "") },
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

type Shortener = (source: string) => string;

async function bundle(
  path: string,
  shorten: Shortener,
  options: Partial<Bun.BuildConfig>,
): Promise<string> {
  const { outputs } = await Bun.build({
    ...{ entrypoints: [join(client, path)], target: "browser", minify: true },
    plugins: [smallSources(shorten)],
    ...options,
  } as Bun.BuildConfig);
  return outputs[0]!.text();
}

/** The classic form of JSX is shorter: children are arguments, and elements are one function. */
const CLASSIC_JSX = `/** @jsxRuntime classic @jsx createVNode @jsxFrag VNodes */
import { h as createVNode, Fragment as VNodes } from "preact";
`;

const smallSources = (shorten: Shortener): BunPlugin => ({
  name: "small sources",
  setup: (builder) => {
    builder.onLoad({ filter: /console[\\/]client[\\/].*\.tsx?$/ }, async ({ path }) => {
      const source = shorten(await Bun.file(path).text());
      return path.endsWith("x")
        ? { contents: CLASSIC_JSX + source, loader: "tsx" }
        : { contents: source, loader: "ts" };
    });
  },
});

/**
 * Ids of texts are words in the source and numbers in the page. Those that the source composes,
 * such as `models.act.${verb}`, stay.
 */
async function createShortener(): Promise<Shortener> {
  const paths = [...new Bun.Glob("**/*.{ts,tsx}").scanSync({ cwd: client, absolute: true })];
  const sources = await Promise.all(paths.toSorted().map((path) => Bun.file(path).text()));
  const all = sources.join("\n");
  const composed = [...all.matchAll(/`([a-z_]+\.[a-z_.]*)\$\{[^`}]*\}([a-z_.]*)`/g)];
  const isComposed = (id: string) =>
    composed.some(([, before, after]) => id.startsWith(before!) && id.endsWith(after!));
  const ids = [...all.matchAll(/^ {2}"([a-z_]+\.[\w.]+)":/gm)].map(([, id]) => id!);
  const short = new Map(
    [...new Set(ids)]
      .filter((id) => !isComposed(id))
      .map((id, at) => [`"${id}"`, `"${at.toString(36)}"`]),
  );
  return (source) => source.replace(/"[a-z_]+\.[\w.]+"/g, (id) => short.get(id) ?? id);
}

/** Writes the digest that policies and `integrity` name. */
export const hashSource = (text: string): string =>
  `sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}`;

/** Leaves out comments and spaces, except those in strings. */
function shortenStyle(css: string): string {
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
