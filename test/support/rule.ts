// An architecture rule of src/: which files it checks, and the examples that prove it works.

import { lineAt } from "../../scripts/source.ts";
import type { ModuleGraph, SourceFile } from "./module-graph.ts";

export type Breach = [line: number, says: string];

export interface Rule {
  says: string;
  check(file: SourceFile, graph: ModuleGraph): Breach[];
  /** Trees that break the rule, to prove that it finds them. */
  refuses: Record<string, string>[];
  /** Trees that almost break the rule. */
  allows?: Record<string, string>[];
}

export const find = (file: SourceFile, pattern: RegExp, says: string): Breach[] =>
  [...file.code.matchAll(new RegExp(pattern, "g"))].map(({ index }) => [
    lineAt(file.code, index),
    says,
  ]);
