// All built-in tools, in the order in which the catalogue shows them.
import type { BuiltinTool } from "../contract.ts";
import { calculator } from "./calculator.ts";
import { currentTime } from "./current-time.ts";
import { readOutput } from "./read-output.ts";
import { createWebSearch, type SearchInside } from "./web-search.ts";

export interface BuiltinsOptions {
  search: SearchInside;
}

export function createBuiltins({ search }: BuiltinsOptions): readonly BuiltinTool[] {
  return [currentTime, calculator, readOutput, createWebSearch(search)];
}
