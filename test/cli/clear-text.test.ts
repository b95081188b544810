// Tests the warning about a token or key that could be read on its way.
import { expect, test } from "bun:test";
import { warnOfClearText } from "../../src/cli/remote.ts";

const warn = (url: string) => {
  const said: string[] = [];
  warnOfClearText(url, { say: (line) => void said.push(line) });
  return said;
};

test("plain HTTP to another machine is warned of, by its host", () => {
  expect(warn("http://wadi.internal:8080")).toEqual([
    "warning: the token travels unencrypted to wadi.internal:8080: use https, or a tunnel",
  ]);
});

test("TLS and this machine are not", () => {
  for (const url of ["https://wadi.example", "http://127.0.0.1:8080", "http://[::1]:8080"]) {
    expect([url, warn(url)]).toEqual([url, []]);
  }
});
