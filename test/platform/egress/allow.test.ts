// Reads the operator's list as people write it, and matches URLs against it.
import { expect, test } from "bun:test";
import { isAllowed, parseAllowList } from "../../../src/platform/egress/allow.ts";

test.each([
  ["127.0.0.1:*", "127.0.0.1", null],
  ["10.0.0.9:8443", "10.0.0.9", 8443],
  ["hooks.acme.internal:443", "hooks.acme.internal", 443],
  ["LocalHost:9000", "localhost", 9000],
  ["[::1]:8080", "[::1]", 8080],
  ["[0:0::0:1]:65535", "[::1]", 65535],
])("the entry %p opens the host %p at the port %p", (text, host, port) => {
  expect(parseAllowList([text])).toEqual({ ok: true, allow: [{ host, port }] });
});

test.each([
  ["", '"" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["127.0.0.1", '"127.0.0.1" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["::1:8080", '"::1:8080" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["*:443", '"*:443" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["a.com:0", '"a.com:0" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["a.com:80/x", '"a.com:80/x" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["http://a.com:80", '"http://a.com:80" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["u@a.com:80", '"u@a.com:80" is not HOST:PORT, [IPV6]:PORT or HOST:*.'],
  ["a.com:65536", '"a.com:65536" has a port above 65535.'],
  ["127.1:80", '"127.1:80" does not name a host in its usual spelling.'],
  ["0x7f.0.0.1:80", '"0x7f.0.0.1:80" does not name a host in its usual spelling.'],
  ["300.0.0.1:80", '"300.0.0.1:80" does not name a host in its usual spelling.'],
  ["[::1::]:80", '"[::1::]:80" does not name a host in its usual spelling.'],
])("the entry %p is refused in a sentence", (text, why) => {
  expect(parseAllowList(["10.0.0.9:8443", text])).toEqual({ ok: false, why });
});

const list = ["127.0.0.1:*", "hooks.acme.internal:443", "plain.acme.internal:80", "[::1]:8080"];

test.each([
  ["http://127.0.0.1:9/", true],
  ["http://2130706433:9/", true],
  ["https://127.0.0.2/", false],
  ["https://hooks.acme.internal/x", true],
  ["https://HOOKS.acme.internal:443/x", true],
  ["http://hooks.acme.internal/", false],
  ["https://hooks.acme.internal:8443/", false],
  ["https://hooks.acme.internal./", false],
  ["https://a.hooks.acme.internal/", false],
  ["http://plain.acme.internal/", true],
  ["http://[0:0:0:0:0:0:0:1]:8080/", true],
  ["http://[::1]:8081/", false],
])("the URL %p is on the list: %p", (url, allowed) => {
  const verdict = parseAllowList(list);
  expect(verdict.ok && isAllowed(new URL(url), verdict.allow)).toBe(allowed);
});
