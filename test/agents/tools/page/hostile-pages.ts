// Pages written to slow a reader down, and the content left out of each.

const BYTES = 1_100_000;
const fill = (text: string, before = "") =>
  before + text.repeat(Math.floor((BYTES - before.length) / text.length));

export const hostilePages: readonly [name: string, html: string, omissions: string[]][] = [
  ["endless elements", fill("<div>", "x"), ["depth"]],
  ["elements closed by others", fill("</i>", `x${"<b>".repeat(100_000)}`), ["depth"]],
  ["closing tags at a permitted depth", fill("</i>", `x${"<b>".repeat(250)}`), []],
  ["forms in forms at that depth", fill("<form>", `x<form>${"<b>".repeat(250)}`), []],
  ["drawings in drawings", fill("<svg><foreignobject>", "x"), ["depth"]],
  ["lists in lists", fill("<ul><li>x"), ["depth"]],
  ["tables in tables", fill("<table><tr><td>x"), ["depth"]],
  ["quotations in quotations", fill("<blockquote>x"), ["depth"]],
  ["closing tags alone", fill("</p>", "x"), []],
  ["growing links", fill("<a href=y>a</a>", `<base href="/${"x".repeat(1_900)}/">`), ["length"]],
  ["unclosed links", fill("<a href=y>x"), ["length"]],
  ["growing indents", fill("x<br>", "<blockquote>".repeat(250)), ["length"]],
  ["a million attributes", `${fill(" a=b c", "x<a")}>x`, []],
  [
    "200,000 attribute names",
    `x<a ${Array.from({ length: 200_000 }, (_, i) => `a${i}`).join(" ")}>`,
    [],
  ],
  ["one attribute", `${fill("x", 'x<a href="')}">x</a>`, []],
  ["styles", fill(`<b style="${"display ".repeat(240)}">x</b>`), []],
  ["an unclosed comment", fill("-", "x<!--"), []],
  ["comments that almost close", fill("--!", "x<!--"), []],
  ["a script that almost closes", fill("</scrip", "x<script>"), []],
  ["a name without end", fill("a", "x<"), []],
  ["entities", fill("&lt;"), []],
  ["almost valid entities", fill("&CounterClockwiseContourIntegra"), ["length"]],
  ["brackets", fill("<"), ["length"]],
  ["spaces", fill(" ", "x"), []],
  ["invisible characters", fill("\u200b".repeat(100), "x").slice(0, 700_000), []],
  ["cells", fill("<td>", "<table><tr><td>x"), []],
  ["alternating parts of two kinds", fill("<nav>a</nav>b"), ["sides"]],
];
