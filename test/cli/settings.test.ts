// Tests the merge of command-line flags into the settings.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandInput, UsageError } from "../../src/cli/command.ts";
import {
  findUnusedDatabase,
  openGivenSettings,
  readGivenSettings,
} from "../../src/cli/settings.ts";
import { writeAllowEntry } from "../../src/net/allow-list.ts";
import { readSettings, type Settings } from "../../src/settings/index.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-given-"));
afterAll(() => rmSync(directory, { recursive: true }));

const config = join(directory, "wadi.toml");
const commandInput = (...places: string[]): CommandInput => ({
  args: [],
  flags: { config, "allow-egress": places },
});
const writeOpen = (settings: Settings) => settings.egress.allow.map(writeAllowEntry);

test("paths of flags are added to those of the file, also after a reload", () => {
  writeFileSync(config, '[egress]\nallow = ["10.0.0.9:8443", "[::1]:80"]\n');
  const flags = commandInput("Receiver:*", "10.0.0.9:8443", "127.0.0.1:9000");
  const { settings, file } = openGivenSettings(flags);
  const fromFlags = ["receiver:*", "10.0.0.9:8443", "127.0.0.1:9000"];
  expect(writeOpen(settings)).toEqual([
    "10.0.0.9:8443",
    "[::1]:80",
    "receiver:*",
    "127.0.0.1:9000",
  ]);
  expect(Object.isFrozen(settings.egress.allow)).toBe(true);
  writeFileSync(config, '[egress]\nallow = ["10.0.0.7:80"]\n');
  expect(writeOpen(file!.read())).toEqual(["10.0.0.7:80", ...fromFlags]);
  writeFileSync(config, "");
  expect(writeOpen(file!.read())).toEqual(fromFlags);
  expect(writeOpen(readGivenSettings(commandInput()))).toEqual([]);
});

test("a malformed path in a flag is a command-line error", () => {
  writeFileSync(config, "");
  for (const [place, must] of [
    ["127.0.0.1", "must be HOST:PORT, HOST:* or [IPV6]:PORT"],
    ["127.1:80", "must name its host in the usual spelling"],
    ["a.com:70000", "must have a port up to 65535"],
  ] as const) {
    expect(() => readGivenSettings(commandInput("receiver:80", place))).toThrow(
      new UsageError(`--allow-egress ${must}, but is "${place}"`),
    );
  }
});

test("a SQLite database beside settings that name PostgreSQL is found, unless it is empty", () => {
  const data = join(directory, "unused");
  const read = (database: string) =>
    readSettings(`[server]\ndata = "${data}"\n${database}`, "wadi.toml", {}, {});
  const postgres = read('database = "postgres://db.example/wadi"\n');
  expect(findUnusedDatabase(postgres)).toBeNull();
  mkdirSync(data);
  const file = join(data, "wadi.db");
  writeFileSync(file, "");
  expect(findUnusedDatabase(postgres)).toBeNull();
  writeFileSync(file, "SQLite format 3");
  expect(findUnusedDatabase(postgres)).toBe(file);
  expect(findUnusedDatabase(read(""))).toBeNull();
});
