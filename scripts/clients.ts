// Makes the client packages for TypeScript and Python in dist/clients, from the OpenAPI document
// that the executable prints. Nothing is published.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compile, executable, isStale, root } from "./build.ts";
import type { OpenApiDocument } from "./clients/document.ts";
import { packPython, WHEEL, writePythonPackage } from "./clients/python.ts";
import { packTypescript, writeTypescriptPackage } from "./clients/typescript.ts";

export const readDocument = (): OpenApiDocument => {
  const { success, stdout, stderr } = Bun.spawnSync([executable(), "openapi"]);
  if (!success) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
};

/** Writes both packages as folders `typescript` and `python`. */
export const writeClients = async (folder: string, document: OpenApiDocument): Promise<void> => {
  await writeTypescriptPackage(join(folder, "typescript"), document);
  await writePythonPackage(join(folder, "python"), document);
};

if (import.meta.main) {
  if (isStale()) await compile();
  const document = readDocument();
  const folder = join(root, "dist/clients");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await writeClients(folder, document);
  await packTypescript(join(folder, "typescript"));
  await packPython(join(folder, WHEEL), document);
  for (const name of new Bun.Glob("*.{tgz,whl}").scanSync(folder)) {
    console.log(
      `dist/clients/${name}: ${(Bun.file(join(folder, name)).size / 1000).toFixed(0)} KB`,
    );
  }
}
