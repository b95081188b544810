// Writes what was found out of a server of embeddings as the table of a settings file.
import type { ProbeReport } from "../models/index.ts";
import { writeValue } from "../settings/index.ts";

/** What callers are promised. */
export interface EmbeddingsPromise {
  model: string;
  dimensions: number;
}

/** Why calls of it could only fail; null: nothing is known that says so. */
export function judgeWidth(
  { embeddings }: ProbeReport,
  promised: EmbeddingsPromise,
): string | null {
  const { dimensions = null } = embeddings ?? {};
  if (dimensions === null || dimensions === promised.dimensions) return null;
  return `its vectors have ${dimensions} numbers, and callers are promised ${promised.dimensions}`;
}

/** With comments for what people should know; `api_key_env`: "": it needs none. */
export function writeEmbeddingsBlock(
  report: ProbeReport,
  api_key_env: string,
  promised: EmbeddingsPromise,
): string {
  const set = (name: string, value: unknown) => `${name} = ${writeValue(value)}`;
  const { kind, version, model, notes, url, embeddings } = report;
  const isTei = embeddings?.kind === "tei";
  const head = [
    `# ${kind}${version === null ? "" : ` ${version}`}`,
    ...(model === null ? [] : [`# Its model is ${model}.`]),
    ...notes.map((note) => `# ${note}`),
    ...writeDoubts(report, promised).map((doubt) => `# ${doubt}`),
  ];
  return [
    ...head,
    "[embeddings]",
    set("kind", isTei ? "tei" : "openai"),
    // What it is asked by stands behind this address: of TEI without /v1.
    set("urls", [isTei ? url.replace(/\/v1$/, "") : url]),
    ...(model === null || model === promised.model ? [] : [set("model", model)]),
    ...(api_key_env === "" ? [] : [set("api_key_env", api_key_env)]),
    "",
  ].join("\n");
}

function writeDoubts(report: ProbeReport, promised: EmbeddingsPromise): string[] {
  const { model } = report;
  const isIt = model === null || model.toLowerCase().includes(promised.model);
  const width = judgeWidth(report, promised);
  const other = `Callers are told that it is ${promised.model}, whose vectors are others.`;
  return [...(isIt ? [] : [other]), ...(width === null ? [] : [`It cannot serve: ${width}.`])];
}
