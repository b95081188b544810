// Makes the parts of the executable small that are not code of ours: token ranks, texts, the
// console's files, and libraries.
import { basename } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { BunPlugin } from "bun";
import { type ConsoleFiles, packFiles } from "../src/console/index.ts";
import type { Migration } from "../src/database/migrations/migration.ts";

/** For ranks: a few percent smaller than zstd, whose unpacking needs no library of its own. */
const BEST = {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  },
};

/** Packs the ranks for src/models/bundled-tokenizer/count.ts, from 3.6 MB into 0.7. */
export const packedRanks: BunPlugin = {
  name: "packed ranks",
  setup: (builder) => {
    builder.onLoad({ filter: /\.tiktoken$/ }, async ({ path }) => {
      const lines = (await Bun.file(path).text()).trim().split("\n");
      const tokens = lines.map((line) => atob(line.split(" ")[0]!));
      return { contents: brotliCompressSync(packRanks(tokens), BEST), loader: "file" };
    });
  },
};

const ZSTD_LEVEL_MAX = 22;
const pack = (content: string | Uint8Array) =>
  Bun.zstdCompressSync(content, { level: ZSTD_LEVEL_MAX });

const NONE = "undefined";
/** Can be called, and stands behind `instanceof`. */
const FINDS_NOTHING = "function () {}";

/** Parts of libraries without a use here: the names that are imported, and what stands for each. */
const UNUSED: readonly { path: string; names: string[]; value: string }[] = [
  // Normalizes replies, which no route has it do.
  { path: "node_modules/exact-mirror/", names: ["createMirror"], value: NONE },
  // Reads and writes cookies, for which no handler asks Elysia.
  {
    path: "node_modules/elysia/dist/cookies",
    names: ["Cookie", "createCookieJar", "parseCookie", "serializeCookie"],
    value: NONE,
  },
  // Serves routes that are not compiled.
  {
    path: "node_modules/elysia/dist/dynamic-handle",
    names: ["createDynamicErrorHandler", "createDynamicHandler"],
    value: NONE,
  },
  // Writes responses where there is no Bun.
  {
    path: "node_modules/elysia/dist/adapter/web-standard/handler",
    names: [
      ...["mapResponse", "mapEarlyResponse", "mapCompactResponse"],
      ...["createStaticHandler", "errorToResponse"],
    ],
    value: NONE,
  },
  // Compiles schemas of routes. Ours have none for Elysia: src/http/validation.ts checks them.
  {
    path: "node_modules/elysia/dist/schema",
    names: [
      ...["getSchemaValidator", "getResponseSchemaValidator", "getCookieValidator"],
      ...["getSchemaProperties", "mergeObjectSchemas", "resolveSchema", "unwrapImportSchema"],
      ...["hasAdditionalProperties", "hasElysiaMeta", "hasProperty", "hasRef", "hasTransform"],
      ...["hasType", "isOptional", "isUnion"],
    ],
    value: FINDS_NOTHING,
  },
  // Serves WebSockets.
  {
    path: "node_modules/elysia/dist/ws/index",
    names: ["ElysiaWS", "createHandleWSResponse", "createWSMessageParser", "websocket"],
    value: NONE,
  },
  // Makes values of a schema, and converts them by it: our schemas only check.
  {
    path: "node_modules/@sinclair/typebox/build/esm/value/create/create",
    names: ["Create", "ValueCreateError"],
    value: NONE,
  },
  {
    path: "node_modules/@sinclair/typebox/build/esm/value/transform/index",
    names: [
      ...["HasTransform", "TransformDecode", "TransformDecodeCheckError", "TransformDecodeError"],
      ...["TransformEncode", "TransformEncodeCheckError", "TransformEncodeError"],
    ],
    value: FINDS_NOTHING,
  },
];

export const unusedParts: BunPlugin = {
  name: "unused parts",
  setup: (builder) => {
    for (const { path, names, value } of UNUSED) {
      const contents = names.map((name) => `export const ${name} = ${value};`).join(" ");
      const filter = new RegExp(`${RegExp.escape(path)}.*js$`);
      builder.onLoad({ filter }, () => ({ contents, loader: "js" }));
    }
  },
};

/** Bytes of a rank in the packed file. */
const RANK_BYTES = 3;

/**
 * Each token but single bytes is a pair of earlier ones. The file holds the rank of the first part
 * of every token, then that of the second; a single byte stands as itself, with itself. Bytes of
 * one weight lie together, which compresses best.
 */
const packRanks = (tokens: readonly string[]): Buffer => {
  const ranks = new Map(tokens.map((token, rank) => [token, rank]));
  const pairs = tokens.map((token, rank) => findPair(token, rank, ranks));
  const packed = Buffer.alloc(2 * RANK_BYTES * tokens.length);
  for (const [at, pair] of pairs.entries()) {
    for (const [part, rank] of pair.entries()) {
      for (let byte = 0; byte < RANK_BYTES; byte++) {
        packed[(part * RANK_BYTES + byte) * tokens.length + at] = (rank >> (8 * byte)) & 255;
      }
    }
  }
  return packed;
};

const findPair = (token: string, rank: number, ranks: ReadonlyMap<string, number>) => {
  if (token.length === 1) return [token.charCodeAt(0), rank];
  let best: number[] | undefined;
  for (let cut = 1; cut < token.length; cut++) {
    const pair = [token.slice(0, cut), token.slice(cut)].map((part) => ranks.get(part) ?? rank);
    if (pair.some((one) => one >= rank)) continue;
    if (!best || pair[0]! * pair[1]! < best[0]! * best[1]!) best = pair;
  }
  if (!best) throw new Error(`the token of rank ${rank} is no pair of earlier ones`);
  return best;
};

/** Packs texts to half of their size; src/platform/packed.ts reads them. */
export const packedTexts: BunPlugin = {
  name: "packed texts",
  setup: (builder) => {
    const filter = /src\/(docs|admin\/grafana|database)\/[\w-]+\.(md|css|json|yml|sql)$/;
    builder.onLoad({ filter }, async ({ path }) => {
      // No text begins with a zero.
      const packed = pack(await Bun.file(path).bytes());
      return { contents: Buffer.concat([Buffer.of(0), packed]), loader: "file" };
    });
  },
};

/** Libraries of Bun that load others: together they cost a thread's start 12 ms. */
const LATE = ["node:crypto", "node:net", "node:os", "node:tty", "node:util", "node:zlib"];
const LATE_IMPORT = new RegExp(`^import \\{ ([\\w, ]+) \\} from "(${LATE.join("|")})";`, "gm");

/**
 * Our sources. Their functions of large libraries are found at the first call, and files of SQL
 * lose their indentation: only their statements are texts of several lines.
 */
export const sources: BunPlugin = {
  name: "sources",
  setup: (builder) => {
    const isSql = /src\/(database\/.*|.*\/store(\/[\w-]+)?)\.ts$/;
    builder.onLoad({ filter: /\/src\/(?!.*\/client\/).*\.ts$/ }, async ({ path }) => {
      const text = (await Bun.file(path).text()).replace(LATE_IMPORT, importLate);
      return { contents: isSql.test(path) ? text.replace(/\n +/g, "\n") : text, loader: "ts" };
    });
  },
};

const importLate = (statement: string, list: string, from: string): string => {
  const names = list.split(", ");
  const library = process.getBuiltinModule(from) as unknown as Record<string, unknown>;
  // Constants are needed when the file is loaded.
  if (names.some((name) => typeof library[name] !== "function")) return statement;
  const find = `process.getBuiltinModule(${JSON.stringify(from)})`;
  return names.map((name) => `const ${name} = (...of) => ${find}.${name}(...of);`).join(" ");
};

/**
 * Packs the statements of migrations, which a start of an up-to-date or a new SQLite database does
 * not need: they are evaluated when the first of them is asked for.
 */
export const packMigrations = async (entry: string): Promise<BunPlugin> => {
  const { released } = (await import(entry)) as { released: readonly Migration[] };
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    target: "node",
    format: "cjs",
    minify: true,
    plugins: [sources],
  });
  const code = await outputs[0]!.text();
  const contents = `
    import { readFileSync } from "node:fs";
    import file from "migrations.zst";
    let read;
    const readAll = () => {
      if (read) return read;
      const module = { exports: {} };
      const code = new TextDecoder().decode(Bun.zstdDecompressSync(readFileSync(file)));
      new Function("module", "exports", code)(module, module.exports);
      return (read = module.exports.released);
    };
    const heads = ${JSON.stringify(released)};
    export const released = heads.map((head, index) => {
      return { ...head, statements: (dialect) => readAll()[index].statements(dialect) };
    });
  `;
  const namespace = "packed-migrations";
  return {
    name: "packed migrations",
    setup: (builder) => {
      builder.onLoad({ filter: /migrations\/released\.ts$/ }, () => ({ contents, loader: "js" }));
      builder.onResolve({ filter: /^migrations\.zst$/ }, ({ path }) => ({ path, namespace }));
      builder.onLoad({ filter: /./, namespace }, () => {
        return { contents: pack(code), loader: "file" };
      });
    },
  };
};

/**
 * Puts the packed files of the console in the place of its page, and nothing in that of what bundles
 * them. They are bundled before, since a bundler inside a plugin of another waits for ever.
 */
export const packConsole = (files: ConsoleFiles): BunPlugin => ({
  name: "packed console",
  setup: (builder) => {
    builder.onLoad({ filter: /console\/client\/index\.html$/ }, () => {
      return { contents: packFiles(files), loader: "file" };
    });
    builder.onLoad({ filter: /console\/bundle\.ts$/ }, () => {
      return { contents: "export const bundleConsole = null;", loader: "ts" };
    });
  },
});

interface LibraryOptions {
  /** Names that it imports from packages of the executable. */
  shared?: Readonly<Record<string, string>>;
  /** Evaluated at the first use of an export, all of which are functions. */
  isLate?: boolean;
}

/**
 * Packs a library, whose code and bytecode would take ten times as much. Its module is evaluated
 * from the text that the executable holds.
 */
export const packLibrary = async (
  entry: string,
  { shared = {}, isLate = false }: LibraryOptions = {},
): Promise<BunPlugin> => {
  const name = basename(entry);
  const { outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync(entry, import.meta.dir)],
    target: "node",
    format: "cjs",
    minify: true,
    external: Object.keys(shared),
  });
  const code = await outputs[0]!.text();
  const packed = `${name}.zst`;
  const namespace = `packed-${name.replaceAll(".", "-")}`;
  const exported = Object.keys(await import(entry));
  const names = exported.filter((one) => one !== "default").join(", ");
  const hasDefault = exported.includes("default");
  const imports = Object.entries(shared).map(
    ([from, name]) => `import { ${name} } from ${JSON.stringify(from)};`,
  );
  const modules = Object.entries(shared).map(
    ([from, name]) => `${JSON.stringify(from)}: { ${name} }`,
  );
  const exportAll = exported
    .filter((one) => one !== "default")
    .map((one) => `export const ${one} = late(${JSON.stringify(one)});`);
  const contents = `
    import { readFileSync } from "node:fs";
    import file from ${JSON.stringify(packed)};
    ${imports.join(" ")}
    const shared = { ${modules.join(", ")} };
    let loaded;
    const load = () => {
      if (loaded) return loaded;
      const module = { exports: {} };
      const code = new TextDecoder().decode(Bun.zstdDecompressSync(readFileSync(file)));
      const run = new Function("module", "exports", "require", code);
      run(module, module.exports, (name) => shared[name] ?? process.getBuiltinModule(name));
      return (loaded = module.exports);
    };
    // Evaluated at the first use: what a start imports need not be used in it.
    const late = (name) => new Proxy(function () {}, {
      apply: (_, self, of) => load()[name](...of),
      construct: (_, of) => new (load()[name])(...of),
      get: (_, key) => load()[name][key],
    });
    ${isLate ? exportAll.join(" ") : `export const { ${names} } = load();`}
    ${hasDefault ? "export default load().default ?? load();" : ""}
  `;
  return {
    name: `packed ${name}`,
    setup: (builder) => {
      builder.onResolve(
        {
          filter: new RegExp(`^(${RegExp.escape(entry)}|(\\.{1,2}/([\\w-]+/)*)?${name}(\\.zst)?)$`),
        },
        ({ path }) => {
          return { path: basename(path), namespace };
        },
      );
      builder.onLoad({ filter: /./, namespace }, async ({ path }) => {
        if (path === name) return { contents, loader: "js" };
        return { contents: pack(code), loader: "file" };
      });
    },
  };
};
