// Tests where the link to the console leads: to the address that a browser of a person opens.
import { expect, test } from "bun:test";
import { writeConsoleLink } from "../../src/cli/console.ts";
import { readSettings } from "../../src/settings/index.ts";

const write = (url: string, operator = "") =>
  writeConsoleLink(readSettings(`[operator]\n${operator}`, "wadi.toml", {}, {}), url, "TOKEN");

test("it leads to the server, at this machine where that listens on every address", () => {
  expect(write("http://127.0.0.1:8080")).toBe("http://127.0.0.1:8080/console/#TOKEN");
  expect(write("https://localhost")).toBe("https://localhost/console/#TOKEN");
  expect(write("http://0.0.0.0:8080")).toBe("http://127.0.0.1:8080/console/#TOKEN");
  expect(write("https://[::]:8443")).toBe("https://127.0.0.1:8443/console/#TOKEN");
});

test("it leads to the operators' own address, or to that of the proxy in front of it", () => {
  const listen = 'listen = "10.0.0.1:9090"\n';
  expect(write("https://127.0.0.1:8080", listen)).toBe("https://10.0.0.1:9090/console/#TOKEN");
  const all = 'listen = "[::]:9090"\n';
  expect(write("http://127.0.0.1:8080", all)).toBe("http://127.0.0.1:9090/console/#TOKEN");
  const proxy = `${listen}public_url = "https://wadi.internal/"\n`;
  expect(write("http://127.0.0.1:8080", proxy)).toBe("https://wadi.internal/console/#TOKEN");
});
