// Bodies and queries drawn from schemas of the document: valid, nearly valid, and such as no client sends.
import { type Document, followRef, type Schema } from "./document.ts";

/** A whole number from 0 up to the limit. */
export type Draw = (below: number) => number;

/** JSON text; values that `JSON.stringify` cannot write are inserted literally. */
class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Values that no field wants, or that are read otherwise than they look. */
const STRANGE: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 53, "", " ", [], {}, [[]], [null], "null", "__proto__"],
  ...["1e400", "-1e400", "1e-400", "-0", "9".repeat(400), `0.${"1".repeat(400)}`].map(raw),
  ...['"\\ud800"', '"\\udc00\\ud800"', '"a\\u0000b"', '"\\u2028\\u2029"', '"\ufeff"'].map(raw),
  ...['{"__proto__":{"stream":true}}', '{"constructor":{"prototype":{}}}', '{"":""}'].map(raw),
  ...[raw("[".repeat(70) + "]".repeat(70)), raw('{"a":'.repeat(60) + 1 + "}".repeat(60))],
  ...["NaN", "undefined", "01", "'a'", "[1,]", '"\u0001"', '"\\x41"', '"open', "//"].map(raw),
  ...["x".repeat(40_000), "😀".repeat(16_001), "e\u0301".repeat(500), new Array(65).fill("a")],
];
const TEXTS = [
  "svc",
  "Hello",
  "a b c",
  "naïve 😀",
  "line\nline",
  "<b>&amp;</b>",
  'a "quoted" OR (word)*',
];
const ID = "01920000-0000-7000-8000-00000000dead";
/** Query values that are decoded differently than they look. */
const STRANGE_TEXTS = [
  ...["", " ", "0", "-1", "1.5", "1e3", "9".repeat(400), "x".repeat(4_000), "null", "[list]", "😀"],
  ...[
    "%",
    "%zz",
    "%00",
    "%ff",
    "%F0%9F",
    "a\u0000b",
    "\ud800",
    "a&b=c",
    "a=b",
    "+",
    "#",
    ";",
    "__proto__",
  ],
  ...["' OR 1=1 --", "2026-02-30", "2026-13-01", "9999-12-31", "0000-00-00", ID, ID.toUpperCase()],
  ...["2026-11-20T00:00:00Z", "2026-11-20T25:00:00Z", "+275760-09-14T00:00:00Z", "W10", "e30"],
];
const NAMES = ["__proto__", "constructor", "toString", "", "stream", "think", "n", "\u0000"];
const LENGTH_MAX = 8;

function raw(text: string): Raw {
  return new Raw(text);
}

/** The text of one body, of which about every third is valid. */
export function drawBody(document: Document, schema: Schema, draw: Draw): string {
  const value = drawValue(document, schema, draw);
  const kind = draw(12);
  if (kind < 4) return write(value, draw, false);
  if (kind === 4) return write(pick(STRANGE, draw), draw, false);
  const spoiled = spoil(value, draw);
  if (kind < 10) return write(spoiled, draw, false);
  const text = write(spoiled, draw, true);
  return kind === 10 ? text : text.slice(0, draw(text.length + 1));
}

/** A query, of which about every third is valid. */
export function drawQuery(
  document: Document,
  fields: Record<string, Schema>,
  draw: Draw,
  percent = encodeURIComponent,
): string {
  const kind = draw(6);
  const pairs = Object.entries(fields)
    .filter(() => draw(3) === 0)
    .flatMap(([name, schema]): [string, string][] => {
      const isStrange = kind > 2 && draw(2) === 0;
      const value = isStrange ? pick(STRANGE_TEXTS, draw) : drawValue(document, schema, draw);
      if (typeof value !== "object" || value === null) return [[name, String(value)]];
      return Object.entries(value).map(([part, text]) => [`${name}[${part}]`, String(text)]);
    });
  if (kind === 4 && pairs.length > 0) pairs.push(pick(pairs, draw));
  if (kind === 5 && draw(2) === 0) pairs.push([pick(NAMES, draw), pick(STRANGE_TEXTS, draw)]);
  const write = (text: string) =>
    kind > 2 && draw(4) === 0 ? text.replaceAll(/[^!-~]/g, "%FF") : percent(text.toWellFormed());
  return pairs.map(([name, text]) => `${write(name)}=${write(text)}`).join("&");
}

const pick = <T>(list: readonly T[], draw: Draw): T => list[draw(list.length)]!;

/** A value that the schema allows, unless a rule between its fields does not. */
function drawValue(document: Document, unresolved: Schema, draw: Draw): unknown {
  const schema = unresolved.$ref ? (followRef(document, unresolved.$ref) as Schema) : unresolved;
  if (schema.anyOf) return drawValue(document, pick(schema.anyOf, draw), draw);
  if (schema.enum) return pick(schema.enum, draw);
  if ("const" in schema) return schema.const;
  const { minItems = 0, maxItems = LENGTH_MAX, minimum = -1000, maximum = 1000 } = schema;
  switch (schema.type) {
    case "object":
      return Object.fromEntries([
        ...drawMap(document, schema.additionalProperties, draw),
        ...Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name) || draw(3) === 0)
          .map(([name, inner]) => [name, drawField(document, inner, draw)]),
      ]);
    case "array": {
      const length = minItems + draw(Math.min(maxItems - minItems, LENGTH_MAX) + 1);
      return Array.from({ length }, () => drawValue(document, schema.items ?? {}, draw));
    }
    case "integer":
      return minimum + draw(maximum - minimum + 1);
    case "number":
      return minimum + (maximum - minimum) * (draw(1001) / 1000);
    case "boolean":
      return draw(2) === 0;
    case "string":
      return drawText(schema, draw);
    default:
      return null;
  }
}

/** Examples show constraints that a field's schema cannot express. */
function drawField(document: Document, schema: Schema, draw: Draw): unknown {
  const { examples } = schema;
  return examples && draw(4) > 0 ? pick(examples, draw) : drawValue(document, schema, draw);
}

/** Some fields of a map with any names. */
function drawMap(document: Document, inner: Schema["additionalProperties"], draw: Draw) {
  if (typeof inner !== "object") return [];
  return Array.from({ length: draw(3) }, () => {
    return [pick([...TEXTS, ...NAMES], draw), drawValue(document, inner, draw)];
  });
}

function drawText({ pattern, maxLength = 100 }: Schema, draw: Draw): string {
  const allowed = new RegExp(pattern ?? "");
  const found = ["custom", "de", "look", "2026-11-20", ID, pick(TEXTS, draw)]
    .findLast((text) => allowed.test(text))!
    .slice(0, maxLength);
  // A name may have to be unused.
  return found === "look" && allowed.test("look_1") ? `look_${draw(1_000_000)}` : found;
}

/** The same value with one part replaced, added, or removed. */
function spoil(value: unknown, draw: Draw): unknown {
  if (typeof value !== "object" || value === null || value instanceof Raw || draw(5) === 0) {
    return pick(STRANGE, draw);
  }
  const keys = Object.keys(value);
  const key = keys.length === 0 || draw(6) === 0 ? pick(NAMES, draw) : pick(keys, draw);
  if (Array.isArray(value))
    return value.map((one, i) => (String(i) === key ? spoil(one, draw) : one));
  const rest = Object.entries(value).filter(([name]) => name !== key);
  if (draw(6) === 0) return Object.fromEntries(rest);
  const found = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  return Object.fromEntries([...rest, [key, spoil(found, draw)]]);
}

/** `isDouble` repeats some fields, with another value first. */
function write(value: unknown, draw: Draw, isDouble: boolean): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map((one) => write(one, draw, isDouble)).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).flatMap(([name, one]) => {
    const field = `${JSON.stringify(name)}:${write(one, draw, isDouble)}`;
    if (!isDouble || draw(3) > 0) return [field];
    return [`${JSON.stringify(name)}:${write(pick(STRANGE, draw), draw, false)}`, field];
  });
  return `{${fields.join()}}`;
}
