// Tests a full-text index: ranking, arbitrary queries, scripts and snippets.
import { describe, expect, test } from "bun:test";
import { FullTextIndex } from "../../src/database/index.ts";

const addPage = (
  index: FullTextIndex,
  title: string,
  text: string,
  language: string | null = null,
  url = `https://search.example/${title}`,
) => index.add({ title, url, language, text });

const fill = (pages: Record<string, string>): FullTextIndex => {
  const index = new FullTextIndex();
  index.write(() => {
    for (const [title, text] of Object.entries(pages)) addPage(index, title, text);
  });
  return index;
};

const findTitles = (
  index: FullTextIndex,
  query: string,
  limit = 10,
  language: string | null = null,
) => index.search(query, { limit, language }).map(({ title }) => title);

const OASIS = {
  Palms: "Dates grow on palms beside the water of an oasis.",
  Wells: "A well is dug where water lies deep. Water is drawn from a well by hand.",
  Camels: "A camel carries dates and salt through the desert.",
};

describe("the ranking", () => {
  test("puts the page with more words of a query first", () => {
    expect(findTitles(fill(OASIS), "water well")).toEqual(["Wells", "Palms"]);
  });

  test("lists equally good pages in the order in which they were added", () => {
    const index = new FullTextIndex();
    const urls = ["c", "a", "b"].map((name) => `https://search.example/${name}`);
    for (const url of urls) addPage(index, "Wells", "Deep water.", null, url);
    const found = index.search("water", { limit: 10, language: null });
    expect(found.map(({ url }) => url)).toEqual(urls);
    expect(index.search("water", { limit: 1, language: null })).toMatchObject([{ url: urls[0]! }]);
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

  test("returns at most the requested pages, each once however many of its parts match", () => {
    const index = fill(OASIS);
    for (let part = 0; part < 20; part++) {
      addPage(index, "Rivers", `Water flows, part ${part}.`);
    }
    expect(findTitles(index, "water", 2)).toHaveLength(2);
    expect(findTitles(index, "water").toSorted()).toEqual(["Palms", "Rivers", "Wells"]);
  });

  test("returns the best page of each url, and the others after it", () => {
    const index = new FullTextIndex();
    const url = "https://docs.example/";
    for (const text of ["sand", "water water", "water and much more of it than that"]) {
      addPage(index, text, text, null, url);
    }
    addPage(index, "Spring", "a spring of water lies where the mountain begins");
    expect(findTitles(index, "water", 2)).toEqual(["water water", "Spring"]);
  });

  test("ignores the most frequent words of a query where they would take long", () => {
    const index = new FullTextIndex();
    index.write(() => {
      for (let page = 0; page < 2_100; page++) addPage(index, `Page ${page}`, "sand and stone");
      addPage(index, "Spring", "a spring");
    });
    expect(findTitles(index, "sand spring")).toEqual(["Spring"]);
    expect(findTitles(index, "sand stone")).toHaveLength(10);
  });

  test("searches the first 32 words of a query", () => {
    const index = fill({ Last: "the last word", Next: "the next word" });
    const others = Array.from({ length: 31 }, (_, n) => `other${n}`).join(" ");
    expect(findTitles(index, `${others} last next`)).toEqual(["Last"]);
  });

  test("excludes pages in another language than the requested one", () => {
    const index = new FullTextIndex();
    addPage(index, "Water", "water", "en");
    addPage(index, "Eau", "water", "fr");
    addPage(index, "Any", "water");
    expect(findTitles(index, "water", 10, "fr").toSorted()).toEqual(["Any", "Eau"]);
    expect(findTitles(index, "water")).toHaveLength(3);
  });

  test("does not find a removed row", () => {
    const index = fill(OASIS);
    const row = addPage(index, "Rain", "Rain is water.");
    expect(findTitles(index, "rain")).toEqual(["Rain"]);
    index.remove(row);
    expect(findTitles(index, "rain")).toEqual([]);
    index.close();
  });
});

describe("a query may be any text", () => {
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

  test("every character is accepted, alone and in a word", () => {
    const index = fill(OASIS);
    const alone = [];
    // Samples each block of Unicode, by a step that is no power of two.
    for (let code = 1; code < 0x11_0000; code += 37) alone.push(String.fromCodePoint(code));
    const found = alone.flatMap((one) => [
      ...findTitles(index, one),
      ...findTitles(index, `q${one}x`),
    ]);
    // The letters of "A camel", "A well".
    expect(found.every((title) => title in OASIS)).toBe(true);
  });

  test("only the first words of a very long query are searched", () => {
    const many = Array.from({ length: 40 }, (_, at) => `nothing${at}`).join(" ");
    expect(findTitles(fill(OASIS), `${many} camel`)).toEqual([]);
    expect(findTitles(fill(OASIS), `camel ${many}`)).toEqual(["Camels"]);
  });
});

describe("scripts", () => {
  const index = fill({
    Arabic: "كتب الولد رسالة إلى أمه في المدينة",
    Hindi: "नमस्ते दुनिया की भाषा",
    French: "Un café crème, place de l'Étoile",
    German: "Größe und Übermut",
  });
  const CASES: Record<string, [string, string]> = {
    Arabic: ["رسالة", "Arabic"],
    Hindi: ["दुनिया", "Hindi"],
    "French without accents": ["cafe etoile", "French"],
    "capital letters": ["ÜBERMUT", "German"],
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

  test("of a short text is all of it", () => {
    expect(cut("A camel carries salt.", "salt")).toBe("A camel carries salt.");
  });

  test("of a long text is where most of the words are", () => {
    const sand = "Sand and stone and nothing else. ".repeat(40);
    const text = `${sand}A well. ${sand}The well has water for a camel. ${sand}`;
    const snippet = cut(text, "camel well water")!;
    expect(snippet).toContain("The well has water for a camel.");
    expect(snippet).toMatch(/^….*…$/);
    expect(snippet.length).toBeLessThan(300);
  });

  test("of a page matched by its title alone is the beginning", () => {
    expect(cut("It is far away.", "page")).toBe("It is far away.");
  });
});
