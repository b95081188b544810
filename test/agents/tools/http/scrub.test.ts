// Removal of a secret from a reply, in every encoding that an endpoint may echo.
import { describe, expect, test } from "bun:test";
import { scrub } from "../../../../src/agents/tools/http/scrub.ts";

const SECRETS = [
  "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
  'q"uo\\te/%41&<a>+b=~`',
  "abcd",
  "aXaXaXaX",
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLgSw",
];

const toHex = (text: string) => Buffer.from(text).toString("hex");
const percentAll = (text: string) =>
  [...text].map((one) => `%${one.charCodeAt(0).toString(16).padStart(2, "0")}`).join("");
const entities = (text: string) => [...text].map((one) => `&#${one.charCodeAt(0)};`).join("");
const units = (text: string) =>
  [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** Encodings in which an endpoint may echo a text. */
const FORMS: Record<string, (text: string) => string> = {
  "as it is": (text) => text,
  "in other letters": (text) => text.toUpperCase(),
  "as JSON": JSON.stringify,
  "as JSON in JSON": (text) => JSON.stringify(JSON.stringify({ authorization: text })),
  "as JSON that spares no slash": (text) => JSON.stringify(text).replaceAll("/", "\\/"),
  "as JSON for a page": (text) =>
    JSON.stringify(text).replaceAll("<", "\\u003c").replaceAll("&", "\\u0026"),
  "as a script's text": (text) => text.replaceAll(/[\\'"]/g, "\\$&"),
  "percent-encoded": encodeURIComponent,
  "percent-encoded in small letters": (text) =>
    encodeURIComponent(text).replaceAll(/%../g, (code) => code.toLowerCase()),
  "percent-encoded to the last character": percentAll,
  "as JSON in JSON in a URL": (text) => encodeURIComponent(JSON.stringify(JSON.stringify(text))),
  "percent-encoded twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "with HTML's names": (text) => Bun.escapeHTML(text),
  "with HTML's numbers": entities,
  "with units of UTF-16": units,
};
/** Encodings with other characters, where a short secret could appear by chance. */
const ENCODED: Record<string, (text: string) => string> = {
  "in base64": (text) => Buffer.from(text).toString("base64"),
  "in base64 for URLs": (text) => Buffer.from(text).toString("base64url"),
  "inside of base64": (text) => Buffer.from(`Authorization: Bearer ${text}\r\n`).toString("base64"),
  "inside of base64, a byte on": (text) => Buffer.from(`xBearer ${text}!`).toString("base64url"),
  "inside of base64, two bytes on": (text) => Buffer.from(`xxBearer ${text}`).toString("base64"),
  "in base64 with line breaks": (text) =>
    Buffer.from(`the token is ${text} `.repeat(3))
      .toString("base64")
      .replaceAll(/.{20}/g, "$&\r\n"),
  "in base64 in JSON in a URL": (text) =>
    encodeURIComponent(JSON.stringify({ echo: Buffer.from(text).toString("base64") })),
  "in hexadecimal": toHex,
  "in capital hexadecimal": (text) => toHex(text).toUpperCase(),
};

/** Decodes percent signs, JSON escapes and HTML entities once each. */
const decodeEscapes = (text: string) =>
  text.replaceAll(/%([0-9a-f]{2})|\\u([0-9a-f]{4})|&#(\d+);/gi, (_, byte, unit, code) =>
    String.fromCharCode(code ? Number(code) : Number.parseInt(byte ?? unit, 16)),
  );

/** All decodings of a text, from any offset. */
const readings = (text: string): string[] =>
  text.split("[secret]").flatMap((part) => {
    const plain = part.replaceAll(/%0D%0A|\s/g, "");
    const offsets = [0, 1, 2, 3].map((at) => plain.slice(at));
    return [
      part,
      decodeEscapes(part),
      decodeEscapes(decodeEscapes(part)),
      ...offsets.map((one) => Buffer.from(one, "base64").toString("latin1")),
      ...offsets.slice(0, 2).map((one) => Buffer.from(one, "hex").toString("latin1")),
    ];
  });
/** Maximum characters of a secret that may remain in a row where it was encoded or cut. */
const FEW = 3;
const leaves = (secret: string, says: string) => {
  const parts = Array.from({ length: secret.length - FEW }, (_, at) =>
    secret.slice(at, at + FEW + 1),
  );
  return readings(says).some((one) => parts.some((part) => one.includes(part)));
};

describe("in any encoding", () => {
  for (const [name, form] of Object.entries({ ...FORMS, ...ENCODED })) {
    for (const secret of SECRETS.filter((one) => name in FORMS || one.length > 5)) {
      test(`${secret.slice(0, 8)} ${name}`, async () => {
        const before = "A reply: ";
        const text = `${before}${form(secret)} and more`;
        const says = await scrub(text, secret, false);
        expect(says).toStartWith(before);
        expect(says).toEndWith(" and more");
        expect(says).toContain("[secret]");
        expect(leaves(secret, says)).toBe(false);
        expect(says).not.toContain(form(secret));
      });
    }
  }
});

test("removes each of several, and keeps the text between", async () => {
  const secret = SECRETS[0]!;
  const text = `${secret},${encodeURIComponent(secret)};${secret.toUpperCase()}\n${btoa(secret)}`;
  const says = await scrub(text, secret, false);
  expect(says).toMatch(/^\[secret\],\[secret\];\[secret\]\n\[secret\].{0,4}$/);
});

test("a line break inside a partial match removes nothing else", async () => {
  const secret = SECRETS[0]!;
  const encoded = btoa(secret).replace(/=+$/, "");
  const begun = `${encoded.slice(0, 4)}\n!`;
  expect(await scrub(`${begun}?${encoded}`, secret, false)).toMatch(
    new RegExp(`^${begun}\\?\\[secret\\].?$`),
  );
});

test("removes overlapping ones together", async () => {
  expect(await scrub("-aXaXaXaXaX-", "aXaXaXaX", false)).toBe("-[secret]-");
});

test("a text without the secret stays unchanged, with its escapes", async () => {
  const text = '{"a":"\\u00e9 \\n %41 &amp; 😀 [secret] \\"","b":"c2VjcmV0"}';
  for (const secret of SECRETS) expect(await scrub(text, secret, false)).toBe(text);
});

describe("at a cut", () => {
  for (const [name, form] of Object.entries({ ...FORMS, ...ENCODED })) {
    test(`leaves no part of it before a cut, ${name}`, async () => {
      const secret = SECRETS[0]!;
      const said = form(secret);
      for (let kept = 1; kept < said.length; kept++) {
        const text = `A long reply, and then ${said.slice(0, kept)}`;
        const says = await scrub(text, secret, true);
        expect(says).toStartWith("A long rep");
        const rest = says.slice("A long reply, and then ".length);
        expect([kept, leaves(secret, rest)]).toEqual([kept, false]);
      }
    });
  }

  test("a text without a cut keeps a partial match at its end", async () => {
    expect(await scrub("ends with sk_live", SECRETS[0]!, false)).toBe("ends with sk_live");
    expect(await scrub("ends with sk_live", SECRETS[0]!, true)).toBe("ends with ");
  });
});

describe("short secrets", () => {
  test("of up to three characters are removed only as whole words", async () => {
    expect(await scrub("key=abc, abcd, xabc, (ABC) abc", "abc", false)).toBe(
      "key=[secret], abcd, xabc, ([secret]) [secret]",
    );
    expect(await scrub("a man and a plan: é", "a", false)).toBe(
      "[secret] man and [secret] plan: é",
    );
    expect(await scrub("aé éa ä", "a", false)).toBe("aé éa ä");
    expect(await scrub("%41%42 AB", "AB", false)).toBe("[secret] [secret]");
  });

  test("of four characters is taken out within words, too", async () => {
    expect(await scrub("key=abcd, xabcdx, ABCDs", "abcd", false)).toBe(
      "key=[secret], x[secret]x, [secret]s",
    );
  });
});

describe("secrets with a scheme", () => {
  test("removes the part after the scheme", async () => {
    expect(await scrub("You sent: token abcdef123", "Token abcdef123", false)).toBe(
      "You sent: token [secret]",
    );
    expect(await scrub("You sent ab c", "ab c", false)).toBe("You sent [secret]");
  });

  test("removes the password of Basic, too", async () => {
    const sent = `Basic ${btoa("wadi:s3cret/pass")}`;
    const says = await scrub(`${sent} for wadi with s3cret\\/pass`, sent, false);
    expect(says).toBe("Basic [secret] for wadi with [secret]");
  });

  test("removes a password of Basic of four characters, too", async () => {
    const sent = `Basic ${btoa("wadi:s3cr")}`;
    expect(await scrub("wadi with s3cr", sent, false)).toBe("wadi with [secret]");
  });
});

test("takes time linear in the text", async () => {
  // A backtracking search would exceed the test's time-out.
  const worst = [
    ["a".repeat(300_000), `${"a".repeat(8_191)}b`],
    ["%41".repeat(100_000), `${"A".repeat(8_191)}B`],
    ["%25".repeat(100_000), "%".repeat(8_192)],
    ["\\".repeat(300_000), `${"\\".repeat(8_191)}b`],
    ["\n".repeat(300_000), "YWFhYWFhYWFh"],
  ] as const;
  for (const [text, secret] of worst) {
    expect((await scrub(text, secret, false)).length).toBeLessThanOrEqual(text.length);
  }
});

test("a secret is searched encoded from six characters on, and within words from four on", async () => {
  const encode = (text: string) => Buffer.from(text).toString("base64");
  expect(await scrub(encode("sesame"), "sesame", false)).toBe("[secret]");
  expect(await scrub(encode("sesam"), "sesam", false)).toBe(encode("sesam"));
  expect(await scrub("xseszx xsesx", "sesz", false)).toBe("x[secret]x xsesx");
  expect(await scrub("xsesx ses", "ses", false)).toBe("xsesx [secret]");
});
