// Keeps README.md true: its session is what the program prints, its settings are the table's rows.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings, writeSettingsReference } from "../src/settings/index.ts";
import { openRoom, type Room } from "./support/binary.ts";
import { localCertificate, localCertificateKey } from "./support/certificate.ts";
import { findPage, pages, readBlock, readme } from "./support/documents.ts";

const LINES_MAX = 190;

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** Replaces what differs from start to start: the version, the port and the key. */
function level(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replaceAll(/svc_sk_\w{49}/g, "KEY")
    .replaceAll(/wadi_link_\w{49}/g, "LINK")
    .replace(/wadi \d+\.\d+\.\d+/, "wadi VERSION");
}

test("README is short, and its links resolve", () => {
  expect(readme.text.split("\n").length).toBeLessThanOrEqual(LINES_MAX);
  for (const [, path] of readme.text.matchAll(/\]\(([^)h][^)]*)\)/g)) {
    expect([path, existsSync(join(import.meta.dir, "..", path!))]).toEqual([path, true]);
  }
});

test("links of pages resolve to a page and to one of its headings", () => {
  const html = (text: string) => Bun.markdown.html(text, { headings: { ids: true } });
  const generated = ["settings", "errors", "cli", "changes"];
  for (const { name, text } of pages) {
    for (const [, to, at] of text.matchAll(/\]\(\/docs\/([a-z-]+)(?:#([a-z-]+))?\)/g)) {
      const page = findPage(to!);
      expect([name, to, page !== undefined || generated.includes(to!)]).toEqual([name, to, true]);
      if (page && at)
        expect([name, html(page.text)]).toEqual([name, expect.stringContaining(`id="${at}"`)]);
    }
  }
});

test("the session at the top is what `wadi dev` prints and replies", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  const lines = readBlock(readme, "durably.").split("\n");
  const reply = JSON.parse(lines.pop()!);
  const session = lines.slice(1).map((line) => line.replace(/^\$ /, ""));
  // There the command stands with its reply.
  const [command, link] = server.banner.slice(-2);
  const printed = [...server.banner.slice(0, -2), link, command];
  expect(level(printed.join("\n"))).toBe(level(session.join("\n")));
  const answered = (await (await server.chat("Hello")).json()) as { id: string; created: number };
  expect(answered).toEqual({ ...reply, id: answered.id, created: answered.created });
});

test("README shows ten settings as the reference does", () => {
  const rows = readme.text.split("\n").filter((line) => /^\| `[a-z]+\.[a-z_]+` \|/.test(line));
  expect(rows).toHaveLength(10);
  const reference = writeSettingsReference().split("\n");
  for (const row of rows) expect(reference).toContain(row);
});

test("the wadi.toml of the page on models serves, and its first start prints the text shown", async () => {
  const page = findPage("models");
  writeFileSync(join(room.directory, "wadi.toml"), readBlock(page, "with one model on two"));
  const shown = await room.show(["serve", "--port", "0"]);
  expect(level(shown.trimEnd())).toBe(level(readBlock(page, "the key is in the file")));
});

/** Variables that settings of pages name. */
const ENV = { BRAVE_API_KEY: "key", S3_SECRET: "secret" };

test("every settings file that a page shows is valid", () => {
  const blocks = pages.flatMap(({ name, blocks }) =>
    blocks.flatMap(({ language, text }) => (language === "toml" ? [[name, text]] : [])),
  );
  expect(blocks.length).toBeGreaterThanOrEqual(7);
  const readText = (file: string) =>
    file.endsWith("privkey.pem") ? localCertificateKey : localCertificate;
  for (const [name, text] of blocks) {
    const settings = readSettings(text!, `${name}.toml`, ENV, {}, { readText });
    expect(settings.models.length).toBe(1);
  }
});
