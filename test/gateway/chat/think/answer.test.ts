// Tests the key of an answer: equal for equal answers in other forms, and otherwise different.
import { describe, expect, test } from "bun:test";
import { readAnswer } from "../../../../src/gateway/chat/think/answer.ts";

/** Each line is one answer in several forms. */
const SAME: [title: string, ...forms: string[]][] = [
  ["thousands", "1000", "1,000", "1000.0", "1 000", "1'000", "1_000", "١٠٠٠", "١٬٠٠٠", "１０００"],
  ["thousands in LaTeX", "10000", "\\boxed{10{,}000}", "$10,000$"],
  ["a fraction of one", "0.5", ".5", "0.50", "٠٫٥", "00.5"],
  ["a half", "1/2", "\\boxed{\\frac{1}{2}}", "\\boxed{\\dfrac12}", "$\\tfrac{1}{2}$", "1 / 2"],
  ["a negative", "-5", "−5", "(-5)", "\\boxed{-5}", "–5", "**-5**", "Answer: -5"],
  ["a plus", "5", "+5", "$5$", "5.", "005"],
  ["percent", "50%", "50 %", "\\boxed{50\\%}", "٥٠%"],
  ["a word", "Paris", "paris", "**Paris**.", "“Paris”", "`PARIS`", "\\boxed{\\text{Paris}}"],
  ["a choice", "B", "(B)", "**b**", "[B]", "\\boxed{\\textbf{B}}"],
  ["words", "New York", "new york!", "- New York", "> New York"],
  ["accents", "caf\u00e9", "cafe\u0301"],
  ["Arabic", "القاهرة", "القَاهِرَة", "القـاهرة.", "\u200fالقاهرة\u200f"],
  ["a product", "3*10^8", "3 × 10^8", "3 \\cdot 10^{8}", "$3\\times10^8$", "**3*10^8**"],
];

describe("equal answers in different forms have one key", () => {
  test.each(SAME)("%s", (_, ...forms) => {
    const keys = forms.map((form) => [form, readAnswer(form)]);
    expect(keys).toEqual(forms.map((form) => [form, readAnswer(forms[0]!)]));
    expect(readAnswer(forms[0]!)).not.toBe("");
  });
});

describe("different answers have different keys", () => {
  test("no two lines of one table have equal keys", () => {
    const keys = SAME.map(([, form]) => readAnswer(form!));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test.each<[string, ...answers: string[]]>([
    ["signs", "5", "-5", "5!x", "5%", "€5", "1/5", "0.5", "5^2", "√5", "~5", "|5|"],
    ["digits", "12", "1 2", "1/2", "1.2", "1:2", "2/1", "1-2", "1, -2", "1+2", "1^2"],
    ["zeros", "1", "10", "100", "1000", "0.1", "0.01", "0"],
    ["long numbers", "12345678901234567890", "12345678901234567891"],
    ["languages", "C", "C++", "C#"],
    ["times and dates", "12:30", "1230", "12.3", "2020-01-05", "2020-10-05"],
    ["names with digits", "x1", "x2", "x1 2", "x12"],
    ["intervals", "[0, 1)", "(0, 1]", "[0, 1]", "(0, 1)"],
    ["brackets", "1/(2+3)", "1/2+3", "2(-5)", "2-5", "23"],
    ["negative powers", "(-2)^n", "-2^n", "2^n", "2^-n"],
    ["variables", "x-y", "xy", "x+y", "x/y", "x=y", "x<y", "x>y", "2x - y"],
  ])("%s", (_, ...answers) => {
    const byKey = Map.groupBy(answers, readAnswer);
    expect([...byKey.values()].filter((ones) => ones.length > 1)).toEqual([]);
  });
});

describe("the extracted answer is", () => {
  const LONG = "Let me see. 7 times 6 is 42, or is it 43?\n\n";
  test.each<[string, string]>([
    ["a box", `${LONG}So \\boxed{42} it is.\nI hope this helps!`],
    ["the last of two boxes", "\\boxed{41} was wrong: \\boxed{42}"],
    ["a box that is cut short", "So \\boxed{42"],
    ["hashes", `${LONG}#### 42`],
    ["hashes before a farewell", `${LONG}#### 42\n\nI hope this helps!`],
    ["a label", `${LONG}Answer: 42\nBecause 7 times 6 is that.`],
    ["a label in bold", `${LONG}**Answer:** 42`],
    ["a label whose colon is not", `${LONG}**Final Answer**: 42.`],
    ["a label in capitals", "ANSWER : 42"],
    ["a sentence", "So the answer is: 42.\n\nGood luck!"],
    ["a label and the next line", "Answer:\n\n  - 42\n\nGood luck!"],
    ["a heading", "### Final Answer\n\n42\n\n---\nGood luck!"],
    ["a heading without anything else", "**Answer**\r\n\r\n42\r\n"],
    ["a label in Arabic", "لنحسب.\n**الإجابة:** ٤٢\nبالتوفيق!"],
    ["another", "الجواب النهائي: ٤٢"],
    ["a label before a box", "Answer: $\\boxed{42}$."],
    ["the last of two labels", "Answer: 41\nNo. Answer: 42"],
    ["the last line", `${LONG}42`],
    ["the last line with words in it", `${LONG}**42**\n\n---\n\`\`\`\n`],
    ["a label with nothing after it", "42\nAnswer:"],
    ["a heading with nothing below it", "42\n\n### Final answer:\n"],
    ["an empty box", "42\n\\boxed{}"],
  ])("%s", (_, text) => {
    expect(readAnswer(text)).toBe("42");
  });

  test("a box with the braces inside it", () => {
    const both = readAnswer("\\boxed{\\{x : x^{2} > \\frac{1}{2}\\}} and more");
    expect(both).toBe(readAnswer("{x : x^2 > 1/2}"));
  });

  test("no heading with four hashes", () => {
    expect(readAnswer("#### Step 2\nSo it is 42.\n")).toBe("soitis42");
  });

  test("no word that only ends like a label", () => {
    expect(readAnswer("unanswer: 41\n42")).toBe("42");
    expect(readAnswer("answers: 41\n42")).toBe("42");
  });

  test("all lines after a label", () => {
    const one = readAnswer("Answer:\n1. Paris\n2. Rome\n\nThat is all.");
    expect(one).toBe(readAnswer("Answer:\n1. paris\n2. **Rome**\n"));
    expect(one).not.toBe(readAnswer("Answer:\n1. Paris\n2. Bonn"));
  });

  test("the whole of a JSON value, whatever the order of its fields", () => {
    const one = readAnswer('{\n  "name": "Ada",\n  "born": 1815\n}');
    expect(one).toBe(readAnswer('{"born":1815,"name":"ADA"}'));
    expect(one).toBe(readAnswer('```json\n{"name": "Ada", "born": 1815}\n```'));
    expect(one).not.toBe(readAnswer('{\n  "name": "Bob",\n  "born": 1815\n}'));
    expect(readAnswer('[\n{"a":1},\n{"b":2}]')).not.toBe(readAnswer('[\n{"a":2},\n{"b":2}]'));
  });

  test("the punctuation itself if there is nothing else", () => {
    expect(readAnswer(" 👍 \n")).toBe("👍");
    expect(readAnswer("?!")).not.toBe(readAnswer("!"));
    for (const text of ["", " ", "\n\n"]) expect(readAnswer(text)).toBe("");
  });

  test("the whole of a very long line", () => {
    const line = "word ".repeat(10_000);
    expect(readAnswer(`${line}a`)).not.toBe(readAnswer(`${line}b`));
    expect(readAnswer(`${line}A`)).toBe(readAnswer(`${line}a\n`));
  });
});

test.each<[string, string]>([
  ["boxes", "\\boxed".repeat(160_000)],
  ["open boxes", "\\boxed{".repeat(140_000)],
  ["labels", "answer: ".repeat(125_000)],
  ["half a label", "answer ******".repeat(75_000)],
  ["hashes", "#".repeat(1_000_000)],
  ["hashes and spaces", "#### ".repeat(200_000)],
  ["hashes and digits", "#### 1\n".repeat(140_000)],
  ["brackets", "(".repeat(1_000_000)],
  ["empty lines", "\n".repeat(1_000_000)],
  ["spaces", " ".repeat(1_000_000)],
  ["headings", "# the final\n".repeat(80_000)],
  ["numbers", `Answer: ${"1,22,".repeat(390)}`],
  ["fractions", `Answer: ${"\\frac{1".repeat(280)}`],
  ["objects", '{"a":'.repeat(200_000)],
  ["objects that end", `${'{"a":'.repeat(160_000)}1${"}".repeat(160_000)}`],
  ["digits", `Answer: ${"0".repeat(1_990)}1`],
  ["decimals", `Answer: ${".0".repeat(990)}1`],
  ["emphasis", `Answer: ${"*".repeat(1_990)}1`],
])("a million characters of %s are read in linear time", (_, text) => {
  // Quadratic time would be minutes, which exceeds the test's time limit.
  expect(readAnswer(text)).toBeString();
  expect(readAnswer(`${text}\n#### 42`)).toBe("42");
});
