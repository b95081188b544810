// Hostile calculations, schemas and arguments that prolong a computation.

const fill = (unit: string, length: number) => unit.repeat(Math.floor(length / unit.length));
const sum = (term: string) => fill(`${term}+`, 1_000).slice(0, -1);

/** Numbers at the limits of the calculator. */
const EXTREMES = [
  ...["9.9e9999", "1e-9999", "1e5000", "1e-5000", "1e79", "1e-79", "1e45", "1e-45", "1e30"],
  ...["0.5", "1-1e-79", "1+1e-79", "9007199254740991.5", "1234567890123456789e-18"],
];
const FUNCTIONS = "sin cos tan asin acos atan exp ln log10 log2 sqrt cbrt".split(" ");

export const hostileCalculations: readonly string[] = [
  ...["atan(1e5000)", "cos(1e-9999)", "tan(1e-9999)", `${fill("1^", 120)}1`],
  ...[
    `${fill("pow(1,", 300)}1${")".repeat(50)}`,
    "9^9^9^9",
    `${fill("cbrt(", 300)}7e9999${")".repeat(60)}`,
  ],
  ...["asin(.9)", "acos(.5)", "e^e", "2^.5", "sin(9e29)", "ln(7e-9999)", "log(7e9999,1+1e-79)"].map(
    (term) => Array.from({ length: 16 }, () => term).join("+"),
  ),
  // The longest expressions that are computed on the event loop.
  ...[
    `${fill("7/3*", 198)}7`,
    `${"9".repeat(80)}/${fill("1/", 110)}7`,
    fill("(", 200),
    fill("-", 200),
  ],
  ...["999!", "1.1^9e4", "mod(9e9999,7e-9999)", "0.9^-9e3", "sqrt(2)", "cbrt(2)"].map(sum),
  ...FUNCTIONS.flatMap((name) => EXTREMES.map((number) => `${name}(${number})`)),
  ...EXTREMES.flatMap((base) => EXTREMES.map((exponent) => `(${base})^(${exponent})`)),
  ...EXTREMES.flatMap((of) => EXTREMES.map((by) => `mod(${of},${by})`)),
];

const property = (a: object) => ({ type: "object", properties: { a } });
const all = (length: number, make: (n: number) => object) =>
  property({ allOf: Array.from({ length }, (_, n) => make(n)) });
const again = { items: { $ref: "#/$defs/n" } };
const recursive = (n: object) => ({ ...property({ $ref: "#/$defs/n" }), $defs: { n } });
const deep = (depth: number): unknown => (depth === 0 ? [] : [deep(depth - 1)]);
const list = (length: number, make: (n: number) => unknown) =>
  Array.from({ length }, (_, n) => make(n));
const names = (length: number) =>
  Object.fromEntries(list(length, (n) => [`n${n}`, 1]) as [string, 1][]);

/** An accepted schema, and a value with the most expensive check. */
export const hostileChecks: readonly [name: string, parameters: object, a: unknown][] = [
  [
    "alternatives at each level",
    recursive({ anyOf: list(15, () => ({ ...again, maxItems: 1 })) }),
    deep(60),
  ],
  [
    "nested conditions",
    recursive(Object.fromEntries(["if", "then", "else"].map((key) => [key, again]))),
    deep(60),
  ],
  [
    "searches in a long list",
    all(200, (n) => ({ contains: { const: n } })),
    list(50_000, () => -1),
  ],
  ["a long list of unique items", all(200, () => ({ uniqueItems: true })), list(30_000, (n) => n)],
  [
    "many choices for each item",
    property({ items: { enum: list(5_000, (n) => n) } }),
    list(30_000, () => -1),
  ],
  [
    "many requirements for each item",
    property({ items: { required: list(2_500, (n) => `${n}`) } }),
    list(80_000, () => ({})),
  ],
  [
    "an automaton with exponential states",
    property({ pattern: "(a|b)*a[ab]{900}c" }),
    "ab".repeat(120_000),
  ],
  [
    "a pattern that backtracks elsewhere",
    property({ pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" }),
    "a".repeat(200_000),
  ],
  ["many patterns", all(60, (n) => ({ pattern: `(a|b)*c${n}` })), "ab".repeat(100_000)],
  [
    "patterns of property names",
    property({ patternProperties: { "(a|b)*c$": false, "^n[0-9]{1,400}x": false } }),
    names(20_000),
  ],
  ["many unexpected names", property({ additionalProperties: false }), names(20_000)],
  [
    "many numbers",
    property({ items: { type: "number", multipleOf: 1e-300 } }),
    list(60_000, () => 1.5),
  ],
];

/** Schemas that are refused, or expensive to accept. */
export const hostileSchemas: readonly [name: string, parameters: object][] = [
  ["a reference to itself", { type: "object", $ref: "#" }],
  [
    "a chain that doubles at each level",
    {
      type: "object",
      $ref: "#/$defs/d0",
      $defs: Object.fromEntries(
        list(60, (n) => [
          `d${n}`,
          { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${(n + 1) % 60}` })) },
        ]) as [string, object][],
      ),
    },
  ],
  ["repeats of repeats", property({ pattern: "((a{90}){90}){90}" })],
  ["classes of Unicode", all(90, (n) => ({ pattern: `[\\p{L}\\p{N}]{1,2}${n}` }))],
  ["a pattern of 4,000 parts", property({ pattern: "(a|b){900}c{900}" })],
  ["450 schemas", all(450, (n) => ({ minLength: n }))],
  ["30 KB of choices", property({ enum: list(5_000, (n) => n) })],
  ["a schema above the size limit", property({ enum: list(40_000, (n) => n) })],
];

/** Maximum length of arguments. */
const ARGUMENTS_CHARACTERS = 250_000;
const listOf = (item: string) => `{"a":[${fill(`${item},`, ARGUMENTS_CHARACTERS).slice(0, -1)}]}`;

/** Hostile arguments for any tool. */
export const hostileArguments: readonly [name: string, text: string][] = [
  ...["1", "{}", "[]", '""', "[[[[[[1]]]]]]", '{"a":{"b":1}}', "1e-7", "true"].map(
    (item) => [`a list of ${item}`, listOf(item)] as [string, string],
  ),
  ["names", JSON.stringify(names(20_000))],
  ["one text", `{"a":"${"x".repeat(ARGUMENTS_CHARACTERS)}"}`],
  ["escapes", `{"a":"${fill("\\u00e9", ARGUMENTS_CHARACTERS)}"}`],
  ["quotes", `{"a":"${fill('\\"', ARGUMENTS_CHARACTERS)}"}`],
  ["spaces", `{"a":${" ".repeat(ARGUMENTS_CHARACTERS)}1}`],
  ["digits", `{"a":${"1".repeat(ARGUMENTS_CHARACTERS)}}`],
  ["brackets", "[".repeat(ARGUMENTS_CHARACTERS)],
  ["half a string", `{"a":"${"\\".repeat(ARGUMENTS_CHARACTERS)}`],
];

const RESULT_CHARACTERS = 1_000_000;
/** Hostile results that are searched for addresses. */
export const hostileResults: readonly [name: string, text: string][] = [
  ...["x", "&amp;", "(", ")", ".", "é", ",", "/..", "\\u002f"].map((unit) => {
    const address = `https://a.b/${fill(unit, 800)}`;
    return [`addresses of many ${unit}`, fill(address, RESULT_CHARACTERS)] as [string, string];
  }),
  ["short addresses", fill("https://a.b/c,x(;é ", RESULT_CHARACTERS)],
  ["names", fill("a.com/x,", RESULT_CHARACTERS)],
  ["schemes", fill("https://", RESULT_CHARACTERS)],
];

const TEXT_CHARACTERS = 240_000;
/** Texts that are slow to tokenize. */
export const hostileTexts: readonly [name: string, text: string][] = [
  ..."a| |\n|漢|😀|\u0301|-=|1|👩‍👩‍👧‍👦|ภาษาไทย|aB|'s|\u200b"
    .split("|")
    .map((unit) => [JSON.stringify(unit), fill(unit, TEXT_CHARACTERS)] as [string, string]),
];
