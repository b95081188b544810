// What a law of src/ is: whom it judges, and the examples that show it awake.

import { lineAt } from "../../scripts/source.ts";
import type { SourceFile, Street } from "./street.ts";

/** A place that breaks a law, and how. */
export type Breach = [line: number, says: string];

export interface Law {
  says: string;
  judge(file: SourceFile, street: Street): Breach[];
  /** Streets that must be refused, so that the law cannot hold by seeing nothing. */
  refuses: Record<string, string>[];
  /** Streets that come close to breaking it and must not be refused. */
  allows?: Record<string, string>[];
}

/** The places where a pattern stands in the code of a file. */
export const find = (file: SourceFile, pattern: RegExp, says: string): Breach[] =>
  [...file.code.matchAll(new RegExp(pattern, "g"))].map(({ index }) => [
    lineAt(file.code, index),
    says,
  ]);
