// Tests the check of hostile URL spellings.
import { expect, test } from "bun:test";
import { readAllowEntry } from "../../src/net/allow-list.ts";
import { checkUrl } from "../../src/net/url.ts";
import { acceptedUrls, refusedUrls } from "./hostile-urls.ts";

for (const [text, href] of acceptedUrls) {
  test(`the URL ${quote(text)} may be called`, () => {
    const result = checkUrl(text);
    expect(result.ok && result.url.href).toBe(href);
  });
}

for (const [text, why] of refusedUrls) {
  test(`the URL ${quote(text)} is refused`, () => {
    expect(checkUrl(text)).toEqual({ ok: false, reason: why });
  });
}

const noFragment = "The URL must not have a fragment.";
const unseen = "The URL contains white space, a backslash or a character that cannot be seen.";
const noUrl = "The URL must begin with https:// and name a host.";
const noTls = "The URL must begin with https://.";
const noUser = "The URL must not carry a user name or a password.";

test.each([
  ["http://127.0.0.1:9000/hook", null],
  ["https://[::1]:8080/", null],
  ["http://receiver:8080/", null],
  ["http://receiver:8081/", noTls],
  ["http://user@receiver:8080/", noUser],
  ["http://receiver:8080/#top", noFragment],
  ["http://receiver:8080/a b", unseen],
  ["ftp://receiver:8080/", noUrl],
])("with an operator's list the URL %p is refused for %p", (text, why) => {
  const list = ["127.0.0.1:*", "[::1]:8080", "receiver:8080"];
  const result = checkUrl(text, list.map(readAllowEntry));
  expect(result.ok ? null : result.reason).toBe(why);
});

/** A text for titles: short, and without terminal control characters. */
function quote(text: string): string {
  const visible = text.replace(/[^ -~]/g, (mark) => `\\u{${mark.charCodeAt(0).toString(16)}}`);
  return `"${visible.slice(0, 60)}"`;
}

test("a name has labels of 63 characters and 253 in all, and a URL 2,048 characters", () => {
  const isOpen = (text: string) => checkUrl(text).ok;
  const label = "a".repeat(63);
  expect([isOpen(`https://${label}.com/`), isOpen(`https://${label}a.com/`)]).toEqual([
    true,
    false,
  ]);
  const nameOf = (size: number) =>
    `${[label, label, label].join(".")}.${"a".repeat(size - 196)}.com`;
  expect([253, 254].map((size) => isOpen(`https://${nameOf(size)}/`))).toEqual([true, false]);
  const fill = (size: number, text: string) => `https://a.com/${text.repeat(size - 14)}`;
  for (const text of ["x", "😀"]) {
    expect([isOpen(fill(2_048, text)), isOpen(fill(2_049, text))]).toEqual([true, false]);
  }
});
