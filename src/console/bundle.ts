// Bundles the console into three texts: the page with its first script and its style, the script of
// later pages, and the Arabic table.
import { join } from "node:path";
import type { BunPlugin } from "bun";
import { type ConsoleFiles, hashSource } from "./packed-files.ts";
import { createShortener, type Shortener } from "./short-texts.ts";

const client = join(import.meta.dir, "client");
const LINK = /<link rel="stylesheet" href="(.*?)">\n?/g;

const read = (path: string) => Bun.file(join(client, path)).text();

export async function bundleConsole(): Promise<ConsoleFiles> {
  const shorten = await createShortener(client);
  const arabic = await bundle("texts/arabic/table.ts", shorten, { format: "iife" });
  const [first, later] = await bundleScripts(shorten, arabic);
  const source = await read("index.html");
  const sheets = [...source.matchAll(LINK)].map(([, href]) => read(href!));
  const style = shortenStyle((await Promise.all(sheets)).join(""));
  const page = source
    .replace(LINK, "")
    // Functions: texts of a replacement have signs of their own.
    .replace("</head>", () => `<style>${style}</style></head>`)
    .replace(/<script .*<\/script>/, () => `<script>${first}</script>`);
  return { page, later, arabic };
}

const BOTH = "scripts.js";
const CUT = "cut.js";
/** Modules that are alike stand side by side, because gzip looks back for 32 KB only. */
const ORDER = [
  ...["main.tsx", CUT, "texts/later.ts"],
  ...["agents/list.tsx", "agents/agent.tsx", "triggers/list.tsx", "triggers/trigger.tsx"],
  ...["webhooks/list.tsx", "webhooks/endpoint.tsx", "mcp/list.tsx", "mcp/server.tsx"],
  ...["keys/keys.tsx", "playground/playground.tsx", "later.ts"],
];

/**
 * Both scripts are one bundle, cut in two. Classic scripts of a page share their top-level names,
 * so the second uses modules of the first.
 */
async function bundleScripts(shorten: Shortener, arabic: string): Promise<[string, string]> {
  const both = await bundle(BOTH, shorten, {
    files: {
      [join(client, BOTH)]: ORDER.map((path) => `import "./${path}";`).join(""),
      [join(client, CUT)]: "cutHere();",
    },
    define: {
      "process.env.NODE_ENV": '"production"',
      ARABIC_INTEGRITY: JSON.stringify(hashSource(arabic)),
      LATER_INTEGRITY: '"LATER_INTEGRITY"',
    },
  });
  const strict = both.replaceAll("</script", "<\\/script").split("cutHere();");
  if (strict.length !== 2) throw new Error("The scripts of the console could not be told apart.");
  const [first, later] = strict.map((script) => `"use strict";${script.trim()}`);
  return [first!.replace("LATER_INTEGRITY", hashSource(later!)), later!];
}

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
