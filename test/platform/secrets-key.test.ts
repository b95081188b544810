// The key file: made once, readable by its owner only, and never in the way of a start.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openSecretsKey } from "../../src/platform/secrets-key.ts";

let directory: string;
let file: string;
const warned: string[] = [];
const open = (path: string | null) => openSecretsKey(path, (why) => warned.push(why));
const hash = (path: string | null, purpose = "users") => open(path).createHash(purpose)("somebody");

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-secrets-key-"));
  file = join(directory, "data", "secrets.key");
  warned.length = 0;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("a key file", () => {
  test("is made where there is none, for its owner only", () => {
    open(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, "data")).mode & 0o777).toBe(0o700);
    expect(readFileSync(file, "latin1")).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(warned).toEqual([]);
  });

  test("gives the same hashes at every start, and others for every purpose and file", () => {
    const first = hash(file);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(hash(file)).toBe(first);
    expect(hash(file, "others")).not.toBe(first);
    expect(hash(join(directory, "other.key"))).not.toBe(first);
    expect(open(file).createHash("users")("somebody else")).not.toBe(first);
  });

  test.each(["", "short", `${"A".repeat(43)}=\nmore`])("that holds %j is told and kept", (text) => {
    const bad = join(directory, "bad.key");
    writeFileSync(bad, text);
    expect(hash(bad)).not.toBe(hash(bad));
    expect(readFileSync(bad, "latin1")).toBe(text);
    expect(warned[0]).toBe(
      `the secrets key in ${bad} cannot be used (it holds no key): hashes in the log hold for this run`,
    );
  });

  test("that others can read is used, and told", () => {
    const first = hash(file);
    chmodSync(file, 0o644);
    expect(hash(file)).toBe(first);
    expect(warned).toEqual([`the secrets key in ${file} can be read by others: chmod 600 it`]);
  });

  test("is the only thing left of its making, also where a draft of a dead process lies", () => {
    mkdirSync(dirname(file));
    writeFileSync(`${file}.${process.pid}`, "half");
    open(file);
    expect(readdirSync(dirname(file))).toEqual(["secrets.key"]);
    expect(warned).toEqual([]);
  });

  test("that is no file is told and not waited for", () => {
    expect(Bun.spawnSync(["mkfifo", join(directory, "pipe")]).success).toBeTrue();
    for (const place of [join(directory, "pipe"), directory]) {
      hash(place);
      expect(warned.at(-1)).toContain("(it is no file)");
    }
  });

  test("that cannot be made is told", () => {
    const place = join(directory, "file");
    writeFileSync(place, "");
    expect(hash(join(place, "secrets.key"))).toMatch(/^[0-9a-f]{32}$/);
    expect(warned[0]).toContain("(ENOTDIR)");
  });
});

test("without a file every start has a key of its own", () => {
  expect(hash(null)).not.toBe(hash(null));
  expect(warned).toEqual([]);
});
