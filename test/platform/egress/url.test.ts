// Holds hostile spellings of URLs against the judge of their text.
import { expect, test } from "bun:test";
import { readAllowEntry } from "../../../src/platform/allow-entry.ts";
import { judgeUrl } from "../../../src/platform/egress/url.ts";

const noUrl = "The URL must begin with https:// and name a host.";
const noHost = "The URL names no host that could exist.";
const noTls = "The URL must begin with https://.";
const noPort = "The URL must use port 443.";
const noUser = "The URL must not carry a user name or a password.";
const noFragment = "The URL must not have a fragment.";
const noIp = "The URL must name its host by a DNS name, not by an IP address.";
const noDot = "The host must be a DNS name with a dot in it.";
const noName = "The host is not a well-formed DNS name.";
const unseen = "The URL contains white space, a backslash or a character that cannot be seen.";
const tooLong = "The URL is longer than 2,048 characters.";

const accepted = [
  ["https://example.com", "https://example.com/"],
  ["https://example.com/hook?a=b@c", "https://example.com/hook?a=b@c"],
  ["HTTPS://Hooks.Example.COM:443/x", "https://hooks.example.com/x"],
  ["https://a_b.example.org/", "https://a_b.example.org/"],
  ["https://bücher.example.com/ü", "https://xn--bcher-kva.example.com/%C3%BC"],
  ["https://xn--bcher-kva.example.com/", "https://xn--bcher-kva.example.com/"],
  ["https://1.1.1.1.nip.io/", "https://1.1.1.1.nip.io/"],
  ["https://internal.example.com/", "https://internal.example.com/"],
  ["https://mylocal.homes/", "https://mylocal.homes/"],
  [`https://example.com/${"a".repeat(2_028)}`, `https://example.com/${"a".repeat(2_028)}`],
] as const;

for (const [text, href] of accepted) {
  test(`the URL ${quote(text)} may be called`, () => {
    const verdict = judgeUrl(text);
    expect(verdict.ok && verdict.url.href).toBe(href);
  });
}

const refused = [
  ["", noUrl],
  ["example.com", noUrl],
  ["//example.com/", noUrl],
  ["https:example.com", noUrl],
  ["https:/example.com", noUrl],
  ["https:///example.com", noUrl],
  ["https://", noUrl],
  ["ftp://example.com/", noUrl],
  ["file:///etc/passwd", noUrl],
  ["javascript:alert(1)", noUrl],
  ["http://example.com/", noTls],
  ["http://example.com:443/", noTls],
  ["https://example.com:8443/", noPort],
  ["https://example.com:80/", noPort],
  ["https://example.com:0/", noPort],
  ["https://example.com:65536/", noHost],
  ["https://user@example.com/", noUser],
  ["https://user:pass@example.com/", noUser],
  ["https://@example.com/", noUser],
  ["https://example.com@127.0.0.1/", noUser],
  ["https://example.com/#top", noFragment],
  ["https://example.com#", noFragment],
  ["https://127.0.0.1/", noIp],
  ["https://8.8.8.8/", noIp],
  ["https://127.0.0.1./", noIp],
  ["https://127.1/", noIp],
  ["https://2130706433/", noIp],
  ["https://0x7f000001/", noIp],
  ["https://0x7f.1/", noIp],
  ["https://0177.0.0.1/", noIp],
  ["https://017700000001/", noIp],
  ["https://１２７.０.０.１/", noIp],
  ["https://127。0。0。1/", noIp],
  ["https://%31%32%37.0.0.1/", noIp],
  ["https://[::1]/", noIp],
  ["https://[::ffff:127.0.0.1]/", noIp],
  ["https://[2606:4700:4700::1111]/", noIp],
  ["https://[fe80::1%25eth0]/", noHost],
  ["https://1.2.3.4.5/", noHost],
  ["https://256.1.1.1/", noHost],
  ["https://example.0x7f/", noHost],
  ["https://xn--zzzz99999.com/", noHost],
  ["https://localhost/", noDot],
  ["https://intranet/", noDot],
  ["https://example.com./", noName],
  ["https://a..example.com/", noName],
  ["https://-a.example.com/", noName],
  ["https://a-.example.com/", noName],
  ["https://a!b.example.com/", noName],
  [`https://${"a".repeat(64)}.com/`, noName],
  [`https://${"a.".repeat(127)}com/`, noName],
  ["https://api.localhost/", "Names that end in .localhost are not public."],
  ["https://printer.local/", "Names that end in .local are not public."],
  ["https://metadata.google.internal/", "Names that end in .internal are not public."],
  ["https://METADATA.GOOGLE.ＩＮＴＥＲＮＡＬ/", "Names that end in .internal are not public."],
  ["https://a.invalid/", "Names that end in .invalid are not public."],
  ["https://a.test/", "Names that end in .test are not public."],
  ["https://a.example/", "Names that end in .example are not public."],
  ["https://a.onion/", "Names that end in .onion are not public."],
  ["https://1.0.0.127.in-addr.arpa/", "Names that end in .arpa are not public."],
  ["https://nas.home/", "Names that end in .home are not public."],
  ["https://nas.lan/", "Names that end in .lan are not public."],
  ["https://nas.corp/", "Names that end in .corp are not public."],
  [" https://example.com/", unseen],
  ["https://example.com/ ", unseen],
  ["https://example.com/a b", unseen],
  ["https://example.com/a\u00a0b", unseen],
  ["https://exam\tple.com/", unseen],
  ["https://example.com/\r\nx: y", unseen],
  ["https://example.com/\u0000", unseen],
  ["https://ex\u00adample.com/", unseen],
  ["https://example.com/\u202egnp", unseen],
  ["https://example.com/\ud800", unseen],
  ["https:\\\\example.com\\", unseen],
  ["https://example.com\\@127.0.0.1/", unseen],
  [`https://example.com/${"a".repeat(2_029)}`, tooLong],
] as const;

for (const [text, why] of refused) {
  test(`the URL ${quote(text)} is refused`, () => {
    expect(judgeUrl(text)).toEqual({ ok: false, why });
  });
}

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
  const verdict = judgeUrl(text, list.map(readAllowEntry));
  expect(verdict.ok ? null : verdict.why).toBe(why);
});

/** A text as titles show it: short, and with nothing in it that a terminal would obey. */
function quote(text: string): string {
  const visible = text.replace(/[^ -~]/g, (mark) => `\\u{${mark.charCodeAt(0).toString(16)}}`);
  return `"${visible.slice(0, 60)}"`;
}
