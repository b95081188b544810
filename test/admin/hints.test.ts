// Tests the hints at settings that work and are probably not meant.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listHints } from "../../src/admin/index.ts";
import { readExpiry, readSettings } from "../../src/settings/index.ts";
import { localCertificate, localCertificateKey } from "../support/certificate.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-hints-"));
afterAll(() => rmSync(directory, { recursive: true }));

const list = (text: string, unusedFile: string | null = null) =>
  listHints({
    ...{ settings: readSettings(text, "wadi.toml", { GPU_KEY: "k" }, {}), unusedFile, now: 0 },
  }).map(({ says }) => says);

test("keys that travel unencrypted beyond this machine are one hint", () => {
  for (const host of ["0.0.0.0", "::", "10.0.0.5", "wadi.internal"]) {
    const [says, ...others] = list(`[server]\nhost = "${host}"\n`);
    expect(says).toStartWith(`keys travel unencrypted to ${host}`);
    expect(others).toEqual([]);
  }
});

test("on this machine, or behind a proxy with TLS, there is none", () => {
  for (const text of [
    "",
    '[server]\nhost = "::1"\n',
    '[server]\nhost = "localhost"\n',
    '[server]\nhost = "0.0.0.0"\npublic_url = "https://wadi.example.com"\n',
    '[server]\nhost = "0.0.0.0"\ntrusted_proxies = ["10.0.0.1"]\n',
    '[operator]\nlisten = "127.0.0.1:9090"\n',
    '[operator]\nlisten = "10.0.0.5:9090"\npublic_url = "https://wadi.internal"\n',
    '[operator]\nlisten = "10.0.0.5:9090"\nenabled = false\n',
  ]) {
    expect([text, list(text)]).toEqual([text, []]);
  }
});

test("a public address without TLS hides no hint, and an operator's listener has its own", () => {
  const text = '[server]\nhost = "0.0.0.0"\npublic_url = "http://wadi.example.com"\n';
  expect(list(text)).toHaveLength(1);
  const [says] = list('[operator]\nlisten = "10.0.0.5:9090"\n');
  expect(says).toStartWith("operators' tokens travel unencrypted to 10.0.0.5:9090");
});

test("a database that the settings do not use is named", () => {
  expect(list("", "./wadi-data/wadi.db")).toEqual([
    "./wadi-data/wadi.db is a database out of use: the settings name PostgreSQL",
  ]);
});

test("a key for a model server, a search engine or a collector travels with TLS", () => {
  const write = (url: string) => `[[models]]
id = "far"
upstream = { kind = "openai", urls = ["${url}"], api_key_env = "GPU_KEY" }

[embeddings]
kind = "openai"
urls = ["${url}"]
model = "bge"
api_key_env = "GPU_KEY"
`;
  expect(list(write("http://10.0.0.5:8000/v1"))).toEqual([
    "the key of the model server of far travels unencrypted to 10.0.0.5:8000: " +
      "use https, or a tunnel",
    "the key of embeddings travels unencrypted to 10.0.0.5:8000: use https, or a tunnel",
  ]);
  expect(list(write("https://10.0.0.5:8000/v1"))).toEqual([]);
  expect(list(write("http://127.0.0.1:8000/v1"))).toEqual([]);
  const keyless = write("http://10.0.0.5:8000/v1").replaceAll(/,? ?api_key_env = "GPU_KEY"/g, "");
  expect(list(keyless)).toEqual([]);
  expect(list('[telemetry]\notlp = "http://10.0.0.5:4318"\n')).toEqual([]);
});

test("with a certificate nothing travels unencrypted, and its end is announced a week before", () => {
  writeFileSync(join(directory, "c.pem"), localCertificate);
  writeFileSync(join(directory, "k.pem"), localCertificateKey);
  const tls = `tls = { cert = "${directory}/c.pem", key = "${directory}/k.pem" }`;
  const text = `[server]\nhost = "0.0.0.0"\n${tls}\n[operator]\nlisten = "10.0.0.5:9090"\n`;
  const settings = readSettings(text, "wadi.toml", {}, {});
  const listAt = (date: string) =>
    listHints({ settings, unusedFile: null, now: Date.parse(date) }).map(({ says }) => says);
  expect(listAt("2125-12-24")).toEqual([]);
  expect(listAt("2125-12-26")).toEqual([
    "the certificate of server.tls expires on 2126-01-01: renew it, and send SIGHUP",
  ]);
  const week = 7 * 86_400_000;
  const end = readExpiry(settings.server.certificate!);
  const listBefore = (ms: number) => listAt(new Date(end - ms).toISOString());
  expect(listBefore(week)).toEqual([]);
  expect(listBefore(week - 1)).toHaveLength(1);
  expect(listBefore(0)[0]).toContain("expires on");
  expect(listBefore(-1)[0]).toContain("expired on");
  expect(listAt("2126-01-02")).toEqual([
    "the certificate of server.tls expired on 2126-01-01: renew it, and send SIGHUP",
  ]);
});
