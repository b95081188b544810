// Writes the Python package of the client: types, methods and the hand-written client, as a wheel.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../build.ts";
import { FOLLOWED, listOperations, type OpenApiDocument, type Operation } from "./document.ts";
import { isIdentifier, PythonTypes } from "./python-types.ts";
import { packZip } from "./zip.ts";

const MODULE = "wadi_client";
const { version, license } = manifest;
const INFO = `${MODULE}-${version}.dist-info`;
export const WHEEL = `${MODULE}-${version}-py3-none-any.whl`;

/** Writes the folder of the package. */
export const writePythonPackage = async (
  folder: string,
  document: OpenApiDocument,
): Promise<void> => {
  const files = await listFiles(document);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
};

/** Packs the package as a wheel, which `pip install` takes without a network. */
export const packPython = async (file: string, document: OpenApiDocument): Promise<void> => {
  const files = await listFiles(document);
  const record = Object.entries(files).map(([name, text]) => {
    const sum = new Bun.CryptoHasher("sha256").update(text).digest("base64url");
    return `${name},sha256=${sum},${Buffer.byteLength(text)}`;
  });
  const name = `${INFO}/RECORD`;
  const packed = packZip({ ...files, [name]: `${[...record, `${name},,`].join("\n")}\n` });
  writeFileSync(file, packed);
};

const listFiles = async (document: OpenApiDocument): Promise<Record<string, string>> => {
  const types = new PythonTypes(document);
  const readme = await Bun.file(join(import.meta.dir, "python/README.md")).text();
  const operations = writeOperations(listOperations(document), types);
  return {
    [`${MODULE}/__init__.py`]: await Bun.file(join(import.meta.dir, "python/client.py")).text(),
    [`${MODULE}/operations.py`]: operations,
    [`${MODULE}/types.py`]: types.write(),
    [`${MODULE}/py.typed`]: "",
    [`${INFO}/METADATA`]: writeMetadata(readme),
    [`${INFO}/WHEEL`]:
      "Wheel-Version: 1.0\nGenerator: wadi\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${INFO}/licenses/LICENSE`]: await Bun.file(join(root, "LICENSE")).text(),
  };
};

const writeMetadata = (readme: string): string => `Metadata-Version: 2.4
Name: wadi-client
Version: ${version}
Summary: Client of Wadi's API
License-Expression: ${license}
License-File: LICENSE
Requires-Python: >=3.11
Description-Content-Type: text/markdown

${readme}`;

const writeOperations = (operations: readonly Operation[], types: PythonTypes): string => {
  const methods = operations
    .filter(({ name }) => name !== FOLLOWED)
    .flatMap((operation) => writeMethods(operation, types));
  return `"""Written by \`bun run clients\` from the OpenAPI document."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote

from . import types


class Operations:
    def _call(self, method: str, path: str, **options: Any) -> Any:
        raise NotImplementedError

    def _stream(self, method: str, path: str, **options: Any) -> Iterator[Any]:
        raise NotImplementedError

${methods.join("\n\n")}
`;
};

const writeMethods = (operation: Operation, types: PythonTypes): string[] => {
  const { name, summary, method, path, query, body, reply, frame } = operation;
  const required = query.filter(({ isRequired }) => isRequired);
  const optional = query.filter(({ isRequired }) => !isRequired);
  const type = (schema: Operation["reply"]) => (schema ? types.refer(schema, "types.") : "None");
  const keywords = [
    ...required.map((one) => `${argument(one.name)}: ${type(one.schema)}`),
    ...optional.map((one) => `${argument(one.name)}: ${type(one.schema)} | None = None`),
    ...operation.headers.map((one) => `${headerArgument(one)}: str | None = None`),
  ];
  const args = [
    "self",
    ...operation.inPath.map((one) => `${argument(one.name)}: ${type(one.schema)}`),
    ...(body ? [`body: ${type(body.schema)}${body.isRequired ? "" : " | None = None"}`] : []),
    ...(keywords.length > 0 ? ["*", ...keywords] : []),
  ];
  const options = [
    ...(query.length > 0
      ? [`query={${query.map((one) => `"${one.name}": ${argument(one.name)}`).join(", ")}}`]
      : []),
    ...(body ? ["body=body"] : []),
    ...(operation.isRepeatable ? [] : ["repeatable=False"]),
    ...(operation.headers.length > 0
      ? [`headers={${operation.headers.map(writeHeader).join(", ")}}`]
      : []),
  ];
  const filled = path.replace(/\{(\w+)\}/g, (_, one: string) => {
    return `{quote(str(${argument(one)}), safe='')}`;
  });
  const sent = [`"${method}"`, `${filled === path ? "" : "f"}"${filled}"`, ...options].join(", ");
  const write = (suffix: string, result: string, call: string) =>
    `    def ${snakeCase(name)}${suffix}(${args.join(", ")}) -> ${result}:
        """${summary}."""
        return self.${call}(${sent})`;
  const methods = [write("", type(reply), "_call")];
  if (frame) methods.push(write("_stream", `Iterator[${type(frame)}]`, "_stream"));
  return methods;
};

const headerArgument = (name: string): string => name.toLowerCase().replaceAll("-", "_");

const writeHeader = (name: string): string => {
  const made = name === "Idempotency-Key" ? " or str(uuid.uuid4())" : "";
  return `"${name}": ${headerArgument(name)}${made}`;
};

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const argument = (name: string): string => (isIdentifier(name) ? name : `${name}_`);
