// Patterns of callers' schemas, matched by RE2's automata in time linear in the text.
import { SizeCache } from "../../../platform/size-cache.ts";
import { SchemaError } from "./schema-error.ts";

/** Maximum repeats, nested ones multiplied, as in RE2. */
const REPEATS_MAX = 1_000;
/** Maximum memory of an automaton's states; beyond it, states are not cached. */
const MEMORY_BYTES_MAX = 256 * 1024;
const AUTOMATA_MAX = 200;
/** Size of a Unicode class such as \p{L}, which has hundreds of ranges. */
const UNICODE_CLASS_SIZE = 20;
const REPEAT = /\{(\d{1,5})(?:,(\d{0,5}))?\}/y;

export interface Pattern {
  text: string;
  /** Upper bound of the automaton's parts: what a character of a text may cost. */
  size: number;
  test(text: string): boolean;
}

type Library = typeof import("re2js");
type Automaton = InstanceType<Library["RE2Set"]>;

const automata = new SizeCache<Automaton>(AUTOMATA_MAX);

export async function compilePattern(text: string, place: string): Promise<Pattern> {
  const library = await import("re2js");
  const open = () => automata.get(text) ?? compileAutomaton(library, text);
  try {
    open();
  } catch (error) {
    const detail = (error as Error).message.replace("error parsing regexp: ", "");
    throw new SchemaError(
      place,
      `must be a pattern that runs in linear time, without look-around, back references and ` +
        `more than ${REPEATS_MAX} repeats (${detail})`,
    );
  }
  return { text, size: estimateSize(text), test: (value) => open().match(value).length > 0 };
}

function compileAutomaton({ RE2JS, RE2Set }: Library, text: string): Automaton {
  // Only the memory of a set can be bounded.
  const automaton = new RE2Set(RE2Set.UNANCHORED, 0, MEMORY_BYTES_MAX);
  automaton.add(RE2JS.translateRegExp(text));
  automaton.compile();
  automata.set(text, automaton, 1);
  return automaton;
}

/**
 * Estimates an upper bound of an automaton's parts: one for each character, times its repeats.
 * Everything before a repeated group counts as part of it.
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
