// Tests both sides of the bounds of each text format.
import { expect, test } from "bun:test";
import { FORMATS, type FormatName } from "../../src/settings/formats.ts";

const x = (count: number) => "x".repeat(count);

test.each<[FormatName, string[], string[]]>([
  ["retention", ["1d", "99999d"], ["0d", "01d", "100000d", "24h", "d", "1d "]],
  ["currency", ["SAR"], ["", "SA", "SARS", "SAr", " SAR"]],
  ["host", ["::1", "fe80::1%eth0", x(253)], ["", x(254), "a b", "[::1]"]],
  ["alias", ["a", "a-1", x(32)], ["", x(33), "1a", "-a", "A", "a_b", " a"]],
  ["model", ["a", "0", "maker/a.b:c@d+e-f_g", x(128)], ["", x(129), ".a", "/a", "a b", "é"]],
  ["variable", ["", "_", "A_1"], ["1A", "A-B", "A B", " A"]],
  ["header", ["", "a\tb ~", "\u0080\u00ff"], ["\x7f", "\x1f", "\n", "a\r", "\u0100"]],
  ["path", ["", "/", "/a?b=c&d"], ["a", " /", "/a b", "/a#b", "/é", "/\x7f"]],
  [
    "listen",
    ["", "a:1", "10.0.0.1:65535", "[::1]:9", `${x(253)}:9`],
    [
      "a",
      "a:",
      ":1",
      "a:0",
      "a:01",
      "a:65536",
      "a:100000",
      "::1:9",
      "[a.example]:9",
      `${x(254)}:9`,
    ],
  ],
  ["database", ["", "postgresql://h"], ["postgres://", "postgres://a b", "xpostgres://h"]],
  [
    "valkey",
    ["", "redis://h", "rediss://h", "valkeys://:p@h/1"],
    ["redis://", "redis:///1", "redis:// h", "xredis://h", "redis://h h"],
  ],
  ["directory", ["", "./data", "/data", "./s3:x", "C:\\data"], ["s3:x", "S3+a.-:x"]],
  ["link", ["", "http://a/?b#c"], ['http://a/"', "http://a/<", "http://a/>", "http://a/ b", "a"]],
  [
    "origin",
    ["https://a.example", "http://localhost:3000", "app+x.y-1://local_host", "https://[::1]:8"],
    [
      ...["https://a.example/", "https://a.example:443", "https://u@a", "https://A", "https://a,b"],
      ...["app://a,b", "app://a/", "app://a?b", "app://a#b", "1://a", "null", "*", ""],
    ],
  ],
  [
    "upstream",
    ["http://h", "https://h:1/v1"],
    ["", "http://u@h", "http://:p@h", "http://h/?", "http://h/#", "http://h/?a", "http://h/<"],
  ],
  ["search", [""], ["http://u@h", "http://:p@h"]],
  ["probe", ["http://h/?level=1"], ["", "http://u@h", "http://:p@h", "http://h/#a"]],
  [
    "action",
    ["", "POST http://h/?level=1", "GET http://h"],
    ["POST", "POST ", "post http://h", "POSThttp://h", "PUT http://h", "POST http://:p@h", "GET a"],
  ],
])("%s", (name, accepted, refused) => {
  for (const text of accepted) expect(() => FORMATS[name](text)).not.toThrow();
  const taken = refused.filter((text) => {
    try {
      FORMATS[name](text);
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
      return false;
    }
  });
  expect(taken).toEqual([]);
});

test("texts are read in one form", () => {
  expect(FORMATS.retention("forever")).toBeNull();
  expect(FORMATS.retention("2d")).toBe(172_800_000);
  expect(FORMATS.database("Postgres://U@H")).toBe("postgres://U@H");
  expect(FORMATS.upstream("http://h/v1//")).toBe("http://h/v1");
  expect(FORMATS.search("http://h/")).toBe("http://h");
  expect(FORMATS.action("POST   http://h")).toBe("POST http://h");
});
