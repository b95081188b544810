// All built-in tools, in the order in which the catalogue shows them.
import type { BuiltinTool } from "../contract.ts";
import { calculator } from "./calculator.ts";
import { currentTime } from "./current-time.ts";
import { createMemory, type Notes } from "./memory.ts";
import { readOutput } from "./read-output.ts";
import { createReadPage, type PageEgress } from "./read-page.ts";
import { createWebSearch, type SearchInside } from "./web-search.ts";

export interface BuiltinsOptions {
  search: SearchInside;
  /** The guarded way out: a model names where to. */
  egress: PageEgress;
  notes: Notes;
}

export function createBuiltins({ search, egress, notes }: BuiltinsOptions): readonly BuiltinTool[] {
  return [
    ...[currentTime, calculator, readOutput, createWebSearch(search), createReadPage(egress)],
    ...createMemory(notes),
  ];
}
