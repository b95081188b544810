// Says what makes a JSON value unsafe to compare, to store and to send, whoever wrote it.

export interface Bounds {
  /** Objects and lists inside one another; the value itself is the first. */
  depth_max: number;
  /** Objects, lists, true and false: whatever can be a schema. */
  parts_max: number;
}

/**
 * What is wrong with a value of JSON.parse, as the end of a sentence; null: nothing. Numbers must
 * be JSON's and texts well-formed, since RFC 8785 knows no others, and a hash is taken by it.
 */
export function findHarm(value: unknown, bounds: Bounds): string | null {
  return inspect(value, 1, { ...bounds, parts: 0 });
}

interface Count extends Bounds {
  parts: number;
}

function inspect(value: unknown, depth: number, count: Count): string | null {
  if (typeof value === "string") return judgeText(value);
  if (typeof value === "number") {
    return Number.isFinite(value) ? null : "must hold no number beyond 1.8e308";
  }
  if (value === null) return null;
  if (++count.parts > count.parts_max) {
    return `must hold at most ${count.parts_max} objects and lists`;
  }
  if (typeof value !== "object") return null;
  // Judged before what is inside, so that nobody's nesting can exhaust the stack.
  if (depth > count.depth_max) return `must not be nested deeper than ${count.depth_max}`;
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const one of inner) {
    const harm = inspect(one, depth + 1, count);
    if (harm !== null) return harm;
  }
  if (inner === value) return null;
  for (const name of Object.keys(value)) {
    const harm = judgeText(name);
    if (harm !== null) return harm;
  }
  return null;
}

function judgeText(text: string): string | null {
  return text.isWellFormed() ? null : "must hold no half of a character (a lone surrogate)";
}
