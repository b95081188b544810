// Slugs generated from names have the form that requests accept.
import { expect, test } from "bun:test";
import { makeSlug, numberSlug } from "../../../src/agents/definitions/agent.ts";
import { NewAgent } from "../../../src/agents/definitions/input.ts";
import { createDraw } from "../../http/draw.ts";

const FORM = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const LETTERS = [..."abcXYZ019 -_.äÉßñ№½ﬁ好م\u0301\n\ud800😀"];

test("a slug keeps a name's letters and digits, in lower case and without accents", () => {
  expect(
    ["Support bot", "Café № 7", "  --A__b--  ", "ÅNGSTRÖM", "a".repeat(80), "x"].map(makeSlug),
  ).toEqual(["support-bot", "cafe-no-7", "a-b", "angstrom", "a".repeat(64), "x"]);
});

test("a name without letters or digits becomes a default slug", () => {
  expect(["مساعد", "好", "!!!", " "].map(makeSlug)).toEqual(["agent", "agent", "agent", "agent"]);
});

test("a slug with a number appended stays within the maximum length", () => {
  expect([1, 2, 30].map((n) => numberSlug("bot", n))).toEqual(["bot", "bot-2", "bot-30"]);
  expect(numberSlug("a".repeat(64), 100)).toBe(`${"a".repeat(60)}-100`);
  expect(numberSlug(`${"a".repeat(61)}-bc`, 2)).toBe(`${"a".repeat(61)}-2`);
});

test("every name and number gives a slug that a request accepts", () => {
  expect(new RegExp(NewAgent.properties.slug.anyOf[0].pattern!)).toEqual(FORM);
  const draw = createDraw(20_261_121);
  for (let n = 0; n < 5_000; n++) {
    const length = 1 + draw(90);
    const name = Array.from({ length }, () => LETTERS[draw(LETTERS.length)]).join("");
    const slug = makeSlug(name);
    expect([name, slug]).toEqual([name, expect.stringMatching(FORM)]);
    const numbered = numberSlug(slug, 2 + draw(1_000_000));
    expect([name, numbered]).toEqual([name, expect.stringMatching(FORM)]);
  }
});
