// Tests the merge of command-line flags into the settings.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandInput, UsageError } from "../../src/cli/command.ts";
import {
  findUnusedDatabase,
  nameData,
  openGivenSettings,
  placeServer,
  readGivenSettings,
  readNamedSettings,
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

test("a file that was removed is no file without settings: its reload is refused", () => {
  writeFileSync(config, "");
  const { file } = openGivenSettings({ args: [], flags: { config } });
  const here = process.cwd();
  process.chdir(directory);
  try {
    const { file: unnamed } = openGivenSettings({ args: [], flags: {} });
    rmSync(config);
    for (const one of [file, unnamed]) expect(() => one!.read()).toThrow("does not exist");
  } finally {
    process.chdir(here);
  }
});

test.each([
  ['host = "::1"\n', "http://[::1]:8080"],
  ['host = "10.0.0.5"\nport = 9000\n', "http://10.0.0.5:9000"],
])("a command finds the server of %j at %s", (lines, address) => {
  const settings = readSettings(`[server]\n${lines}`, "wadi.toml", {}, {});
  expect(placeServer(settings)).toBe(address);
});

test("a place is named without user and password", () => {
  const lines = '[server]\ndatabase = "postgres://me:word@db.example:5433/wadi"\n';
  const settings = readSettings(lines, "wadi.toml", {}, {});
  expect(nameData(settings)).toBe("PostgreSQL at db.example:5433/wadi");
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

test("a command that calls no model needs none of its keys", () => {
  const upstream = 'kind = "openai", urls = ["https://m.example/v1"], api_key_env = "WADI_NO_KEY"';
  writeFileSync(config, `[[models]]\nid = "m"\nupstream = { ${upstream} }\n`);
  expect(readNamedSettings(commandInput())?.models).toHaveLength(1);
  expect(() => readGivenSettings(commandInput())).toThrow("api_key_env names");
  expect(readNamedSettings({ args: [], flags: {} })).toBeUndefined();
});
