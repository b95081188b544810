// All built-in tools, in the order in which the catalogue shows them.
import type { BuiltinTool } from "../contract.ts";
import { createCalculator } from "./calculator.ts";
import { currentTime } from "./current-time.ts";
import { createMemory, type Notes } from "./memory.ts";
import { readOutput } from "./read-output.ts";
import { createReadPage, type PageDeps } from "./read-page.ts";
import { createWebSearch, type SearchClient } from "./web-search.ts";

export interface BuiltinsOptions extends PageDeps {
  search: SearchClient;
  notes: Notes;
}

export function createBuiltins({
  search,
  notes,
  ...page
}: BuiltinsOptions): readonly BuiltinTool[] {
  return [
    ...[currentTime, createCalculator(page.compute), readOutput, createWebSearch(search)],
    ...[createReadPage(page), ...createMemory(notes)],
  ];
}
