// What tools have computed in a Worker, since its time depends on what others wrote.
import type { ComputeTask, Uncomputed } from "../../compute/index.ts";
import type { CalculationResult } from "./calculator/calculate.ts";
import type { Parameters } from "./json-schema/parameters.ts";
import type { PageInput, PageText } from "./page/page.ts";

export const CALCULATION: ComputeTask<string, CalculationResult> = {
  name: "calculation",
  timeoutMs: 2_000,
};

export const PAGE: ComputeTask<PageInput, PageText> = { name: "page", timeoutMs: 5_000 };

/** Gives a sentence about what is wrong with a caller's schema; null: nothing. */
export const SCHEMA: ComputeTask<Parameters, string | null> = { name: "schema", timeoutMs: 5_000 };

export interface ArgumentsInput {
  parameters: Parameters;
  /** JSON that was read before, and is an object. */
  text: string;
  faultsMax: number;
}
/** Gives the first faults of a call's arguments. */
export const ARGUMENTS: ComputeTask<ArgumentsInput, string[]> = {
  ...{ name: "arguments", timeoutMs: 5_000 },
};

/** Why nothing was computed, as the end of a sentence about what was to be computed. */
export const UNCOMPUTED: Record<Uncomputed, string> = {
  timeout: "took too long and was given up",
  busy: "was not begun, because too much else is being computed: try again later",
  aborted: "was given up, because nobody waits for it any more",
  failed: "failed by a fault of the service",
};
