// Tests where the link to the console leads: to the address that a browser of a person opens.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeConsoleLink, writeLink } from "../../src/cli/console.ts";
import { readSettings } from "../../src/settings/index.ts";
import { localCertificate, localCertificateKey } from "../support/certificate.ts";

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

test("a command on the data writes the address of the server by its settings", () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-link-"));
  const put = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const link = (lines: string) => {
    const config = put("wadi.toml", `[server]\n${lines}`);
    return writeLink({ args: [], flags: { config } }, "TOKEN", "a");
  };
  expect(link('host = "10.0.0.7"\nport = 8081')).toBe("http://10.0.0.7:8081/console/a#TOKEN");
  const cert = put("cert.pem", localCertificate);
  const key = put("key.pem", localCertificateKey);
  expect(link(`host = "::1"\nport = 8443\ntls = { cert = "${cert}", key = "${key}" }`)).toBe(
    "https://[::1]:8443/console/a#TOKEN",
  );
  rmSync(directory, { recursive: true });
});
