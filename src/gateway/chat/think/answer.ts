// Reads the final answer out of an attempt, in a form that is equal for equal answers.
import { writeCanonical } from "../../../platform/json.ts";

/** Maximum length of an answer that is normalized; a longer one is compared unchanged. */
const ANSWER_CHARACTERS_MAX = 2_000;
/** `Answer:`, `**Final answer**:`, `The answer is:`, `الإجابة:`, `الجواب النهائي:`. */
const LABEL = new RegExp(
  "(?<![\\p{L}\\p{N}])(?:(?:the )?(?:final )?answer(?: is)?|" +
    "(?:ال[إا]جابة|الجواب)(?: النهائية?)?)[ \\t\"'*_`]{0,6}[:：]",
  "giu",
);
/** A line of its own: `### Final Answer`, `**Answer**`. */
const HEADING =
  /^[ \t#>*_]{0,12}(?:(?:the )?(?:final )?answer|ال[إا]جابة|الجواب)[ \t*_\r]{0,6}$/gimu;
/** `#### 42`; in front of words it is a heading of Markdown. */
const HASHES = /^####(?=[^\p{L}#\n]*\p{N}[^\p{L}\n]*$)/gmu;
const BOX = "\\boxed{";
const MEANINGFUL = /[\p{L}\p{N}]/u;

/** Returns the key of the reply's answer; "" if the reply is empty. */
export function readAnswer(reply: string): string {
  const json = readJson(reply);
  if (json !== undefined) return json;
  const { index, answer } = findMarked(reply);
  const marked = normalizeAnswer(answer);
  if (marked !== "") return marked;
  const lines = reply.slice(0, index).split("\n");
  return normalizeAnswer(lines.findLast((line) => MEANINGFUL.test(line)) ?? reply);
}

/** JSON as a whole is the answer: its last line says nothing. */
function readJson(reply: string): string | undefined {
  const text = reply.trim().replace(/^```(?:json)?\s*\n([\s\S]*)\n```$/, "$1");
  if (!/^[[{]\s*["{[\]}]/.test(text)) return undefined;
  try {
    return writeCanonical(JSON.parse(text)).toLowerCase();
  } catch {
    return undefined;
  }
}

function findMarked(reply: string): { index: number; answer: string } {
  let last: RegExpExecArray | undefined;
  for (const marker of [LABEL, HEADING, HASHES]) {
    for (const match of reply.matchAll(marker)) {
      if (match.index > (last?.index ?? -1)) last = match;
    }
  }
  const box = reply.lastIndexOf(BOX);
  if (box > (last?.index ?? -1)) {
    return { index: box, answer: readBraces(reply, box + BOX.length) };
  }
  if (!last) return { index: reply.length, answer: "" };
  const { index } = last;
  const rest = reply.slice(index + last[0].length);
  const [line = ""] = rest.split("\n", 1);
  if (MEANINGFUL.test(line)) return { index, answer: line };
  // A heading stands above its answer.
  const [paragraph = ""] = rest
    .slice(line.length)
    .trimStart()
    .split(/\n\s*\n/, 1);
  return { index, answer: paragraph };
}

function readBraces(text: string, start: number): string {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth += 1;
    else if (text[at] === "}") depth -= 1;
    if (depth === 0) return text.slice(start, at);
  }
  return text.slice(start);
}

const SPELLINGS: readonly [RegExp, string][] = [
  // Vowel signs and the stretching of Arabic, and characters that are not seen.
  [/[\u0640\u064b-\u0652\u0670\p{Cf}\p{Variation_Selector}]/gu, ""],
  [/[\u2010-\u2013\u2212]/g, "-"],
  [/\\[dt]?frac\s?\{([^{}]{1,200})\}\s?\{([^{}]{1,200})\}/g, "$1/$2"],
  [/\\[dt]?frac(\d)(\d)/g, "$1/$2"],
  [/\\(?:text|math|operatorname)[a-z]{0,4}\s?\{([^{}]{0,200})\}/g, "$1"],
  [/\\(?:left|right|displaystyle|quad|[,;:! ])/g, " "],
  [/\{,\}/g, ","],
  [/\\(?:times|cdot)(?![a-z])|[×·]/g, "*"],
  [/\^\{([^{}]{1,20})\}/g, "^$1"],
  [/\*\*([^*]{1,400})\*\*/g, "$1"],
  [/^[\s>]*(?:[-*+•]\s+)?[\s*_"'`$]*|[\s*_"'`$.,;:!]*$/g, ""],
  [/[$\\"“”`]/g, ""],
  // Numbers: 1,000.50 and 1 000.5, +5 and 5, .5 and 0.5.
  [/(?<=\d)[,'’_\u066c \u2009\u202f](?=\d{3}(?!\d))/g, ""],
  [/(?<=\d)\u066b(?=\d)/g, "."],
  [/(?<=\d\.\d{0,400}?)0+(?!\d)/g, ""],
  [/(?<=\d)\.(?!\d)/g, ""],
  [/(?<![\d.])0+(?=\d)/g, ""],
  [/(?<!\d)(?=\.\d)/g, "0"],
  [/^\+(?=\d)/g, ""],
  // A space between two numbers parts them.
  [/(?<!\d)\s+|\s+(?!\d)/g, ""],
  // Brackets around the whole of it: (B), [42].
  [/^(?:\(([^()[\]{},]*)\)|\[([^()[\]{},]*)\])$/g, "$1$2"],
];

function normalizeAnswer(answer: string): string {
  const text = answer.trim().normalize("NFKC").toLowerCase();
  if (text.length > ANSWER_CHARACTERS_MAX) return text;
  // The last four bits of Arabic and Persian digits are their value.
  let plain = text.replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) =>
    String(digit.charCodeAt(0) & 0xf),
  );
  for (const [spelling, same] of SPELLINGS) plain = plain.replace(spelling, same);
  return MEANINGFUL.test(plain) ? plain : answer.trim();
}
