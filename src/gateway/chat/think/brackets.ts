// Which brackets of an answer mean something: those of intervals, of lists in lists, and of terms.

/** What stands between two operands, so that brackets around them mean something. */
const INFIX = /^[-+/^×:=<>≤≥≠±|!]$/;
/** Several variables, if they are one operand: (ab)^2, e^(kt). */
const VARIABLES = /^\p{L}{2,3}$/u;
const ENDLESS = /^inf(?:inity|ty)?$/;
const SEPARATOR = ",";

interface Pair {
  start: number;
  end: number;
  /** Separators inside it, and those of them that stand in no bracket of its own. */
  separators: number;
  own: number;
}

/** Takes away the brackets that tell nothing, and the separators that told which do. */
export function dropBrackets(parts: readonly string[]): string[] {
  const pairs = findPairs(parts);
  const total = countSeparators(parts);
  const plain = parts.filter((part) => !isBracket(part) && part !== SEPARATOR);
  const hasTerms = plain.some((part, at) => part === "√" || (at > 0 && INFIX.test(part)));
  const kept = new Map<number, string>();
  for (const pair of pairs) {
    const { start, end, separators } = pair;
    const isTerm = hasTerms && !isIdle(parts, pair);
    if (isInterval(parts, pair)) kept.set(start, parts[start]!).set(end, parts[end]!);
    else if ((separators > 0 && separators < total) || isTerm) kept.set(start, "(").set(end, ")");
  }
  return parts.flatMap((part, at) => {
    if (part === SEPARATOR) return [];
    return isBracket(part) ? (kept.get(at) ?? []) : part;
  });
}

function isOpening(part: string | undefined): boolean {
  return part === "(" || part === "[";
}

function isBracket(part: string): boolean {
  return isOpening(part) || part === ")" || part === "]";
}

/** Those that nothing opens or ends are none. */
function findPairs(parts: readonly string[]): Pair[] {
  const pairs: Pair[] = [];
  const open: Omit<Pair, "end">[] = [];
  for (const [at, part] of parts.entries()) {
    if (isOpening(part)) open.push({ start: at, separators: 0, own: 0 });
    else if (part === SEPARATOR) {
      const within = open.at(-1);
      if (within) {
        within.separators += 1;
        within.own += 1;
      }
    } else if (isBracket(part)) {
      const ended = open.pop();
      if (!ended) continue;
      pairs.push({ ...ended, end: at });
      const around = open.at(-1);
      if (around) around.separators += ended.separators;
    }
  }
  return pairs;
}

/** One at the end parts nothing. */
function countSeparators(parts: readonly string[]): number {
  const end = parts.findLastIndex((part) => part !== SEPARATOR) + 1;
  return parts.slice(0, end).filter((part) => part === SEPARATOR).length;
}

/** [0, 1], [0, 1) and (0, 1] are three answers, and none of them is a list of two words. */
function isInterval(parts: readonly string[], { start, end, own }: Pair): boolean {
  const [first, last] = [parts[start] === "[", parts[end] === "]"];
  if (own !== 1 || (!first && !last)) return false;
  const members = parts.slice(start + 1, end);
  return first !== last || !members.some((part) => /^\p{L}{2}/u.test(part) && !ENDLESS.test(part));
}

/** Around all of it, around one part, or one with its sign: but (-2)^2 is not -2^2. */
function isIdle(parts: readonly string[], { start, end }: Pair): boolean {
  const [before, after] = [parts[start - 1] ?? "", parts[end + 1] ?? ""];
  const first = parts.findIndex((part) => !isOpening(part));
  if (start < first && end === parts.length - 1 - start) return true;
  const held = parts.slice(start + 1, end).filter((part) => !isBracket(part));
  const isRaised = after === "^" || after === "!";
  const [one = ""] = held;
  if (held.length === 2 && (one.trim() === "-" || one === "√")) return !isRaised;
  if (held.length > 1) return false;
  return !VARIABLES.test(one) || !(isRaised || before === "^" || before === "√");
}
