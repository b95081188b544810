// Tests the hints at settings that work and are probably not meant.
import { expect, test } from "bun:test";
import { listHints } from "../../src/admin/index.ts";
import { readSettings } from "../../src/settings/index.ts";

const list = (text: string, unusedFile: string | null = null) =>
  listHints({ settings: readSettings(text, "wadi.toml", {}, {}), unusedFile }).map(
    ({ says }) => says,
  );

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
