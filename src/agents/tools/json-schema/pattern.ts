// The patterns of callers' schemas: matched by RE2's automata in time linear in the text.
import { SchemaFault } from "./fault.ts";

/** RE2's own limit is so many repeats, also nested ones. */
const REPEATS_MAX = 1_000;
/** What an automaton may remember of what it has seen; beyond it works without remembering. */
const MEMORY_BYTES_MAX = 256 * 1024;
/** So many automata are kept, of all schemas; behind them the oldest is made anew when needed. */
const AUTOMATA_MAX = 200;
/** A class of Unicode, such as \p{L}, has hundreds of ranges to read. */
const UNICODE_CLASS_SIZE = 20;
const REPEAT = /\{(\d{1,5})(?:,(\d{0,5}))?\}/y;

export interface Pattern {
  text: string;
  /** An upper bound of the automaton's parts: what a character of a text may cost. */
  size: number;
  /** true: the pattern is found somewhere in the text. */
  test(text: string): boolean;
}

type Library = typeof import("re2js");
type Automaton = InstanceType<Library["RE2Set"]>;

const automata = new Map<Pattern, Automaton>();

/** Compiles a pattern; throws SchemaFault for one that no automaton can decide. `at`: its place. */
export async function openPattern(text: string, at: string): Promise<Pattern> {
  const library = await import("re2js");
  const pattern: Pattern = {
    text,
    size: estimateSize(text),
    test: (value) => (automata.get(pattern) ?? build(library, pattern)).match(value).length > 0,
  };
  try {
    build(library, pattern);
  } catch (error) {
    const detail = (error as Error).message.replace("error parsing regexp: ", "");
    throw new SchemaFault(
      at,
      `must be a pattern that runs in linear time, without look-around, back references and ` +
        `more than ${REPEATS_MAX} repeats (${detail})`,
    );
  }
  return pattern;
}

function build({ RE2JS, RE2Set }: Library, pattern: Pattern): Automaton {
  // A set is the one form whose memory can be bounded.
  const automaton = new RE2Set(RE2Set.UNANCHORED, 0, MEMORY_BYTES_MAX);
  automaton.add(RE2JS.translateRegExp(pattern.text));
  automaton.compile();
  for (const oldest of automata.keys()) {
    if (automata.size < AUTOMATA_MAX) break;
    automata.delete(oldest);
  }
  automata.set(pattern, automaton);
  return automaton;
}

/**
 * An upper bound of how many parts a pattern's automaton has, found before it is made: a part for
 * each character, and what is repeated so many times. What stands before a repeated group counts
 * as part of it, which is too much rather than too little.
 */
export function estimateSize(text: string): number {
  let size = 1;
  for (let at = 0; at < text.length; at++) {
    REPEAT.lastIndex = at;
    const repeat = text[at] === "{" ? REPEAT.exec(text) : null;
    if (!repeat) {
      const isUnicode = text[at] === "\\" && /[pP]/.test(text[at + 1] ?? "");
      size += isUnicode ? UNICODE_CLASS_SIZE : 1;
      continue;
    }
    const times = Math.max(1, Number(repeat[1]), Number(repeat[2] || 0));
    size = text[at - 1] === ")" ? size * times : size + 2 * times;
    at += repeat[0].length - 1;
  }
  return size;
}
