// The text of a page is what its reader sees.
import { describe, expect, test } from "bun:test";
import { read, readText } from "./page-reader.ts";

const HOME = "https://camels.example.com";

test.each<[string, string, string]>([
  ["headings", "<h1>One</h1><h3>Two <b>bold</b></h3>text", "# One\n\n### Two bold\n\ntext"],
  ["paragraphs", "<p>One\n  two<p>three<br>four", "One two\n\nthree\nfour"],
  ["words adjacent to elements", "un<b>believ</b>able <i>now</i>", "unbelievable now"],
  ["entities", "&lt;p&gt; &amp;amp; caf&eacute; &#x1F42A;", "<p> &amp; café 🐪"],
  ["no-break spaces", "a&nbsp;&nbsp;b", "a b"],
  ["lists", "<ul><li>One<li>Two<ul><li>In</ul><li>Three</ul>", "- One\n- Two\n  - In\n- Three"],
  ["numbered lists", "<ol start=9><li>a<li>b</ol>", "9. a\n10. b"],
  ["a list from zero", "<ol start=0><li>a</ol>", "0. a"],
  ["a list with a negative start", "<ol start=-1><li>a</ol>", "1. a"],
  ["a list with an invalid start", "<ol start=x><li>a</ol>", "1. a"],
  ["long items", "<ul><li><p>One</p><p>More</p><li>Two</ul>", "- One\n\n  More\n\n- Two"],
  ["items without words", "<ul><li></li><li> <li>x</ul>y", "- x\n\ny"],
  ["headings without words", "<h2></h2>x", "x"],
  ["quotations", "a<blockquote><p>b<p>c</blockquote>d", "a\n\n> b\n>\n> c\n\nd"],
  ["definitions", "<dl><dt>Camel<dd>It walks.</dl>", "Camel\n  It walks."],
  ["rules", "a<hr>b", "a\n\n---\n\nb"],
  ["tables", "<table><tr><th>A<th>B<tr><td>1<td>2</table>c", "A | B\n1 | 2\n\nc"],
  ["empty cells", "<table><tr><td><td>x<td></td><tr><td>y<td><td>z</table>", "| x\ny | | z"],
  ["cells with blocks", "<table><tr><td><p>a</p><td><div>b</div></table>", "a | b"],
  ["tables in tables", "<table><tr><td>a<table><tr><td>b</table><td>c</table>", "a\nb | c"],
  ["cells outside a table", "<td>a<td>b", "ab"],
  ["code", "<pre>\n  if (a)\n    <b>b</b>;\n</pre>x", "```\n  if (a)\n    b;\n```\n\nx"],
  ["code with line elements", "<pre>a<br>b</pre>", "```\na\nb\n```"],
  ["code in a list", "<ul><li>x<pre>a\nb</pre></ul>", "- x\n\n  ```\n  a\n  b\n  ```"],
  ["code without words", "a<pre></pre>b", "a\n\nb"],
  ["pictures", 'a <img alt="A camel" src=x> <img alt=""> b', "a (image: A camel) b"],
  ["directions and joiners", "\u200fمرحبا\u200f می\u200cخواهم", "\u200fمرحبا\u200f می\u200cخواهم"],
])("%s", async (_, html, text) => {
  expect(await readText(html)).toBe(text);
});

describe("links", () => {
  test.each<[string, string]>([
    ["<a href=/x>X</a>", `[X](${HOME}/x)`],
    ["<a href='y?a=1&amp;b=2#part'>Y</a>", `[Y](${HOME}/wiki/y?a=1&b=2)`],
    ["<a href=//other.example.com>O</a>", "[O](https://other.example.com/)"],
    ["<a href='/a_(b)'>x</a>", `[x](${HOME}/a_(b))`],
    ["see <a href=/x> the <b>page</b></a>, now", `see [the page](${HOME}/x), now`],
    ["<a href=/x><h2>Card</h2><p>More</p></a>", `## [Card\n\nMore](${HOME}/x)`],
    ["<a href=/x><img alt=Camel></a>", `[(image: Camel)](${HOME}/x)`],
    ["<a href=/x>a<a href=/y>b</a></a>", `[a](${HOME}/x)[b](${HOME}/y)`],
    ["<base href=/docs/><base href=/no/><a href=x>x</a>", `[x](${HOME}/docs/x)`],
    ["<base href=javascript:0><a href=x>x</a>", `[x](${HOME}/wiki/x)`],
    ["<pre><a href=/x>code</a></pre>", "```\ncode\n```"],
  ])("%s is shown with its address", async (html, text) => {
    expect(await readText(html)).toBe(text);
  });

  test.each([
    ..."#top|javascript:alert(1)|mailto:a@b.example.com|data:text/html,x|http://|ftp://x.example.com/"
      .split("|")
      .map((href) => `<a href="${href}">x</a>`),
    "<a>x</a>",
    "<a href>x</a>",
    `<a href="/${"y".repeat(3_000)}">x</a>`,
    "<a href=/y><svg><title>no</title></svg></a>x",
  ])("%.60s is no usable link", async (html) => {
    expect(await readText(html)).toBe("x");
  });
});

describe("leaves out invisible content", () => {
  test.each([
    "<script>no</script>",
    "<style>no</style>",
    "<noscript>no</noscript>",
    "<template>no</template>",
    "<textarea>no</textarea>",
    "<select><option>no</select>",
    "<svg><title>no</title><text>no</text></svg>",
    "<iframe>no</iframe>",
    "<dialog>no</dialog>",
    "<!-- no -->",
    "<!-- no > no --!>",
    "<?no?>",
    "<![CDATA[no]]>",
    "<p hidden>no</p>",
    "<p hidden=''>no</p>",
    "<p aria-hidden=true>no</p>",
    "<p aria-hidden=' TRUE '>no</p>",
    "<p style='display:none'>no</p>",
    "<p style='color: red; DISPLAY : none !important'>no</p>",
    "<p style='visibility:hidden'>no</p>",
    "<p style='font-size:0'>no</p>",
    "<p style='font-size: 0.0px'>no</p>",
    "<div hidden><p>no<ul><li>no</ul><table><tr><td>no</table></div>",
    "<div hidden><a href=/no>no</a><h1>no</h1><pre>no</pre></div>",
    "<p style='display:&#110;one'>no</p>",
  ])("%s", async (html) => {
    expect(await readText(`<p>before</p>${html}<p>after</p>`)).toBe("before\n\nafter");
  });

  test("an unclosed script or comment hides the rest, as in a browser", async () => {
    expect(await readText("seen<script>if (a < b) no")).toBe("seen");
    expect(await readText("seen<!-- no <p>no")).toBe("seen");
  });

  test("leaves out invisible characters everywhere", async () => {
    const tags = [..."ignore"].map((sign) => String.fromCodePoint(0xe0000 + sign.charCodeAt(0)));
    const html = `<title>T\u200b</title>a${tags.join("")}b&#8203;c\u2060\ufeff d<img alt="${tags[0]}e">`;
    expect(await read(html)).toMatchObject({ title: "T", text: "abc d(image: e)" });
    expect(await readText(`a${tags.join("")}b`, { type: "text/plain" })).toBe("ab");
  });

  test.each([
    "<p style='font-size:0.9em'>",
    "<p style='font-size:02em'>",
    "<p style='opacity:0'>",
    "<p style='max-display:none'>",
    "<p aria-hidden=false>",
    "<p hidden=until-found>",
    "<dialog open>",
    "<html style='display:none'>",
    "<body hidden>",
  ])("%s hides nothing", async (html) => {
    expect(await readText(`${html}seen`)).toBe("seen");
  });
});

describe("the main content", () => {
  const side = "<header>Top</header><nav>Menu</nav><aside>Beside</aside><footer>End</footer>";
  const long = "Camels walk. ".repeat(20).trim();

  test("leaves out menus, headers and footers, and says so", async () => {
    const page = await read(`${side}<div>${long}</div>`);
    expect(page).toEqual({ ok: true, title: "", text: long, omissions: ["sides"] });
  });

  test("the whole page includes them in page order", async () => {
    const page = await read(`${side}<div>x</div>`, { isWhole: true });
    const text = "Top\n\nMenu\n\nBeside\n\nEnd\n\nx";
    expect(page).toEqual({ ok: true, title: "", text, omissions: [] });
  });

  test("a page with nothing else shows them", async () => {
    expect(await readText(side)).toBe("Top\n\nMenu\n\nBeside\n\nEnd");
  });

  test("is the element that the page marks as main", async () => {
    expect(await readText(`<div>Not this</div><main><p>${long}</main>`)).toBe(long);
    expect(await readText(`<div>Not this</div><div role=main>${long}</div>`)).toBe(long);
    expect(await readText("<div>This too</div><main>Loading …</main>")).toBe(
      "This too\n\nLoading …",
    );
  });

  test("is the articles if they make up most of the page", async () => {
    const article = `<article><header>By Sam</header>${long}</article>`;
    expect(await readText(`<div>Not this</div>${article}`)).toBe(`By Sam\n\n${long}`);
    const teaser = `<div>${long} ${long}</div><article>${long}</article>`;
    expect(await readText(teaser)).toBe(`${long} ${long}\n\n${long}`);
  });
});

test("returns the title separately, on one line and bounded", async () => {
  expect(await read("<title>\n Camels &amp;\n dunes </title>x")).toMatchObject({
    title: "Camels & dunes",
    text: "x",
  });
  const page = await read(`<title>${"🐪".repeat(1_000)}</title>x`);
  expect(page.ok && page.title).toBe("🐪".repeat(150));
});

test("XHTML elements may close themselves", async () => {
  const html = "<?xml version='1.0'?><html><script src='x'/><p>a<br/><![CDATA[<b>]]></p></html>";
  expect(await readText(html, { type: "application/xhtml+xml" })).toBe("a\n<b>");
});
