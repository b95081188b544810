// An index of texts: what it ranks first, whatever a query holds, in any script, and its snippets.
import { describe, expect, test } from "bun:test";
import { createFullText, type FullText } from "../../src/database/index.ts";

const addPage = (index: FullText, title: string, text: string, language: string | null = null) => {
  const page = index.addPage({ title, url: `https://search.example/${title}`, language });
  index.addPart(page, text);
  return page;
};

const fill = (pages: Record<string, string>): FullText => {
  const index = createFullText();
  index.write(() => {
    for (const [title, text] of Object.entries(pages)) addPage(index, title, text);
  });
  return index;
};

const findTitles = (index: FullText, query: string, limit = 10, language: string | null = null) =>
  index.search(query, { limit, language }).map(({ title }) => title);

const OASIS = {
  Palms: "Dates grow on palms beside the water of an oasis.",
  Wells: "A well is dug where water lies deep. Water is drawn from a well by hand.",
  Camels: "A camel carries dates and salt through the desert.",
};

describe("the ranking", () => {
  test("puts the page with more of a query's words first", () => {
    expect(findTitles(fill(OASIS), "water well")).toEqual(["Wells", "Palms"]);
  });

  test("weighs a word in the title more than one in the text", () => {
    const index = fill({
      Trees: "Palms and salt. Palms are tall.",
      Palms: "They are tall and give dates in the autumn.",
      Salt: "It is carried far.",
      Sand: "It is carried further.",
      Wind: "It carries.",
    });
    expect(findTitles(index, "palms")).toEqual(["Palms", "Trees"]);
  });

  test("finds other forms of an English word", () => {
    expect(findTitles(fill(OASIS), "carrying")).toEqual(["Camels"]);
  });

  test("gives no more pages than are wanted, each once however many of its parts are found", () => {
    const index = fill(OASIS);
    const long = index.addPage({ title: "Rivers", url: "https://search.example/", language: null });
    for (let part = 0; part < 20; part++) index.addPart(long, `Water flows, part ${part}.`);
    expect(findTitles(index, "water", 2)).toHaveLength(2);
    expect(findTitles(index, "water").toSorted()).toEqual(["Palms", "Rivers", "Wells"]);
  });

  test("gives the best of the pages with one url, and the others behind it", () => {
    const index = createFullText();
    const url = "https://docs.example/";
    for (const text of ["sand", "water water", "water and much more of it than that"]) {
      index.addPart(index.addPage({ title: text, url, language: null }), text);
    }
    addPage(index, "Spring", "a spring of water lies where the mountain begins");
    expect(findTitles(index, "water", 2)).toEqual(["water water", "Spring"]);
  });

  test("leaves the most frequent words of a query out where they would take long", () => {
    const index = createFullText();
    index.write(() => {
      for (let page = 0; page < 2_100; page++) addPage(index, `Page ${page}`, "sand and stone");
      addPage(index, "Spring", "a spring");
    });
    expect(findTitles(index, "sand spring")).toEqual(["Spring"]);
    expect(findTitles(index, "sand stone")).toHaveLength(10);
  });

  test("a page of another language than the one asked for is left out", () => {
    const index = createFullText();
    addPage(index, "Water", "water", "en");
    addPage(index, "Eau", "water", "fr");
    addPage(index, "Any", "water");
    expect(findTitles(index, "water", 10, "fr").toSorted()).toEqual(["Any", "Eau"]);
    expect(findTitles(index, "water")).toHaveLength(3);
  });

  test("what was taken out is found no more", () => {
    const index = fill(OASIS);
    const page = addPage(index, "Rain", "Rain is water.");
    expect(findTitles(index, "rain")).toEqual(["Rain"]);
    index.remove(page);
    expect(findTitles(index, "rain")).toEqual([]);
    expect(index.count()).toBe(3);
    index.close();
  });
});

describe("a query is anybody's text", () => {
  const NO_HITS = [
    '" OR *',
    "NEAR(",
    "NEAR(zebra okapi, 2)",
    "zebra:okapi",
    "^",
    "*",
    '"',
    "{title text} : zebra",
    "zebra' --",
    "😀".repeat(400),
    "!?… —",
    " ",
    "\0",
    "\ud800",
    "\u0640",
  ];
  for (const query of NO_HITS) {
    test(`${JSON.stringify(query.slice(0, 20))} finds nothing and breaks nothing`, () => {
      expect(findTitles(fill(OASIS), query)).toEqual([]);
    });
  }

  for (const query of ["-camel", '"camel', "text:camel", "camel NOT salt", "camel*", "(camel"]) {
    test(`${query} finds the word in it`, () => {
      expect(findTitles(fill(OASIS), query)).toEqual(["Camels"]);
    });
  }

  test("every character alone and in a word is taken", () => {
    const index = fill(OASIS);
    const alone = [];
    // Each block of Unicode, by a step that is no power of two.
    for (let code = 1; code < 0x11_0000; code += 37) alone.push(String.fromCodePoint(code));
    const found = alone.flatMap((one) => [
      ...findTitles(index, one),
      ...findTitles(index, `q${one}x`),
    ]);
    // The letters of "A camel", "A well".
    expect(found.every((title) => title in OASIS)).toBe(true);
  });

  test("of very many words only the first ones are looked for", () => {
    const many = Array.from({ length: 40 }, (_, at) => `nothing${at}`).join(" ");
    expect(findTitles(fill(OASIS), `${many} camel`)).toEqual([]);
    expect(findTitles(fill(OASIS), `camel ${many}`)).toEqual(["Camels"]);
  });
});

describe("scripts", () => {
  const index = fill({
    Arabic: "كَتَبَ الوَلَدُ رسالةً إلى أُمّه في المدينة سنة ١٩٩٩",
    Chinese: "我们使用搜索引擎。今天天气很好",
    Japanese: "ガソリンと東京タワー",
    Hindi: "नमस्ते दुनिया की भाषा",
    French: "Un café crème, place de l'Étoile",
    German: "Größe und Übermut",
    Greek: "Η γλώσσα της Ελλάδας",
  });
  const CASES: Record<string, [string, string]> = {
    "Arabic without vowel signs": ["كتب", "Arabic"],
    "Arabic without the article": ["ولد", "Arabic"],
    "Arabic with it, where the text has another": ["والمدينة", "Arabic"],
    "Arabic with another hamza and ending": ["امه رساله", "Arabic"],
    "digits of another row": ["1999", "Arabic"],
    "two Chinese characters inside a sentence": ["搜索", "Chinese"],
    "one Chinese character": ["擎", "Chinese"],
    "one Chinese character at the end": ["好", "Chinese"],
    "half-width katakana": ["ｶﾞｿﾘﾝ", "Japanese"],
    "Hindi, whose vowel signs are no accents": ["दुनिया", "Hindi"],
    "French without accents": ["cafe etoile", "French"],
    "capital letters": ["ÜBERMUT", "German"],
    "Greek without accents": ["γλωσσα", "Greek"],
  };
  for (const [what, [query, title]] of Object.entries(CASES)) {
    test(`${what} is found`, () => {
      expect(findTitles(index, query)).toEqual([title]);
    });
  }
});

describe("the snippet", () => {
  const cut = (text: string, query: string) =>
    fill({ Page: text }).search(query, { limit: 1, language: null })[0]?.snippet;

  test("of a short text is all of it, in one line", () => {
    expect(cut("A camel\n  carries\tsalt.", "salt")).toBe("A camel carries salt.");
  });

  test("of a long one is where most of the words stand, cut between words", () => {
    const sand = "Sand and stone and nothing else. ".repeat(40);
    const text = `${sand}A well. ${sand}The well has water for a camel. ${sand}`;
    const snippet = cut(text, "camel well water")!;
    expect(snippet).toContain("The well has water for a camel.");
    expect(snippet).toMatch(/^…\w+ .* \S+…$/);
    expect(snippet.length).toBeLessThanOrEqual(242);
  });

  test("of a page that only its title names is the beginning", () => {
    expect(cut("It is far away.", "page")).toBe("It is far away.");
  });

  test("keeps the writing of the text, and no half of a character", () => {
    expect(cut(`${"😀".repeat(300)} كَتَبَ الوَلَدُ`, "كتب")).toEndWith("كَتَبَ الوَلَدُ");
    const faces = cut(`camel ${"😀".repeat(300)}`, "camel")!;
    expect(faces.isWellFormed()).toBe(true);
  });
});
