// Known addresses: complete matches in texts, within bounds of time and memory.
import { describe, expect, test } from "bun:test";
import { KnownAddresses } from "../../../src/agents/tools/address-memory.ts";
import { bringsAddresses, listAddresses, mayEcho } from "../../../src/agents/tools/addresses.ts";
import { URL_CHARACTERS_MAX } from "../../../src/platform/text.ts";

const knows = (text: string, url: string) => {
  const known = new KnownAddresses();
  known.add(text);
  return known.has(url);
};
const A = "https://a.example.com";

describe("an address that appeared in a text is known", () => {
  test.each([
    [`${A}/x`, `${A}/x`],
    [`Read ${A}/x.`, `${A}/x`],
    [`Read ${A}/x, then`, `${A}/x`],
    [`(${A}/x)`, `${A}/x`],
    [`(see ${A}/Foo_(bar)).`, `${A}/Foo_(bar)`],
    [`${A}/Foo_(bar)_(baz)`, `${A}/Foo_(bar)_(baz)`],
    [`{${A}/{id}/x}more`, `${A}/{id}/x`],
    [`[words](${A}/x)`, `${A}/x`],
    [`[words](${A}/Foo_(bar))`, `${A}/Foo_(bar)`],
    [`[words](${A}/x "title")`, `${A}/x`],
    [`[words](${A}/x)more`, `${A}/x`],
    [`**${A}/x**`, `${A}/x`],
    [`<${A}/x>`, `${A}/x`],
    [`<a href="${A}/x?a=1&amp;b=2">`, `${A}/x?a=1&b=2`],
    [`<a href='${A}/x'>`, `${A}/x`],
    [`\`${A}/x\``, `${A}/x`],
    [`"${A}/x"`, `${A}/x`],
    [`| ${A}/x|${A}/y |`, `${A}/y`],
    [`${A}/x,${A}/y;${A}/z`, `${A}/y`],
    [`${A}/x,${A}/y;${A}/z`, `${A}/z`],
    [`https://web.example.com/2020/${A}/x`, `${A}/x`],
    [`https://web.example.com/2020/${A}/x`, `https://web.example.com/2020/${A}/x`],
    [JSON.stringify({ url: `${A}/x` }), `${A}/x`],
    [JSON.stringify(JSON.stringify({ url: `${A}/x` })), `${A}/x`],
    [`{"url":"https:\\/\\/a.example.com\\/x\\u0026y"}`, `${A}/x&y`],
    [`"{\\"url\\":\\"https:\\\\/\\\\/a.example.com\\\\/x\\"}"`, `${A}/x`],
    [`line\\n${A}/x\\nline`, `${A}/x`],
    [`请看${A}/x。然后`, `${A}/x`],
    [`请看${A}/x然后`, `${A}/x`],
    ["https://ar.example.com/wiki/جمل،", "https://ar.example.com/wiki/جمل"],
    ["HTTPS://A.Example.COM/x", `${A}/x`],
    [A, `${A}/`],
    [`${A}:443/x#part`, `${A}/x`],
    [`${A}/x`, `${A}/x#part`],
    ["http://a.example.com/x", "http://a.example.com/x"],
    // The address can only be opened in this form.
    ["http://a.example.com/x", `${A}/x`],
    [`${A}/a/../x`, `${A}/x`],
    ["https://bücher.example.com/", "https://xn--bcher-kva.example.com/"],
    [`${A}/x!`, `${A}/x`],
    [`${A}/list[1]`, `${A}/list[1]`],
  ])("%s has %s", async (text, url) => {
    expect(await knows(text, url)).toBe(true);
  });
});

test("an address is known up to the length that a tool accepts", async () => {
  const longest = `${A}/`.padEnd(URL_CHARACTERS_MAX, "x");
  expect(await knows(`Read ${longest} now`, longest)).toBe(true);
  expect(await knows(`Read ${longest}x now`, `${longest}x`)).toBe(false);
});

describe("an address that did not appear is unknown", () => {
  test.each([
    `${A}/x?leak=1`,
    `${A}/x/leak`,
    `${A}/xleak`,
    `${A}/`,
    `${A}`,
    `${A}/X`,
    `${A}/x/`,
    `${A}/x?`,
    `${A}/%78`,
    `${A}/x%00`,
    `${A}/x%23leak`,
    `${A}/x%3Fleak`,
    `${A}/x;leak`,
    `${A}/x,leak`,
    `${A}/x)leak`,
    `${A}/x\\leak`,
    `${A}:8443/x`,
    `${A}.leak.example.com/x`,
    `${A}@leak.example.com/x`,
    `https://leak@a.example.com/x`,
    `https://leak.example.com/?to=${A}/x`,
    "http://a.example.com/x",
    "ftp://a.example.com/x",
    "a.example.com/x",
    "https://a.example.co/x",
    "https://b.example.com/x",
    "",
    `${A}/${"x".repeat(3_000)}`,
  ])("%.80s", async (url) => {
    expect(await knows(`Read [this](${A}/x).`, url)).toBe(false);
  });

  test("one with the bracket of a sentence does not count", async () => {
    for (const [open, close] of ["()", "[]", "{}"]) {
      expect(await knows(`Read ${open}${A}/x${close}`, `${A}/x${close}`)).toBe(false);
    }
  });

  test("one without its own bracket before that of a sentence does not count", async () => {
    expect(await knows(`(see ${A}/Foo_(bar)).`, `${A}/Foo_(bar`)).toBe(false);
  });

  test("an address with a user name does not count", async () => {
    expect(
      await knows("https://user:word@a.example.com/x", "https://user:word@a.example.com/x"),
    ).toBe(false);
    expect(await knows("https://user:word@a.example.com/x", `${A}/x`)).toBe(false);
  });

  test("percent signs are taken literally", async () => {
    expect(await knows(`${A}/%41`, `${A}/A`)).toBe(false);
    expect(await knows(`${A}/A`, `${A}/%41`)).toBe(false);
    expect(await knows(`${A}/%2541`, `${A}/%41`)).toBe(false);
    expect(await knows(`${A}/%2f`, `${A}//`)).toBe(false);
    expect(await knows(`${A}/%41`, `${A}/%41`)).toBe(true);
  });
});

describe("addresses in the user's text", () => {
  const knowsInput = (text: string, url: string) => {
    const known = new KnownAddresses();
    known.addInput(text);
    return known.has(url);
  };

  test.each([
    ["Compare example.com and example.org, please.", "https://example.org/"],
    ["Read www.example.com/page.", "https://www.example.com/page"],
    ["Look at bücher.example.com", "https://xn--bcher-kva.example.com/"],
    ["on example.com:8443/x?y=1", "https://example.com:8443/x?y=1"],
    [`Read ${A}/x`, `${A}/x`],
  ])("%s has %s", async (text, url) => {
    expect(await knowsInput(text, url)).toBe(true);
    const outside = new KnownAddresses();
    outside.add(text);
    expect(await outside.has(url)).toBe(url === `${A}/x`);
  });

  test.each([
    ["Write to sam@example.com", "https://example.com/"],
    ["Read example.com", "https://example.com/leak"],
    ["Read example.com", "https://leak.example.com/"],
    ["Version 1.2.3", "https://1.2.3/"],
  ])("%s has no %s", async (text, url) => {
    expect(await knowsInput(text, url)).toBe(false);
  });

  test("are kept whatever results contain", async () => {
    const known = new KnownAddresses();
    known.addInput(`${A}/first`);
    for (let round = 0; round < 20; round++) {
      known.add(Array.from({ length: 2_000 }, (_, i) => `${A}/${round}/${i}`).join(" "));
    }
    expect(await known.has(`${A}/first`)).toBe(true);
    // The latest results stay known; the oldest are evicted.
    expect(await known.has(`${A}/19/1999`)).toBe(true);
    expect(await known.has(`${A}/18/0`)).toBe(true);
    // Those of a full generation remain while the next one fills.
    expect(await known.has(`${A}/17/0`)).toBe(true);
    expect(await known.has(`${A}/0/0`)).toBe(false);
  });
});

describe("hostile texts finish in time", () => {
  const fill = (text: string) => text.repeat(Math.floor(1_000_000 / text.length));

  test.each([
    ["beginnings", fill("https://")],
    ["half beginnings", fill("http")],
    ["brackets", fill(`${A}/${"(".repeat(1_000)}${")".repeat(1_000)} `)],
    ["closing brackets", fill(`${A}/${")".repeat(2_000)} `)],
    ["points", fill(`${A}${".".repeat(2_000)} `)],
    ["one word", `${A}/${fill("x")}`],
    ["lists without spaces", fill(`${A},`)],
    ["backslashes", fill("\\")],
    ["escapes", fill("https:\\/\\/a\\u0026")],
    ["names", fill("ab.cd ")],
    ["points of names", fill("a.")],
    ["hyphens", fill("a-")],
    ["entities", fill(`${A}/?${"&amp;".repeat(400)} `)],
  ])("%s", async (_, text) => {
    const known = new KnownAddresses();
    known.add(text);
    known.addInput(text);
    expect(await known.has(`${A}/leak`)).toBe(false);
  });

  test("a text of many addresses yields to other work", async () => {
    const known = new KnownAddresses();
    known.add(fill(`${A}/${")".repeat(800)}`));
    let turns = 0;
    const count = () => {
      turns += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    await known.has(`${A}/leak`);
    clearImmediate(counting);
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  test("lists the first addresses of a text", () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `${A}/${i}`).join(" ");
    const listed = new Set([...listAddresses(many)].flat());
    expect(listed.size).toBe(10_000);
    expect([listed.has(`${A}/0`), listed.has(`${A}/9999`)]).toEqual([true, true]);
  });
});

describe("text that the model itself sent to a tool", () => {
  const learn = (request: string, text: string) => {
    const known = new KnownAddresses();
    known.addInput("Look at docs.example.org");
    known.add(`Here is ${A}/seen`);
    known.add(text, request);
    return known;
  };

  test.each([
    [`{"q":"${A}/?leak=1"}`, `Nothing found for ${A}/?leak=1`, `${A}/?leak=1`],
    [`{"q":"${A}/?leak=1"}`, `Next: ${A}/?leak=1&page=2`, `${A}/?leak=1&page=2`],
    ['{"q":"a.example.com/?leak=1"}', `See ${A}/?leak=1`, `${A}/?leak=1`],
    [`{"q":"HTTPS://A.Example.com/?leak=1"}`, `See ${A}/?leak=1`, `${A}/?leak=1`],
    [
      '{"q":"leak.a.example.com"}',
      "See https://leak.a.example.com/x",
      "https://leak.a.example.com/x",
    ],
  ])("%s returns as %s, and does not make %s known", async (request, text, url) => {
    expect(await learn(request, text).has(url)).toBe(false);
    expect(await learn("{}", text).has(url)).toBe(true);
  });

  test("makes other returned addresses known, and keeps earlier ones", async () => {
    const request = `{"q":"${A}/seen, docs.example.org and ${A}/made"}`;
    const text = `${A}/other ${A}/seen/more https://docs.example.org/page ${A}/made`;
    const known = learn(request, text);
    for (const url of [`${A}/other`, `${A}/seen/more`, "https://docs.example.org/page"]) {
      expect([url, await known.has(url)]).toEqual([url, true]);
    }
    expect(await known.has(`${A}/made`)).toBe(false);
  });

  test("makes nothing known from a reply to too many addresses", async () => {
    const request = Array.from({ length: 200 }, (_, i) => `${A}/${i}`).join(" ");
    expect(await learn(request, `${A}/other`).has(`${A}/other`)).toBe(false);
  });

  test("is not looked for in results of search and page reading", () => {
    expect(["web_search", "read_page", "tickets", "calculator"].map(mayEcho)).toEqual([
      ...[false, false, true, true],
    ]);
  });
});

test("counts the latest four million characters of results without lookups", async () => {
  const known = new KnownAddresses();
  known.addInput(`${A}/of-the-user`);
  known.add(`${A}/oldest`);
  known.add(`${A}/latest`);
  known.add("x".repeat(4_194_304 - `${A}/latest`.length));
  expect(await known.has(`${A}/oldest`)).toBe(false);
  expect(await known.has(`${A}/latest`)).toBe(true);
  expect(await known.has(`${A}/of-the-user`)).toBe(true);
});

test("reads a text at the first lookup, each in its own turn of the event loop", async () => {
  const known = new KnownAddresses();
  for (let n = 0; n < 20; n++) known.add(`${"http://".repeat(9_000)} ${A}/${n}`);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  expect(await known.has(`${A}/none`)).toBe(false);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(20);
});

test("lookups at the same time all wait until every text is read", async () => {
  const known = new KnownAddresses();
  for (let n = 0; n < 3; n++) known.add(`Read ${A}/${n}`);
  const found = await Promise.all([2, 1, 0].map((n) => known.has(`${A}/${n}`)));
  expect(found).toEqual([true, true, true]);
});

test("a note written by the model makes no address known", () => {
  expect(["memory_get", "memory_list", "memory_set"].map(bringsAddresses)).toEqual([
    ...[false, false, false],
  ]);
  expect(["web_search", "read_page", "tickets"].map(bringsAddresses)).toEqual([true, true, true]);
});

test.each([
  [100, true],
  [101, false],
])(
  "a result keeps its addresses beside up to a hundred of the model's own: %d",
  async (count, isKept) => {
    const known = new KnownAddresses();
    const request = Array.from({ length: count }, (_, n) => `https://made-${n}.example.com/x`);
    known.add(`${A}/x ${request.join(" ")}`, request.join(" "));
    expect([await known.has(`${A}/x`), await known.has(request[0]!)]).toEqual([isKept, false]);
  },
);
