// Tasks of tools for compute Workers, since their time depends on texts of others.
import type { ComputeTask, Uncomputed } from "../../compute/index.ts";
import type { CalculationResult } from "./calculator/calculate.ts";
import type { Parameters } from "./json-schema/parameters.ts";
import type { PageInput, PageText } from "./page/page-text.ts";

export const CALCULATION: ComputeTask<string, CalculationResult> = {
  name: "calculation",
  timeoutMs: 2_000,
};

export const PAGE: ComputeTask<PageInput, PageText> = { name: "page", timeoutMs: 5_000 };

export const SCHEMA: ComputeTask<Parameters, string | null> = { name: "schema", timeoutMs: 5_000 };

export interface ArgumentsInput {
  parameters: Parameters;
  text: string;
  faultsMax: number;
  /** Name of the value as a whole; "The arguments" by default. */
  root?: string;
}
export const ARGUMENTS: ComputeTask<ArgumentsInput, string[]> = {
  name: "arguments",
  timeoutMs: 5_000,
};

export const UNCOMPUTED: Record<Uncomputed, string> = {
  timeout: "took too long and was given up",
  busy: "was not begun, because too much else is being computed: try again later",
  aborted: "was given up, because its request has ended",
  failed: "failed by a fault of the service",
};
