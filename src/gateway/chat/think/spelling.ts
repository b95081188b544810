// Writes in one way what answers write in several: digits, signs, LaTeX.

/** Where the digits of the scripts begin that models write numbers in. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xff10];
const RAISED_SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻";
const RAISED = /[⁺⁻]?[⁰¹²³⁴-⁹]{1,20}[⁺⁻]?/g;
const LOWERED = /[₀-₉]/g;
const LOWERED_ZERO = 0x2080;
const FOREIGN_DIGITS = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\uff10-\uff19]/g;
/** Vowel signs and the stretching of Arabic, and letters that are not seen: direction, joining. */
const UNSEEN = /[\u0640\u064b-\u0652\u0670\p{Cf}\p{Variation_Selector}]/gu;

/** LaTeX around words, whose braces are none of the answer's. */
const WORDS = /\\(?:(?:text|math)(?:bf|it|rm|sf|tt|cal)?|operatorname|mbox)\{([^{}]{1,200})\}/g;
/** LaTeX that only says how something looks; `\,` parts thousands. */
const LOOKS = new RegExp(
  "\\\\(?:(?:text|math)(?:bf|it|rm|sf|tt)?|operatorname|boxed|displaystyle|left|right|q?quad)" +
    "(?![a-z])",
  "g",
);
const SIGNS: Record<string, string> = {
  ...{ times: "×", cdot: "·", div: "/", pm: "±", sqrt: "√", pi: "π", infty: "∞" },
  ...{ le: "≤", leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", lt: "<", gt: ">", circ: "°" },
  ...{ mp: "∓", approx: "≈", in: "∈", notin: "∉", cup: "∪", cap: "∩", to: "→", prime: "′" },
  ...{ alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", varepsilon: "ε", zeta: "ζ" },
  ...{ eta: "η", theta: "θ", kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", rho: "ρ" },
  ...{ lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉" },
  ...{ sigma: "σ", tau: "τ", phi: "φ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω" },
};
/** Signs that are written with several letters or as one, in that order. */
const SPELLINGS: [RegExp, string][] = [
  [/<=/g, "≤"],
  [/>=/g, "≥"],
  [/!=/g, "≠"],
  [/℃/g, "°c"],
  [/℉/g, "°f"],
  [/(?<!\p{L})pi(?!\p{L})/gu, "π"],
  [/\\sqrt\s?\[([^[\]]{1,20})\]/g, "√^($1)"],
  // H₂O is H_2O.
  [/[₀-₉]{1,20}/g, "_$&"],
  [/∛/g, "√^(3)"],
  [/∜/g, "√^(4)"],
];
/** f'(x), where the answer quotes nothing. */
const PRIMES = /(?<![\p{L}\p{N}])(\p{L})(['’]{1,3})(?![\p{L}\p{N}'’])/gu;
const QUOTATION = /(?<![\p{L}\p{N}'’])['’‘]/u;
const BRACED = "\\{((?:[^{}]|\\{[^{}]{0,50}\\}){1,100})\\}";
/** One in another is written out at the second look. */
const FRACTION = new RegExp(`\\\\[dt]?frac(?:${BRACED}${BRACED}|(\\d)(\\d))`, "g");
const FRACTION_LOOKS = 2;

/** 2 ** 3 and x**2, and no bold number behind a word. */
const POWER = /(?:(?<=[\d)\]}])\s{0,4}\*\*\s{0,4}|(?<=\p{L})\*\*)(?=[-+]?\s?(?:[\d(]|\.\d))/gu;

/** One way to write what is written in several. */
export function spellAlike(answer: string): string {
  let text = answer.normalize("NFC").toLowerCase().replace(UNSEEN, "");
  for (const [spelling, sign] of SPELLINGS) text = text.replace(spelling, sign);
  text = text.replace(RAISED, (raised) => {
    const signs = Array.from(raised, (sign) => "0123456789+-"[RAISED_SIGNS.indexOf(sign)]);
    return `^(${signs.join("")})`;
  });
  text = text.replace(LOWERED, (digit) => String(digit.charCodeAt(0) - LOWERED_ZERO));
  if (!QUOTATION.test(text)) {
    text = text.replace(PRIMES, (_, letter: string, primes: string) => {
      return letter + "′".repeat(primes.length);
    });
  }
  for (let look = 0; look < FRACTION_LOOKS; look++) {
    text = text.replace(FRACTION, (_, top = "", below = "", one = "", other = "") => {
      return `(${top || one})/(${below || other})`;
    });
  }
  return text
    .replace(FOREIGN_DIGITS, (digit) => {
      const code = digit.charCodeAt(0);
      return String(code - ZEROS.findLast((zero) => zero <= code)!);
    })
    .replaceAll("{,}", ",")
    .replace(WORDS, " $1 ")
    .replace(LOOKS, " ")
    .replace(/\\([a-z]{2,10})(?![a-z])/g, (all, name: string) => SIGNS[name] ?? all)
    .replace(/\\[,;:! ]/g, "\u2009")
    .replace(/\\[()[\]]/g, " ")
    .replace(/\^\(?\{?°\}?\)?/g, "°")
    .replace(/\^\{?(′{1,3})\}?/g, "$1")
    .replace(POWER, "^");
}
