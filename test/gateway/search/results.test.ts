// Tests which parts of an engine's hits reach a caller, and in what form.
import { describe, expect, test } from "bun:test";
import type { SearchHit } from "../../../src/gateway/search/contract.ts";
import { chooseResults } from "../../../src/gateway/search/results.ts";

const hit = (some: Partial<SearchHit> = {}): SearchHit => ({
  title: "A title",
  url: "https://example.org/",
  snippet: "A snippet.",
  ...some,
});
const choose = (...hits: Partial<SearchHit>[]) => chooseResults(hits.map(hit), 20);
const snippetOf = (snippet: string) => choose({ snippet })[0]!.snippet;

test("markup is read up to 20,000 characters of one text", () => {
  expect(snippetOf(`${"<b>".repeat(6_666)}xyz`)).toBe("xy");
});

describe("gateway.resources.search_result.p1 links", () => {
  const DROPPED = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<b>x</b>",
    "ftp://example.org/file",
    "file:///etc/passwd",
    "mailto:a@example.org",
    "view-source:https://example.org/",
    "blob:https://example.org/1",
    "/path",
    "//example.org/path",
    "example.org/path",
    "",
    "http://",
    "https://",
    "https://exa mple.org/",
    "https://[::1/",
    "https://example.org:99999/",
    "https://user@example.org/",
    "https://user:secret@example.org/",
    "https://:secret@example.org/",
    "https://bank.example:pay@evil.example/",
    `https://example.org/${"x".repeat(4_097 - 20)}`,
    `https://example.org/${"é".repeat(680)}`,
  ];
  for (const url of DROPPED) {
    test(`${JSON.stringify(url.slice(0, 50))} is dropped with its hit`, () => {
      expect(choose({ url })).toEqual([]);
    });
  }

  const KEPT: [input: string, output: string][] = [
    ["http://example.org", "http://example.org/"],
    ["HTTPS://EXAMPLE.org/A?b=c#d", "https://example.org/A?b=c#d"],
    ["https://bücher.example/ä ö", "https://xn--bcher-kva.example/%C3%A4%20%C3%B6"],
    ["https://example.org:8443/", "https://example.org:8443/"],
    ["https://example.org/a\nb", "https://example.org/ab"],
    ['https://example.org/"><script>', "https://example.org/%22%3E%3Cscript%3E"],
    ["https://[2001:db8::1]/", "https://[2001:db8::1]/"],
    [`https://example.org/${"x".repeat(4_096 - 20)}`, `https://example.org/${"x".repeat(4_076)}`],
  ];
  for (const [url, output] of KEPT) {
    test(`${JSON.stringify(url.slice(0, 50))} is returned as ${output.slice(0, 50)}`, () => {
      expect(choose({ url }).map((result) => result.url)).toEqual([output]);
    });
  }

  test("each link appears once, at its best position, and positions count from 0 without gaps", () => {
    const results = choose(
      { url: "https://a.example", title: "first" },
      { url: "data:x", title: "no link" },
      { url: "https://b.example", title: "second" },
      { url: "https://a.example/", title: "first again" },
      { url: "https://a.example/#part", title: "a part" },
    );
    expect(results.map(({ index, title }) => [index, title])).toEqual([
      [0, "first"],
      [1, "second"],
      [2, "a part"],
    ]);
  });

  test("the number of results is at most the requested one", () => {
    const hits = Array.from({ length: 30 }, (_, n) => hit({ url: `https://example.org/${n}` }));
    expect(chooseResults(hits, 7).map(({ url }) => url)).toEqual(
      hits.slice(0, 7).map(({ url }) => url),
    );
  });
});

describe("plain text", () => {
  const TEXTS: [title: string, input: string, output: string][] = [
    ["tags go", "a <b>bold</b> <a href='x'>link</a><img src=x onerror=y>!", "a bold link!"],
    ["tags in capitals go", "a <STRONG class=x>b</STRONG>", "a b"],
    ["an inline tag does not split a word", "wo<em>rd</em>s", "words"],
    [
      "a word ends at a tag of another line",
      "one<br>two<p>three</p><li/>four",
      "one two three four",
    ],
    ["comments and types go", "a<!-- b -->c <!DOCTYPE html>d", "ac d"],
    [
      "text that only resembles one stays",
      "1 < 2 > 0, a <b, <3 and i<n; x>",
      "1 < 2 > 0, a <b, <3 and i<n; x>",
    ],
    [
      "code stays",
      "Array<string>, Map<K, V>, vector<int> <T>",
      "Array<string>, Map<K, V>, vector<int> <T>",
    ],
    ["a tag that appears by decoding stays", "&lt;b&gt; &lt;script&gt;", "<b> <script>"],
    ["decoding happens once", "&amp;lt;b&amp;gt; &amp;amp;", "&lt;b&gt; &amp;"],
    ["the five of XML", "&amp;&lt;&gt;&quot;&apos;", "&<>\"'"],
    [
      "the common names",
      "a&nbsp;b&hellip; &mdash;&ndash;&rsquo;&ldquo;&eacute;&Eacute;&uuml;&yuml;&euro;",
      "a b… —–’“éÉüÿ€",
    ],
    ["numbers", "&#8217;&#x2019;&#X2019;&#128512;&#39;", "’’’😀'"],
    ["numbers of an old code page", "&#128;&#146;&#151;&#159;", "€’—Ÿ"],
    ["numbers that are no character", "&#xD800;&#xDFFF;&#1114112;", "\ufffd\ufffd\ufffd"],
    ["an invalid entity stays", "AT&T &bogus; &#; &#x; & &amp", "AT&T &bogus; &#; &#x; & &amp"],
    ["white space folds", " a\t\r\n b\u00a0\u2003c\u2028d ", "a b c d"],
    ["controls go", "a\u0000b\u0007c\u009fd&#0;&#7;e", "abcde"],
    ["forced directions go", "\u202eabc\u202c \u2066d\u2069&#8238;e&#x2067;", "abc de"],
    ["marks of direction, which languages need, stay", "a\u200eb\u200fc", "a\u200eb\u200fc"],
    ["hidden letters go", "a\u{e0041}\u{e0042}b\ufeffc", "abc"],
    ["halves of a pair become one sign", "a\ud800b\udc00", "a\ufffdb\ufffd"],
    ["joined emoji stay", "👩‍💻", "👩‍💻"],
  ];
  for (const [title, input, output] of TEXTS) {
    test(title, () => {
      expect(snippetOf(input)).toBe(output);
      expect(choose({ title: `x${input}x` })[0]!.title).toStartWith("x");
    });
  }

  test("an empty title becomes the link's host, an empty snippet stays empty", () => {
    for (const title of ["", "  ", "<b></b>", "&nbsp;", "\u202e"]) {
      const [result] = choose({ title, snippet: "", url: "https://example.org:8443/a" });
      expect([result!.title, result!.snippet]).toEqual(["example.org:8443", ""]);
    }
  });

  test("lengths count code points, and truncated text ends with an ellipsis", () => {
    const [whole] = choose({ title: "😀".repeat(300), snippet: "😀".repeat(2_000) });
    expect([whole!.title, whole!.snippet]).toEqual(["😀".repeat(300), "😀".repeat(2_000)]);
    const [cut] = choose({ title: "😀".repeat(301), snippet: "é".repeat(2_001) });
    expect([cut!.title, cut!.snippet]).toEqual([`${"😀".repeat(299)}…`, `${"é".repeat(1_999)}…`]);
    expect(choose({ title: `${"a".repeat(298)} ${"b".repeat(9)}` })[0]!.title).toBe(
      `${"a".repeat(298)}…`,
    );
  });

  // With quadratic time each of them would take minutes.
  for (const part of [
    "<",
    "<a",
    "<a ",
    "</",
    "<!--",
    "&",
    "&#",
    "&#1",
    "&amp",
    " ",
    "\u0000",
    "<b x=",
  ]) {
    test(`four megabytes of ${JSON.stringify(part)} are cheap`, () => {
      const text = part.repeat(4_000_000 / part.length);
      expect([...choose({ title: text, snippet: `${text}>` })[0]!.snippet].length).toBeLessThan(
        2_001,
      );
    });
  }
});
