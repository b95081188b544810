// Writes the npm package of the TypeScript client: types, methods and the hand-written client.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../build.ts";
import { run } from "../release/run.ts";
import { FOLLOWED, listOperations, type OpenApiDocument, type Operation } from "./document.ts";

const NAME = "@wadi/client";
const { version, license } = manifest;

const packageManifest = {
  ...{ name: NAME, version, license, description: "Client of Wadi's API" },
  type: "module",
  exports: { ".": { types: "./client.d.ts", default: "./client.js" } },
  files: ["*.js", "*.d.ts"],
  sideEffects: false,
  engines: { node: ">=20" },
};

/** Writes the package's folder. */
export const writeTypescriptPackage = async (
  folder: string,
  document: OpenApiDocument,
): Promise<void> => {
  const sources = join(folder, "sources");
  mkdirSync(sources, { recursive: true });
  const types = await writeTypes(document);
  const client = await Bun.file(join(import.meta.dir, "typescript/client.ts")).text();
  const files = {
    "package.json": `${JSON.stringify(packageManifest, null, 2)}\n`,
    "README.md": await Bun.file(join(import.meta.dir, "typescript/README.md")).text(),
    LICENSE: await Bun.file(join(root, "LICENSE")).text(),
    "api.d.ts": types,
    "sources/api.d.ts": types,
    "sources/client.ts": client,
    "sources/operations.ts": writeOperations(listOperations(document)),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  await compile(folder, sources);
  rmSync(sources, { recursive: true });
};

/** Packs a written package into the folder above it. */
export const packTypescript = (folder: string): Promise<void> =>
  run(["npm", "pack", "--pack-destination", join(folder, "..")], { cwd: folder });

const writeTypes = async (document: OpenApiDocument): Promise<string> => {
  // The generator needs the API of an older compiler than the one that checks the client.
  Bun.plugin({
    name: "older compiler",
    setup: (builder) => {
      builder.module("typescript", async () => {
        const { default: compiler } = await import("typescript-5");
        return { exports: { default: compiler }, loader: "object" };
      });
    },
  });
  const { default: generate, astToString } = await import("openapi-typescript");
  return astToString(await generate(JSON.stringify(document)));
};

/** The table that the client reads, and the methods that it gives. */
const writeOperations = (operations: readonly Operation[]): string => {
  const methods = operations.filter(({ name }) => name !== FOLLOWED).flatMap(writeMethods);
  const entries = operations.map(({ name, method, path, isRepeatable, hasIdempotencyKey }) => {
    const entry = { method, path, isRepeatable, hasIdempotencyKey };
    return `  ${name}: ${JSON.stringify(entry)},`;
  });
  const followed = operations.find(({ name }) => name === FOLLOWED)!;
  return `// Written by \`bun run clients\` from the OpenAPI document.
import type { operations as Operations } from "./api.js";
import type { CallOptions } from "./client.js";

export interface OperationEntry {
  method: string;
  path: string;
  /** Whether it can be sent twice without being done twice. */
  isRepeatable: boolean;
  hasIdempotencyKey: boolean;
}

export const OPERATIONS = {
${entries.join("\n")}
} satisfies Record<string, OperationEntry>;

export type Followed = ${writeInput(followed)};

export interface Methods {
${methods.join("\n")}
}
`;
};

const writeMethods = (operation: Operation): string[] => {
  const { name, summary, inPath, query, body, frame, reply } = operation;
  const isNeeded =
    inPath.length > 0 || body?.isRequired || query.some(({ isRequired }) => isRequired);
  const args = `(input${isNeeded ? "" : "?"}: ${writeInput(operation)}, options?: CallOptions)`;
  const comment = `  /** ${summary}. */\n`;
  const content = (type: string) => {
    const replies = `Operations["${name}"]["responses"]`;
    const success = `${replies}[keyof ${replies} & (200 | 201 | 202)]`;
    return `${success}["content"]["${type}"]`;
  };
  const json = reply ? content("application/json") : "undefined";
  const methods = [`${comment}  ${name}${args}: Promise<${json}>;`];
  if (frame) {
    const frames = content("text/event-stream");
    methods.push(`${comment}  ${name}Stream${args}: AsyncGenerator<${frames}>;`);
  }
  return methods;
};

/** Parameters of the path and the query side by side, and `body`. */
const writeInput = ({ name, inPath, query, body }: Operation): string => {
  const own = `Operations["${name}"]`;
  const parts = [
    inPath.length > 0 && `${own}["parameters"]["path"]`,
    query.length > 0 && `NonNullable<${own}["parameters"]["query"]>`,
    body &&
      `{ body${body.isRequired ? "" : "?"}: ` +
        `NonNullable<${own}["requestBody"]>["content"]["application/json"] }`,
  ];
  return parts.filter(Boolean).join(" & ") || "Record<never, never>";
};

const OPTIONS = [
  ...["--ignoreConfig", "--strict", "--declaration", "--types", "", "--target", "es2022"],
  ...["--module", "nodenext", "--lib", "es2022,dom,dom.iterable,dom.asynciterable"],
];

/** Throws the compiler's errors. */
const compile = async (folder: string, sources: string): Promise<void> => {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const file = join(sources, "client.ts");
  await run([process.execPath, compiler, ...OPTIONS, "--outDir", folder, file], {
    env: { BUN_BE_BUN: "1" },
  });
};
