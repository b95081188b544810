// From the command line's flags to the settings: what is opened beside what the file opens.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandInput, UsageError } from "../../src/cli/command.ts";
import { openGivenSettings, readGivenSettings } from "../../src/cli/settings.ts";
import { writeAllowEntry } from "../../src/net/allow-list.ts";
import type { Settings } from "../../src/settings/index.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-given-"));
afterAll(() => rmSync(directory, { recursive: true }));

const config = join(directory, "wadi.toml");
const given = (...places: string[]): CommandInput => ({
  args: [],
  flags: { config, "allow-egress": places },
});
const writeOpen = (settings: Settings) => settings.egress.allow.map(writeAllowEntry);

test("places of flags are added to those of the file, also when the file is read again", () => {
  writeFileSync(config, '[egress]\nallow = ["10.0.0.9:8443", "[::1]:80"]\n');
  const flags = given("Receiver:*", "10.0.0.9:8443", "127.0.0.1:9000");
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
  expect(writeOpen(readGivenSettings(given()))).toEqual([]);
});

test("a place that a flag does not name well is a fault of the command line", () => {
  writeFileSync(config, "");
  for (const [place, must] of [
    ["127.0.0.1", "must be HOST:PORT, HOST:* or [IPV6]:PORT"],
    ["127.1:80", "must name its host in the usual spelling"],
    ["a.com:70000", "must have a port up to 65535"],
  ] as const) {
    expect(() => readGivenSettings(given("receiver:80", place))).toThrow(
      new UsageError(`--allow-egress ${must}, but is "${place}"`),
    );
  }
});
