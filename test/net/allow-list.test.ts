// Tests the operator's allow list: parsing, formatting, and matching of URLs.
import { expect, test } from "bun:test";
import { isAllowed, readAllowEntry, writeAllowEntry } from "../../src/net/allow-list.ts";

test.each<[text: string, host: string, port: number | "any", written: string]>([
  ["127.0.0.1:*", "127.0.0.1", "any", "127.0.0.1:*"],
  ["10.0.0.9:8443", "10.0.0.9", 8443, "10.0.0.9:8443"],
  ["hooks.acme.internal:443", "hooks.acme.internal", 443, "hooks.acme.internal:443"],
  ["LocalHost:9000", "localhost", 9000, "localhost:9000"],
  ["[::1]:8080", "[::1]", 8080, "[::1]:8080"],
  ["[0:0::0:1]:65535", "[::1]", 65535, "[::1]:65535"],
])("the entry %p opens the host %p at the port %p", (text, host, port, written) => {
  const entry = readAllowEntry(text);
  expect(entry).toEqual({ host, port });
  expect(writeAllowEntry(entry)).toBe(written);
});

const noForm = "must be HOST:PORT, HOST:* or [IPV6]:PORT";
const unusual = "must name its host in the usual spelling";

test.each([
  ["", noForm],
  ["127.0.0.1", noForm],
  ["::1:8080", noForm],
  ["*:443", noForm],
  ["a.com:0", noForm],
  ["a.com:80/x", noForm],
  ["http://a.com:80", noForm],
  ["u@a.com:80", noForm],
  [" a.com:80", noForm],
  ["a.com:80\n", noForm],
  ["a.com:65536", "must have a port up to 65535"],
  ["127.1:80", unusual],
  ["0x7f.0.0.1:80", unusual],
  ["2130706433:80", unusual],
  ["300.0.0.1:80", unusual],
  ["[::1::]:80", unusual],
])("the entry %p is refused: it %s", (text, must) => {
  expect(() => readAllowEntry(text)).toThrow(new RangeError(must));
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
  expect(isAllowed(new URL(url), list.map(readAllowEntry))).toBe(allowed);
});
