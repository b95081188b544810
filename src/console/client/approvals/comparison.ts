// Compares a call with approved ones and with what its run had read, by exact texts only.
import { splitHidden } from "../hidden.ts";
import { type ApprovalDetail, ARGUMENTS_MAX, type Argument, listArguments } from "./data.ts";
import { cutExcerpt, type Excerpt, findText, listForms, type Match } from "./search.ts";

/** Shorter values stand in too many texts to say where they come from. */
const SOURCE_CHARACTERS_MIN = 6;

/** Place where a value comes from; `seq` is null for the hook that started the run. */
export type ValueOrigin =
  | { kind: "input" | "model" | "unknown" }
  | { kind: "same"; at: string }
  | { kind: "inside" | "outside"; seq: number | null; tool: string | null };

export interface ComparedArgument extends Argument {
  origin: ValueOrigin;
  /** The other value of the most similar approved call; null: it had the same or none. */
  earlier: string | null;
  isHit: boolean;
}

export interface Warning {
  kind: "new_outside" | "unknown" | "outside" | "late" | "hidden" | "changed";
  /** Arguments that it is about. */
  paths: string[];
  /** Tool that read the value. */
  tool?: string | null;
}

export interface ComparedSource {
  seq: number | null;
  tool: string | null;
  url: string | null;
  excerpt: Excerpt;
}

export interface Comparison {
  arguments: ComparedArgument[];
  /** More arguments than the table shows. */
  isCut: boolean;
  /** When the most similar approved call was approved; null: none is similar. */
  similarAt: string | null;
  warnings: Warning[];
  /** Content from outside that holds a value, and the steps of other ones. */
  sources: ComparedSource[];
  otherSteps: number[];
  /** Steps whose content is not here to be searched. */
  missingSteps: number[];
}

interface SearchedText {
  seq: number | null;
  tool: string | null;
  url: string | null;
  isExternal: boolean;
  text: string;
}

interface PastCall {
  at: string;
  values: ReadonlyMap<string, string>;
}

export function compare(detail: ApprovalDetail): Comparison {
  const listed = listArguments(detail.approval.arguments);
  const rows = listed.slice(0, ARGUMENTS_MAX);
  const calls = detail.approved_calls.map(({ arguments: sent, decided_at }) => {
    return { at: decided_at, values: mapValues(listArguments(sent)) };
  });
  const similar = findSimilar(rows, calls);
  const run = searchRun(detail, rows);
  const compared = rows.map((row, at): ComparedArgument => {
    const old = similar?.values.get(row.path);
    const earlier = old !== undefined && old !== nameValue(row) ? old.slice(1) : null;
    const isSame = old !== undefined && earlier === null;
    const same = isSame ? { kind: "same" as const, at: similar!.at } : null;
    return { ...row, origin: findOrigin(run, at, same), earlier, isHit: false };
  });
  const peers = similar ? findPeers(rows, calls, similar) : [];
  const warnings = listWarnings(detail, compared, peers);
  const hits = new Set(warnings.flatMap(({ paths }) => paths));
  const marked = compared.map((row) => ({ ...row, isHit: hits.has(row.path) }));
  return {
    arguments: marked,
    isCut: listed.length > rows.length,
    similarAt: similar?.at ?? null,
    warnings,
    ...listSources(detail, run, marked),
  };
}

/** Names a value with its kind: the text "1" is another value than the number. */
const nameValue = ({ text, kind }: Argument): string => `${kind[0]}${text}`;

const mapValues = (rows: readonly Argument[]) =>
  new Map(rows.map((row) => [row.path, nameValue(row)]));

const isEqual = (row: Argument, { values }: PastCall): boolean =>
  values.get(row.path) === nameValue(row);

/** Finds the call with the most equal values, at least one; among equals the newest. */
function findSimilar(rows: readonly Argument[], calls: readonly PastCall[]) {
  let best: PastCall | null = null;
  let most = 0;
  for (const call of calls) {
    const equal = rows.filter((row) => isEqual(row, call)).length;
    if (equal > most) [best, most] = [call, equal];
  }
  return best;
}

/** Finds the calls that have each value in which the most similar one is equal. */
function findPeers(
  rows: readonly Argument[],
  calls: readonly PastCall[],
  similar: PastCall,
): PastCall[] {
  const equal = rows.filter((row) => isEqual(row, similar));
  return calls.filter((call) => equal.every((row) => isEqual(row, call)));
}

/** Texts that a run has read, with the first place of each argument in each. */
interface SearchedRun {
  message: string | null;
  texts: readonly SearchedText[];
  forms: readonly (readonly string[])[];
  /** Place of each argument, listed by text. */
  matches: readonly (readonly (Match | null)[])[];
  /** Everything that the model has read is here. */
  isWhole: boolean;
}

function searchRun(detail: ApprovalDetail, rows: readonly Argument[]): SearchedRun {
  const { run_message: message, run_hook, results, has_all_results, has_earlier_messages } = detail;
  const texts = results.map(({ is_external: isExternal, seq, tool, url, text }): SearchedText => {
    return { seq, tool, url, isExternal, text };
  });
  if (run_hook !== null) {
    texts.unshift({ seq: null, tool: null, url: null, isExternal: true, text: run_hook });
  }
  const forms = rows.map((row) => (isSearched(row) ? listForms(row.text) : []));
  return {
    ...{ message, texts, forms },
    matches: texts.map(({ text }) => forms.map((one) => findText(text, one))),
    isWhole:
      has_all_results &&
      !has_earlier_messages &&
      message !== null &&
      listMissing(detail).length === 0 &&
      results.every(({ is_cut }) => !is_cut),
  };
}

const isSearched = ({ text, kind }: Argument): boolean =>
  text.length >= SOURCE_CHARACTERS_MIN && (kind === "string" || kind === "number");

function findOrigin(run: SearchedRun, at: number, same: ValueOrigin | null): ValueOrigin {
  const { message, texts, forms, matches, isWhole } = run;
  if (forms[at]!.length === 0) return { kind: "unknown" };
  if (message !== null && findText(message, forms[at]!)) return { kind: "input" };
  if (same) return same;
  const found = texts.filter((_, text) => matches[text]![at] !== null);
  const inside = found.find(({ isExternal }) => !isExternal);
  if (inside) return { kind: "inside", seq: inside.seq, tool: inside.tool };
  const [outside] = found;
  if (outside) return { kind: "outside", seq: outside.seq, tool: outside.tool };
  return { kind: isWhole ? "model" : "unknown" };
}

/** Calls from which a person learns that an argument differs each time. */
const VARIED_CALLS_MIN = 3;

/** Lists by rules what a person has to look at first. */
function listWarnings(
  { approval }: ApprovalDetail,
  rows: readonly ComparedArgument[],
  peers: readonly PastCall[],
): Warning[] {
  const outside = rows.filter(({ origin }) => origin.kind === "outside");
  const newOutside = outside.filter(({ earlier }) => earlier !== null);
  const hidden = rows.filter(({ text }) => splitHidden(text).some(({ kind }) => kind === "hidden"));
  const changed = rows.filter(
    (row) => row.earlier !== null && !outside.includes(row) && !varies(row.path, peers),
  );
  // Values of the run's input are expected to differ; other ones come first.
  const unasked = changed.filter(({ origin }) => origin.kind !== "input");
  const about = (kind: Warning["kind"], found: readonly ComparedArgument[]): Warning[] => {
    const [first] = found;
    if (!first) return [];
    const paths = found.map(({ path }) => path);
    const { origin } = first;
    return [{ kind, paths, ...(origin.kind === "outside" && { tool: origin.tool }) }];
  };
  return [
    ...about("new_outside", newOutside),
    ...about("outside", newOutside.length > 0 ? [] : outside),
    ...(approval.why.includes("outcome_unknown") ? [{ kind: "unknown" as const, paths: [] }] : []),
    ...about("hidden", hidden),
    // Beside a new value from outside they would only distract.
    ...about("changed", newOutside.length > 0 ? [] : unasked.length > 0 ? unasked : changed),
  ];
}

/** Tells whether an argument was another one in each such call, as a reference is. */
function varies(path: string, peers: readonly PastCall[]): boolean {
  const values = peers.flatMap((call) => call.values.get(path) ?? []);
  return values.length >= VARIED_CALLS_MIN && new Set(values).size === values.length;
}

function listSources(
  detail: ApprovalDetail,
  { texts, forms, matches }: SearchedRun,
  rows: readonly ComparedArgument[],
): Pick<Comparison, "sources" | "otherSteps" | "missingSteps"> {
  // An excerpt stands around the value that matters most.
  const order = [...rows.keys()].toSorted(
    (a, b) => Number(rows[b]!.isHit) - Number(rows[a]!.isHit),
  );
  const sources: (ComparedSource & { rank: number })[] = [];
  const otherSteps: number[] = [];
  for (const [at, { isExternal, text, ...source }] of texts.entries()) {
    if (!isExternal) continue;
    const rank = order.findIndex((row) => matches[at]![row] !== null);
    const match = rank === -1 ? null : matches[at]![order[rank]!]!;
    if (match) sources.push({ ...source, rank, excerpt: cutExcerpt(text, match, forms) });
    else if (source.seq !== null) otherSteps.push(source.seq);
  }
  return {
    sources: sources.toSorted((a, b) => a.rank - b.rank).map(({ rank: _, ...source }) => source),
    otherSteps,
    missingSteps: listMissing(detail),
  };
}

/** Lists steps with content from outside whose results are not here. */
function listMissing({ approval, results }: ApprovalDetail): number[] {
  const known = new Set(results.map(({ seq }) => seq));
  return approval.external_sources.map(({ seq }) => seq).filter((seq) => !known.has(seq));
}

/** Share of the time below which a decision is urgent. */
const LATE = 0.1;
const WARNINGS_MAX = 2;
const ORDER: readonly Warning["kind"][] = [
  ...(["new_outside", "unknown", "outside", "late", "hidden", "changed"] as const),
];

/** Picks the gravest two, with the time that is left now. */
export function pickWarnings(
  { warnings }: Comparison,
  detail: ApprovalDetail,
  nowMs: number,
): Warning[] {
  const late: Warning[] = isLate(detail, nowMs) ? [{ kind: "late", paths: [] }] : [];
  return [...warnings, ...late]
    .toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
    .slice(0, WARNINGS_MAX);
}

/** Tells whether less than a tenth of the time to decide is left. */
function isLate({ approval }: ApprovalDetail, nowMs: number): boolean {
  const end = Date.parse(approval.expires_at);
  const leftMs = end - nowMs;
  const allMs = end - Date.parse(approval.requested_at);
  return approval.status === "pending" && leftMs > 0 && leftMs < allMs * LATE;
}
