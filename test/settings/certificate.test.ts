// Tests the files of `[server] tls`: each fault is named before the server starts.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeChange, listSettings, readSettings } from "../../src/settings/index.ts";
import {
  certificate,
  certificateKey,
  localCertificate,
  localCertificateKey,
} from "../support/certificate.ts";
import { refusalOf } from "./refusal.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-certificate-"));
afterAll(() => rmSync(directory, { recursive: true }));

const put = (name: string, text: string) => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};
const cert = put("cert.pem", localCertificate);
const key = put("key.pem", localCertificateKey);
const writeTls = (tls: { cert?: string; key?: string }) =>
  `[server.tls]\n${Object.entries(tls)
    .map(([name, file]) => `${name} = "${file}"\n`)
    .join("")}`;

test("a certificate and its key are read, and a renewed one is a change", () => {
  const read = () => readSettings(writeTls({ cert, key }), "wadi.toml", {}, {});
  const before = read();
  expect(before.server.certificate).toEqual({ cert: localCertificate, key: localCertificateKey });
  expect(describeChange(before, read())).toBe("");
  put("cert.pem", certificate);
  put("key.pem", certificateKey);
  const after = read();
  expect(describeChange(before, after)).toBe("the certificate of the server");
  put("cert.pem", localCertificate);
  put("key.pem", localCertificateKey);
});

test("the environment names the files as well, and the inline table is the same", () => {
  const env = { WADI_SERVER__TLS__CERT: cert, WADI_SERVER__TLS__KEY: key };
  expect(readSettings("", "wadi.toml", env, {}).server.certificate).not.toBeNull();
  const inline = `[server]\ntls = { cert = "${cert}", key = "${key}" }\n`;
  const settings = readSettings(inline, "wadi.toml", {}, {});
  expect(settings.server.certificate).not.toBeNull();
  const rows = listSettings(settings).filter(({ name }) => name.startsWith("server.tls"));
  expect(rows.map(({ name, value }) => [name, value])).toEqual([
    ["server.tls.cert", cert],
    ["server.tls.key", key],
  ]);
});

test("commands that serve nothing do not read the files", () => {
  const options = { wantsApiKeys: false };
  const settings = readSettings(
    writeTls({ cert: "/no/cert", key: "/no/key" }),
    ...(["wadi.toml", {}, {}, options] as const),
  );
  expect(settings.server.certificate).toBeNull();
});

test.each([
  ["only a certificate", { cert }, "server.tls.key is required beside server.tls.cert"],
  ["only a key", { key }, "server.tls.cert is required beside server.tls.key"],
  ["a missing file", { cert: "/no/cert", key }, "tls.cert names a file that cannot be read"],
  ["a key in place of the certificate", { cert: key, key }, "without a certificate in PEM"],
  ["a certificate in place of the key", { cert, key: cert }, "without a private key in PEM"],
  [
    "the key of another certificate",
    { cert, key: put("other.pem", certificateKey) },
    "server.tls.key is not the key of server.tls.cert",
  ],
])("%s is refused", (_, tls, message) => {
  expect(refusalOf(writeTls(tls))).toContain(message);
});
