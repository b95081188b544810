// Tests a Markdown file as rows of the index: its front matter, title and plain text.
import { describe, expect, test } from "bun:test";
import { readPage } from "../../../../src/gateway/search/stub/page.ts";

const read = (markdown: string) => readPage("folder/page.md", markdown)[0]!;

describe("a page's head", () => {
  test("is simple lines of front matter, quoted or not", () => {
    const page = read(
      '---\r\ntitle: "The well: a story"\r\nurl: https://docs.example/a b\r\ntags:\r\n  - one\r\nlang: AR\r\n---\r\n# Other\r\n\r\nText',
    );
    expect(page).toEqual({
      title: "The well: a story",
      url: "https://docs.example/a%20b",
      language: "ar",
      text: "Text",
    });
  });

  test("is text if it has no end", () => {
    const page = read("---\ntitle: Never\n\nText");
    expect(page.title).toBe("page");
    expect(page.text).toContain("title: Never");
  });

  test("ignores unusable links", () => {
    for (const url of [
      "javascript:alert(1)",
      "/path",
      "ftp://a.example/",
      "https://",
      "''",
      "https://user:password@a.example/",
      `https://a.example/${"ش".repeat(1_000)}`,
    ]) {
      expect(read(`---\nurl: ${url}\n---\n`).url).toBe("https://search.example/folder/page");
    }
  });

  test("has the first heading as its title, which the text does not repeat", () => {
    for (const heading of ["# The **old** well #", "The old well\n===", "### The old `well`"]) {
      expect(read(`Before.\n\n${heading}\n\nText`)).toMatchObject({
        title: "The old well",
        text: "Before. Text",
      });
    }
  });

  test("has no title from a comment or from code", () => {
    expect(read("<!--\n# Draft\n-->\n# Shown").title).toBe("Shown");
    expect(read("```sh\n# install it\n```\n\nText").title).toBe("page");
  });
});

describe("the text of a page", () => {
  const CASES: Record<string, [string, string]> = {
    emphasis: ["**Bold**, *slanted*, ~~gone~~", "Bold, slanted, gone"],
    "names with underlines": ["set max_tokens to 2 * 3", "set max_tokens to 2 * 3"],
    links: ['[docs](https://a.example/x_(y) "Title")', "docs"],
    addresses: ["<https://a.example/x>", "https://a.example/x"],
    lists: ["- one\n\n* two\n\n3. three", "one two three"],
    quotations: ["> > said\n> again", "said again"],
    tables: ["| name | bytes |\n|:---|---:|\n| a_b | 12 |", "name bytes a_b 12"],
    code: ['```ts\nconst a_b = "<b>";\n```\nAfter', 'const a_b = "<b>"; After'],
    markup: ["a<br/>b <b class='x'>bold</b> <!-- hidden --> 1 < 2", "a b bold 1 < 2"],
    "comments over several lines": [
      "One <!-- hid\nden --> two\n\n<!--\n# No <b>x</b>\n-->",
      "One two",
    ],
    escapes: ["\\*not slanted\\* &amp; &lt;tag&gt; &#39;", "*not slanted* & <tag> '"],
  };
  for (const [what, [markdown, text]] of Object.entries(CASES)) {
    test(`keeps the words of ${what}`, () => {
      expect(read(`# Title\n\n${markdown}`).text).toBe(text);
    });
  }

  test("is split into several rows if it is long, without loss", () => {
    const rows = readPage("page.md", "word ".repeat(20_000));
    expect(rows.length).toBeGreaterThan(5);
    expect(
      rows
        .map(({ text }) => text)
        .join(" ")
        .match(/word/g),
    ).toHaveLength(20_000);
  });

  // With unbounded nesting, each would take minutes.
  for (const sign of ["> - ", "<!--\n", "[", "`", "1. "]) {
    test(`a megabyte of ${JSON.stringify(sign)} is parsed`, () => {
      const rows = readPage("page.md", sign.repeat(1_000_000 / sign.length));
      expect(rows.length).toBeGreaterThan(0);
    });
  }
});
