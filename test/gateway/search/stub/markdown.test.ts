// A page of Markdown: its head, its words without signs, in a time that its size alone tells.
import { describe, expect, test } from "bun:test";
import { readMarkdown } from "../../../../src/gateway/search/stub/markdown.ts";

const plain = (text: string): string => [...readMarkdown(text).lines].join("\n");

describe("a page's head", () => {
  test("is simple lines of front matter, in quotes or not", () => {
    const page = readMarkdown(
      '---\r\ntitle: "The well: a story"\r\nurl: https://docs.example/a b\r\ntags:\r\n  - one\r\nlang: AR\r\n---\r\n# Other\r\n\r\nText',
    );
    expect(page).toMatchObject({
      title: "The well: a story",
      url: "https://docs.example/a%20b",
      language: "ar",
    });
    expect([...page.lines]).toEqual(["Other", "Text"]);
  });

  test("without an end is none", () => {
    const page = readMarkdown("---\ntitle: Never\n\nText");
    expect(page.title).not.toBe("Never");
    expect([...page.lines]).toContain("title: Never");
  });

  test("names no link that cannot be followed", () => {
    for (const url of [
      "javascript:alert(1)",
      "/path",
      "ftp://a.example/",
      "https://",
      "''",
      // No link with a password in it is given to anybody: the page would never be found.
      "https://user:password@a.example/",
      `https://a.example/${"ش".repeat(1_000)}`,
    ]) {
      expect(readMarkdown(`---\nurl: ${url}\n---\n`).url).toBeNull();
    }
  });

  test("else has the first heading as its title, which is not said again", () => {
    for (const heading of ["# The **old** well #", "The old well\n===", "### The old `well`"]) {
      const page = readMarkdown(`Before.\n\n${heading}\n\nText`);
      expect(page.title).toBe("The old well");
      expect([...page.lines]).toEqual(["Before.", "Text"]);
    }
  });

  test("is read in a time that its size alone tells", () => {
    const page = readMarkdown(
      `---\nlang: en\nkey:${" ".repeat(1_000_000)}${"x".repeat(3_000)}\n---\nText`,
    );
    expect(page.language).toBe("en");
    expect([...page.lines]).toEqual(["Text"]);
  });

  test("has no heading out of a comment", () => {
    expect(readMarkdown("<!--\n# Draft\n-->\n# Shown").title).toBe("Shown");
  });

  test("takes no comment in code for a heading", () => {
    expect(readMarkdown("```sh\n# install it\n```\n\nText").title).toBeNull();
  });
});

describe("the text of a page", () => {
  const CASES: Record<string, [string, string]> = {
    emphasis: [
      "**Bold**, *slanted*, __bold__, _slanted_, ~~gone~~",
      "Bold, slanted, bold, slanted, gone",
    ],
    "names with underlines": [
      "set max_tokens and _this_ to 2 * 3",
      "set max_tokens and this to 2 * 3",
    ],
    links: ['[docs](https://a.example/x_(y) "Title") and [ref][1]', "docs and ref"],
    images: ["![a camel](camel.png) [![badge](b.svg)](https://a.example)", "a camel badge"],
    addresses: ["<https://a.example/x>", "https://a.example/x"],
    definitions: ["[1]: https://a.example/\nText", "Text"],
    footnotes: ["[^1]: A note.", "[^1]: A note."],
    lists: ["- one\n* two\n  3. three\n- [x] four", "one\ntwo\nthree\nfour"],
    quotations: ["> > said\n> again", "said\nagain"],
    tables: ["| name | bytes |\n|:---|---:|\n| a_b | 12 |", "name bytes\na_b 12"],
    code: [
      '```ts\nconst a_b = "*x*"; // [y](z)\n```\nAfter',
      'const a_b = "*x*"; // [y](z)\nAfter',
    ],
    "code that never ends": ["~~~\n**x**\n```", "**x**\n```"],
    markup: ["a<br/>b <b class='x'>bold</b> <!-- hidden --> 1 < 2", "a b bold   1 < 2"],
    "comments over several lines": [
      "One <!--\nis said\n\n<!-- hid\nden -->two\n<!--\n# Hidden\n```\n--> three\n```\n<!--\ncode\n-->\n```",
      "One <!--\nis said\ntwo\nthree\n<!--\ncode\n-->",
    ],
    "comments inside a paragraph": [
      "One <!-- hid\nden --> two\n\nthree <!-- a\n\nfour -->\n\nfive <!--\n```\nA --> B\n```",
      "One\ntwo\nthree <!-- a\nfour -->\nfive <!--\nA --> B",
    ],
    "a comment that never ends": ["<!-- one\ntwo", "<!-- one\ntwo"],
    escapes: ["\\*not slanted\\* &amp; &lt;tag&gt; &#39;", "*not slanted* & <tag> '"],
    "control characters": ["a\0b\u0007c", "a b c"],
  };
  for (const [what, [text, words]] of Object.entries(CASES)) {
    test(`keeps the words of ${what}`, () => {
      expect(plain(`# Title\n\n${text}`).trim()).toBe(words);
    });
  }

  test("of a line that never ends comes in pieces, and all of it", () => {
    const pieces = [...readMarkdown("word ".repeat(20_000)).lines];
    expect(pieces.length).toBeGreaterThan(20);
    expect(pieces.join(" ").match(/word/g)).toHaveLength(20_000);
  });

  // Each would take minutes where time grew with the square of the length.
  for (const sign of [
    "[",
    "![",
    "[a](",
    "[a](()",
    "<",
    "<a",
    "<!--",
    "<!--\n",
    "a <!--\n",
    "*",
    "_",
    "`",
    "|",
    "> ",
    "\\",
    "&",
    "---\n",
    "#",
    "- ",
  ]) {
    test(`a megabyte of ${JSON.stringify(sign)} is read`, () => {
      const page = readMarkdown(sign.repeat(1_000_000 / sign.length));
      let length = 0;
      for (const line of page.lines) length += line.length;
      expect(length).toBeLessThanOrEqual(1_000_000);
    });
  }
});
