// Matches URLs against the operator's list.
import { expect, test } from "bun:test";
import { isAllowed, readAllowEntry } from "../../src/net/allow-list.ts";

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
  expect(isAllowed(new URL(url), list.map(readAllowEntry))).toBe(allowed);
});
