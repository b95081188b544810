// Holds the keys of answers to what is one and the same answer, and to what is another.
import { describe, expect, test } from "bun:test";
import { readKey } from "../../../../src/gateway/chat/think/key.ts";

/** Each line is one answer in several forms. */
const SAME: [title: string, ...forms: string[]][] = [
  ["thousands", "1000", "1,000", "1000.0", "1 000", "1'000", "1_000", "١٠٠٠", "١٬٠٠٠", "１０００"],
  ["more thousands", "1234567.5", "1,234,567.5", "12,34,567.50", "1 234 567,5".replace(",", ".")],
  ["thousands in LaTeX", "10000", "\\boxed{10{,}000}", "\\boxed{10\\,000}", "$10,000$"],
  ["a fraction of one", "0.5", ".5", "0.50", "٠٫٥", "00.5"],
  ["a half", "1/2", "\\boxed{\\frac{1}{2}}", "\\boxed{\\dfrac12}", "$\\tfrac{1}{2}$", "1 / 2"],
  ["a negative", "-5", "−5", "(-5)", "\\boxed{-5}", "–5", "**-5**", "Answer: - 5"],
  ["a plus", "5", "+5", "$5", "$5$", "\\$5", "5.", "005"],
  ["percent", "50%", "50 %", "\\boxed{50\\%}", "٥٠٪"],
  ["a word", "Paris", "paris", "**Paris**.", "“Paris”", "`PARIS`", "\\boxed{\\text{Paris}}"],
  ["a choice", "B", "(B)", "**b)**", "[B]", "\\boxed{\\textbf{B}}"],
  ["words", "New York", "new york!", "New-York", "newyork", "- New York", "> New York"],
  ["accents", "caf\u00e9", "cafe\u0301"],
  ["Arabic", "القاهرة", "القَاهِرَة", "القـاهرة.", "\u200fالقاهرة\u200f"],
  ["a list", "1, 2, 3", "(1, 2, 3)", "{1; 2; 3}", "\\boxed{\\{1, 2, 3\\}}", "[1,2,3]"],
  ["an expression", "(x + 1)^2", "(x+1)^{2}", "((x+1)^2)", "$(X+1)^2$"],
  ["a difference", "10 - 5", "10-5", "10 – 5", "10 − 5"],
  ["a product", "3*10^8", "3 × 10^8", "3 \\cdot 10^{8}", "$3\\times10^8$", "**3*10^8**", "3*10**8"],
  ["an angle", "90°", "90^\\circ", "90^{\\circ}"],
  ["a power", "10^2", "10²", "10^{2}", "10**2"],
  ["an index", "H_2O", "H₂O", "H2O"],
  ["a root in a fraction", "\\frac{\\sqrt{3}}{2}", "√3/2", "\\sqrt{3}/2", "(√3)/2"],
  ["a fraction in one", "\\frac{1}{1+\\frac{1}{n}}", "1/(1+1/n)"],
  ["a cube root", "\\sqrt[3]{8}", "∛8"],
  ["Greek", "2\\pi", "2π", "2pi", "$2 \\pi$"],
  ["a bound", "x ≤ 1", "x <= 1", "x \\le 1", "$x\\leq1$"],
  ["inequality", "x ≠ 1", "x != 1", "x \\neq 1"],
  ["a unit", "5 cm^2", "5\\text{ cm}^2", "5\\,\\mathrm{cm}^{2}", "5 cm²"],
  ["degrees", "5°C", "5℃", "5 °C", "5^\\circ C", "5^{\\circ}\\text{C}"],
  ["an interval", "[0, 1)", "[0,1)", "\\left[0, 1\\right)", "$[0,1.0)$"],
  ["a ray", "(-∞, 2]", "(−∞,2]", "(-\\infty, 2]"],
  ["pairs", "(1,2), (3,4)", "{(1,2),(3,4)}", "\\{(1, 2); (3, 4)\\}"],
  ["a pair of signs", "(2, -3)", "2, -3", "2; - 3", "{+2, −3}"],
  ["a derivative", "f'(x) = 2x", "f’(x)=2x", "$f^{\\prime}(x) = 2x$"],
  ["a quoted letter", "Option A", "'Option A'", "option A."],
  ["a name with a number", "COVID-19", "covid 19"],
  ["an emoji beside it", "42", "✅ 42", "42 🎉"],
];

describe("one answer in many forms has one key", () => {
  test.each(SAME)("%s", (_, ...forms) => {
    const keys = forms.map((form) => [form, readKey(form)]);
    expect(keys).toEqual(forms.map((form) => [form, readKey(forms[0]!)]));
    expect(readKey(forms[0]!)).not.toBe("");
  });
});

describe("other answers have other keys", () => {
  test("of one table, no two lines meet", () => {
    const keys = SAME.map(([, form]) => readKey(form!));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test.each<[string, ...answers: string[]]>([
    ["signs", "5", "-5", "5!", "5%", "€5", "1/5", "0.5", "5^2", "√5", "~5", "|5|", "|-5|"],
    [
      "digits",
      "12",
      "1 2",
      "1/2",
      "1.2",
      "1:2",
      "2/1",
      "1-2",
      "1, -2",
      "1+2",
      "1^2",
      "-1/2",
      "1,-2.0",
    ],
    ["zeros", "1", "10", "100", "1000", "0.1", "0.01", "0,100", "0"],
    ["powers", "2^{3}4", "2^{34}", "2^3+4", "2^{3+4}", "102", "10^2", "10^{-2}"],
    ["products", "2*3", "2 ** 3", "2 3", "23", "2+3", "2*-3", "-2*3", "(2+3)*4", "2+3*4"],
    ["brackets", "1/(2+3)", "1/2+3", "(1/2-3)", "2(-5)", "2-5", "2(3)", "23"],
    ["mixed numbers", "1 1/2", "11/2", "1½", "1/2"],
    ["long numbers", "12345678901234567890", "12345678901234567891", "0.1234567890123456789"],
    ["languages", "C", "C++", "C#"],
    ["versions", "1.2.3", "1.23", "12.3", "1.2.30"],
    ["times and dates", "12:30", "1230", "12.30", "2020-01-05", "2020-10-05"],
    ["names with digits", "x1", "x01", "x1 2", "x12"],
    ["intervals", "[0, 1]", "(0, 1)", "[0, 1)", "(0, 1]"],
    ["lists in lists", "(1,2),(3,4)", "(1,2,3,4)", "(1,2),3,4", "1,(2,3),4"],
    ["negative powers", "(-2)^n", "-2^n", "2^n", "2^-n", "(-2)^(-n)"],
    ["products to a power", "(ab)^2", "ab^2", "(ab)!", "ab!"],
    ["exponents", "2^{xy}", "2^{x}y", "2^x+y"],
    ["roots", "\\sqrt{2}x", "\\sqrt{2x}", "\\sqrt[3]{2}x", "\\sqrt{3}2x", "2x"],
    ["functions", "2 - \\sin x", "2 \\sin x", "2 + sin x", "2-cos(x)", "2cos(x)"],
    ["Greek letters", "\\alpha - 1", "\\alpha 1", "\\beta - 1", "\\alpha-\\beta", "\\alpha\\beta"],
    ["factorials", "n", "n!", "n!!", "(2n)!", "2n!"],
    ["derivatives", "f(x)", "f'(x)", "f''(x)"],
    ["rounding", "x", "⌊x⌋", "\\lceil x\\rceil"],
    ["grades", "A", "A+", "A-", "B-"],
    ["charges", "Cl", "Cl-", "Na+", "Ca^{2+}", "Ca^2"],
    ["keys and cards", "B", "B♭", "B♯", "K♥", "K♠"],
    ["parts of a whole", "5", "5%", "5‰", "5℃", "5℉"],
    ["logic", "a", "!a", "a=b", "a!=b"],
    ["lists of signs", "3, -5", "3-5", "3, 5"],
    ["numbered versions", "v1.1", "v1.10", "v11.0"],
    ["variables", "x-y", "xy", "x+y", "x/y", "x=y", "x<y", "x>y", "2x - y"],
  ])("%s", (_, ...answers) => {
    const byKey = Map.groupBy(answers, readKey);
    const met = [...byKey.values()].filter((ones) => ones.length > 1);
    // These two are one list in two forms.
    const list = ["1, -2", "1,-2.0"];
    expect(met.filter((ones) => !Bun.deepEquals(ones, list))).toEqual([]);
  });
});

const NUMBERS = ["0", "1", "2", "-2", "12", "100", "1,000", "0.5", "-.5", "1.50", "1000.0", "٢"];
const OPERATIONS: [signs: string[], compute: (one: number, other: number) => unknown][] = [
  [["+", " + "], (one, other) => one + other],
  [["-", " - ", " − ", "–"], (one, other) => one - other],
  [["*", " * ", "×", " · "], (one, other) => one * other],
  [["/", " / "], (one, other) => `${one} by ${other}`],
  [["^", " ^ ", "**", " ** "], (one, other) => `${one} to the power of ${other}`],
  [[", ", "; ", " and "], (one, other) => `both ${one} and ${other}`],
];
const readValue = (text: string) => Number(text.replace("٢", "2").replace(",", ""));

/** Every two of the numbers with every sign between them, and its value. */
function* listTerms(): Generator<[text: string, value: unknown]> {
  for (const one of NUMBERS) {
    yield [one, readValue(one)];
    for (const other of NUMBERS)
      for (const [signs, compute] of OPERATIONS)
        for (const sign of signs)
          yield [one + sign + other, compute(readValue(one), readValue(other))];
  }
}

test("of all sums, products and powers of some numbers no two of different value meet", () => {
  const terms = [...listTerms()];
  const byKey = Map.groupBy(terms, ([text]) => readKey(text));
  const met = [...byKey.values()].filter((all) => new Set(all.map(([, value]) => value)).size > 1);
  expect(met).toEqual([]);
  expect(byKey.size).toBeGreaterThan(500);
});

describe("where the answer stands", () => {
  const LONG = "Let me see. 7 times 6 is 42, or is it 43?\n\n";
  test.each<[string, string]>([
    ["a box", `${LONG}So \\boxed{42} it is.\nI hope this helps!`],
    ["the last of two boxes", "\\boxed{41} was wrong: \\boxed{42}"],
    ["a box that is cut short", "So \\boxed{42"],
    ["a box that is only spoken of behind it", "\\boxed{42}: I use \\boxed for it"],
    ["hashes", `${LONG}#### 42`],
    ["hashes before a farewell", `${LONG}#### 42\n\nI hope this helps!`],
    ["a label", `${LONG}Answer: 42\nBecause 7 times 6 is that.`],
    ["a label in bold", `${LONG}**Answer:** 42`],
    ["a label whose colon is not", `${LONG}**Final Answer**: 42.`],
    ["a label in capitals", "ANSWER : 42"],
    ["a sentence", "So the answer is: 42.\n\nGood luck!"],
    ["a label of JSON", '{"steps": 3, "answer": "42"}'],
    ["a label and the next line", "Answer:\n\n  - 42\n\nGood luck!"],
    ["a heading", "### Final Answer\n\n42\n\n---\nGood luck!"],
    ["a heading without anything else", "**Answer**\r\n\r\n42\r\n"],
    ["a label in Arabic", "لنحسب.\n**الإجابة:** ٤٢\nبالتوفيق!"],
    ["another", "الجواب النهائي: ٤٢"],
    ["a label before a box", "Answer: $\\boxed{42}$."],
    ["the last of two labels", "Answer: 41\nNo. Answer: 42"],
    ["the last line", `${LONG}42`],
    ["the last line with words in it", `${LONG}**42**\n\n---\n\`\`\`\n`],
    ["a label with nothing behind it", "42\nAnswer:"],
    ["a heading with nothing below it", "42\n\n### Final answer:\n"],
    ["an empty box", "42\n\\boxed{}"],
  ])("%s", (_, text) => {
    expect(readKey(text)).toBe("42");
  });

  test("boxes that are listed are one answer", () => {
    const both = readKey("\\boxed{2, 3}");
    expect(readKey("$x = \\boxed{2}$ or $x = \\boxed{3}$.")).toBe(both);
    expect(readKey("\\boxed{2}, \\boxed{3}")).toBe(both);
    expect(readKey("x=\\boxed{2} \\text{ and } y=\\boxed{3}")).toBe(both);
    expect(readKey("$x=\\boxed{2}$, $y=\\boxed{3}$")).toBe(both);
    expect(readKey("\\boxed{3}\n\n\\boxed{3}")).toBe("3");
    expect(readKey("\\boxed{2}, but \\boxed{3}")).toBe("3");
    expect(readKey("First \\boxed{2}.\n\nSo it is \\boxed{3}")).toBe("3");
  });

  test("a box keeps the braces inside it", () => {
    expect(readKey("\\boxed{\\{x : x^{2} > \\frac{1}{2}\\}} and more")).toBe("xx^2>1/2");
    expect(readKey("\\boxed{\\text{a}\\}b} c")).toBe(readKey("a}b"));
  });

  test("a heading of four hashes is no answer", () => {
    expect(readKey("#### Step 2\nSo it is 42.\n")).toBe("soitis42");
    expect(readKey("#### 42 things\nMany.\n")).toBe("many");
  });

  test("a word that only ends like a label is none", () => {
    expect(readKey("unanswer: 41\n42")).toBe("42");
    expect(readKey("answers: 41\n42")).toBe("42");
  });

  test("several lines below a label are one answer", () => {
    const one = readKey("Answer:\n1. Paris\n2. Rome\n\nThat is all.");
    expect(one).toBe(readKey("Answer:\n1. paris\n2. **Rome**\n"));
    expect(one).not.toBe(readKey("Answer:\n1. Paris\n2. Bonn"));
  });

  test("an object of JSON is one answer, and not its last line", () => {
    const one = readKey('{\n  "name": "Ada",\n  "born": 1815.0\n}');
    expect(one).toBe(readKey('{"born":1815,"name":"ADA"}'));
    expect(one).toBe(readKey('```json\n{"name": "Ada", "born": 1815}\n```'));
    expect(one).not.toBe(readKey('{\n  "name": "Bob",\n  "born": 1815\n}'));
    expect(readKey('[\n{"a":1},\n{"b":2}]')).not.toBe(readKey('[\n{"a":2},\n{"b":2}]'));
    const long = (digit: number) => [
      `{"a": 1234567890123456789${digit}}`,
      `{"answer": 1234567890123456789${digit}}`,
    ];
    expect(new Set([...long(1), ...long(2)].map(readKey)).size).toBe(4);
    expect(readKey('{"answer": 42, "why": "six sevens"}')).toBe("42");
    expect(readKey('{"answer": {"a": 1}, "why": "x"}')).toBe(readKey('{"answer":{"a":1.0}}'));
  });

  test("nothing but signs is the answer itself, and nothing is nothing", () => {
    expect(readKey(" 👍 \n")).toBe("👍");
    expect(readKey("?!")).not.toBe(readKey("!"));
    for (const text of ["", " ", "\n\n"]) expect(readKey(text)).toBe("");
  });

  test("a very long line is compared whole", () => {
    const line = "word ".repeat(10_000);
    expect(readKey(`${line}a`)).not.toBe(readKey(`${line}b`));
    expect(readKey(`${line}A`)).toBe(readKey(`${line}a\n`));
  });
});

test.each<[string, string]>([
  ["boxes", "\\boxed".repeat(160_000)],
  ["open boxes", "\\boxed{".repeat(140_000)],
  ["labels", "answer: ".repeat(125_000)],
  ["half a label", "answer ******".repeat(75_000)],
  ["hashes", "#".repeat(1_000_000)],
  ["hashes and spaces", "#### ".repeat(200_000)],
  ["brackets", "(".repeat(1_000_000)],
  ["empty lines", "\n".repeat(1_000_000)],
  ["spaces", " ".repeat(1_000_000)],
  ["headings", "# the final\n".repeat(80_000)],
  ["numbers", `Answer: ${"1,22,".repeat(390)}`],
  ["fractions", `Answer: ${"\\frac{1".repeat(280)}`],
  ["objects", '{"a":'.repeat(200_000)],
  ["objects that end", `${'{"a":'.repeat(160_000)}1${"}".repeat(160_000)}`],
  ["braces", `Answer: ${"\\frac{{a}".repeat(215)}`],
  ["separators", `Answer: ${"[1;".repeat(650)}`],
  ["primes and powers", `Answer: ${"a''²".repeat(480)}`],
  ["digits", `Answer: ${"0".repeat(1_990)}1`],
])("a million characters of %s are read in linear time", (_, text) => {
  // Squared it would take minutes, and the time limit of the test end it.
  expect(readKey(text)).toBeString();
  expect(readKey(`${text}\n#### 42`)).toBe("42");
});
