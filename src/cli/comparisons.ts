// How comparisons look on a terminal: two runs side by side, two versions field by field.
import type { agentOperations, runOperations } from "../admin/index.ts";
import { drawLineDiff } from "./line-diff.ts";
import { layOutTable, type Output, quote, quoteWhole } from "./output.ts";

type ShownComparison = Awaited<ReturnType<typeof runOperations.compare.run>>;
type ShownDiff = Awaited<ReturnType<typeof agentOperations.diff.run>>;
type PairedCall = ShownComparison["calls"][number]["a"];

export function drawComparison(output: Output, { a, b, same, calls }: ShownComparison): string {
  const { text: aText, ...of } = a;
  const rows = Object.entries(of).map(([field, value]) => {
    const other = b[field as keyof typeof of];
    return { field, a: value, b: other, differs: isMeasure(field, value, other) ? "yes" : null };
  });
  const text = { field: "text", a: quoteText(aText), b: quoteText(b.text) };
  const lines = [...rows, { ...text, differs: same.text ? null : "yes" }];
  const table = layOutTable(output, lines, ["field", "a", "b", "differs"]);
  if (calls.length === 0) return table;
  return `${table}\n${calls.map(({ a: one, b: other }) => drawCalls(one, other)).join("")}`;
}

/** Ids differ always. */
const isMeasure = (field: string, one: unknown, other: unknown) =>
  field !== "run_id" && one !== other;

const quoteText = (text: string | null) => (text === null ? null : quote(text));

/** `  look_up "{}" ok` in both, `- …` in the first only, `+ …` in the second only. */
function drawCalls(one: PairedCall, other: PairedCall): string {
  const mark = one === null ? "+" : other === null ? "-" : " ";
  const { name, arguments: values, outcome } = (one ?? other)!;
  const ends = one && other && other.outcome !== outcome ? ` / ${other.outcome}` : "";
  return `${mark} ${quote(name)} ${quote(values)} ${outcome ?? "-"}${ends}\n`;
}

export function drawDiff({ changes }: ShownDiff): string {
  if (changes.length === 0) return "the versions behave alike\n";
  return changes.map(drawChange).join("");
}

function drawChange({ field, before, after }: ShownDiff["changes"][number]): string {
  const isText = typeof before === "string" && typeof after === "string";
  if (!isText) return `${field}: ${quoteWhole(before)} -> ${quoteWhole(after)}\n`;
  return `${field}:\n${drawLineDiff(before, after)}`;
}
