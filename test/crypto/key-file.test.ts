// Tests the key file: created once, readable by its owner only, always complete.
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import * as files from "node:fs";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  explainKeyFile,
  makeKeyFile,
  readKeyFile,
  replaceKeyFile,
} from "../../src/crypto/key-file.ts";
import { KeyRing } from "../../src/crypto/key-ring.ts";
import { createHash, makeMasterKey } from "../../src/crypto/master-key.ts";
import { createManualClock } from "../support/clock.ts";

let directory: string;
let file: string;
const warned: string[] = [];
const read = (path = file) => readKeyFile(path, (why) => warned.push(why));
const whyNot = (path: string) => {
  try {
    read(path);
    return "it can be read";
  } catch (failure) {
    return explainKeyFile(failure);
  }
};
const idsOf = (keys: ReturnType<typeof read>) => keys?.map(({ id }) => id);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-key-file-"));
  file = join(directory, "data", "secrets.key");
  warned.length = 0;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("a key file", () => {
  test("does not exist before its creation, and is then readable by its owner only", () => {
    expect(read()).toBeUndefined();
    const made = makeKeyFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, "data")).mode & 0o777).toBe(0o700);
    expect(readFileSync(file, "latin1")).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(idsOf(read())).toEqual(idsOf(made));
    expect(warned).toEqual([]);
  });

  test("created concurrently by another process is used as it is", () => {
    const first = makeKeyFile(file);
    expect(idsOf(makeKeyFile(file))).toEqual(idsOf(first));
    // The draft of the second one held a key.
    expect(readdirSync(dirname(file))).toEqual(["secrets.key"]);
  });

  test("that cannot be replaced leaves no draft with its keys behind", () => {
    mkdirSync(file, { recursive: true });
    expect(() => replaceKeyFile(file, [makeMasterKey()])).toThrow();
    expect(readdirSync(dirname(file))).toEqual(["secrets.key"]);
  });

  test("is the only remaining file, even with a draft of a dead process", () => {
    mkdirSync(dirname(file));
    writeFileSync(`${file}.${process.pid}`, "half");
    const [old] = makeKeyFile(file);
    writeFileSync(`${file}.new`, "half");
    replaceKeyFile(file, [makeMasterKey(), old!]);
    expect(readdirSync(dirname(file))).toEqual(["secrets.key"]);
  });

  test("is on the disk before it has its name", () => {
    const done: string[] = [];
    const { fsyncSync, linkSync, renameSync } = files;
    const note =
      <A extends unknown[]>(name: string, act: (...given: A) => void) =>
      (...given: A) => {
        done.push(name);
        act(...given);
      };
    using _ = spyOn(files, "fsyncSync").mockImplementation(note("sync", fsyncSync));
    using __ = spyOn(files, "linkSync").mockImplementation(note("link", linkSync));
    using ___ = spyOn(files, "renameSync").mockImplementation(note("rename", renameSync));
    makeKeyFile(file);
    expect(done.splice(0).slice(0, 2)).toEqual(["sync", "link"]);
    replaceKeyFile(file, [makeMasterKey()]);
    expect(done.slice(0, 2)).toEqual(["sync", "rename"]);
  });

  test.skipIf(process.getuid?.() !== 0)("has its owner before it has its name", () => {
    const { linkSync } = files;
    mkdirSync(dirname(file));
    chownSync(dirname(file), 4_321, 4_322);
    const owners: number[] = [];
    using _ = spyOn(files, "linkSync").mockImplementation((draft, name) => {
      owners.push(statSync(draft).uid);
      linkSync(draft, name);
    });
    makeKeyFile(file);
    expect(owners).toEqual([4_321]);
  });

  test("holds two keys during a rotation, the newest first", () => {
    const [old] = makeKeyFile(file);
    const next = makeMasterKey();
    replaceKeyFile(file, [next, old!]);
    expect(idsOf(read())).toEqual([next.id, old!.id]);
    replaceKeyFile(file, [next]);
    expect(idsOf(read())).toEqual([next.id]);
  });

  test.skipIf(process.getuid?.() !== 0)("stays whose it was", () => {
    makeKeyFile(file);
    chownSync(file, 65_534, 65_533);
    replaceKeyFile(file, [makeMasterKey()]);
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([65_534, 65_533, 0o600]);
  });

  test.skipIf(process.getuid?.() !== 0)("is made for the owner of its directory", () => {
    mkdirSync(dirname(file));
    chownSync(dirname(file), 65_534, 65_533);
    makeKeyFile(file);
    const { uid, gid } = statSync(file);
    expect([uid, gid]).toEqual([65_534, 65_533]);
  });

  test("keeps its permissions", () => {
    makeKeyFile(file);
    chmodSync(file, 0o640);
    replaceKeyFile(file, [makeMasterKey()]);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  const line = `${"A".repeat(43)}=\n`;
  test.each(["", "short", `${line}more`, line + line + line, `\n${line}`, "A".repeat(5_000)])(
    "that holds %j holds no key",
    (text) => {
      const bad = join(directory, "bad.key");
      writeFileSync(bad, text);
      expect(whyNot(bad)).toBe("it holds no key");
      expect(() => makeKeyFile(bad)).toThrow("it holds no key");
      expect(readFileSync(bad, "latin1")).toBe(text);
    },
  );

  test("that others can read is used, with a warning", () => {
    makeKeyFile(file);
    for (const mode of [0o644, 0o640, 0o604]) {
      chmodSync(file, mode);
      warned.length = 0;
      expect(read()).toHaveLength(1);
      expect(warned).toEqual([`the secrets key in ${file} can be read by others: chmod 600 it`]);
    }
  });

  test("that a server checks again and again is read only where it has changed", async () => {
    makeKeyFile(file);
    chmodSync(file, 0o644);
    const clock = createManualClock();
    const ring = new KeyRing({ file, clock, warn: (why) => warned.push(why) });
    const [key] = ring.list();
    for (let check = 0; check < 3; check++) {
      await clock.advance(1_000);
      expect(ring.list()).toEqual([key!]);
    }
    expect(warned).toHaveLength(1);
    replaceKeyFile(file, [makeMasterKey()]);
    await clock.advance(999);
    expect(ring.list()).toEqual([key!]);
    await clock.advance(1);
    expect(ring.list()).not.toContainEqual(key!);
  });

  test("that is damaged while a server runs leaves it no key", async () => {
    makeKeyFile(file);
    const clock = createManualClock();
    const ring = new KeyRing({ file, clock, warn: (why) => warned.push(why) });
    expect(ring.list()).toHaveLength(1);
    writeFileSync(file, "damaged");
    await clock.advance(1_000);
    expect(ring.list()).toEqual([]);
    expect(ring.fault()).toStartWith("cannot be used (");
    // A file that is there is never replaced.
    expect(ring.make()).toEqual([]);
    expect(readFileSync(file, "utf8")).toBe("damaged");
  });

  test("that is no regular file is reported and not waited for", () => {
    expect(Bun.spawnSync(["mkfifo", join(directory, "pipe")]).success).toBeTrue();
    for (const place of [join(directory, "pipe"), directory]) {
      expect(whyNot(place)).toBe("it is no file");
    }
  });

  test("that cannot be created is reported with the system's code", () => {
    const place = join(directory, "file");
    writeFileSync(place, "");
    expect(() => makeKeyFile(join(place, "secrets.key"))).toThrow("EEXIST");
  });

  test("is read and replaced through a link", () => {
    const made = makeKeyFile(file);
    const link = join(directory, "link");
    symlinkSync(file, link);
    expect(idsOf(read(link))).toEqual(idsOf(made));
    const next = makeMasterKey();
    replaceKeyFile(link, [next]);
    expect(idsOf(read())).toEqual([next.id]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });
});

describe("a key", () => {
  test("makes the same hashes every time, and differs by purpose and key", () => {
    const [key] = makeKeyFile(file);
    const hash = createHash(key!, "users")("somebody");
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
    expect(createHash(read()![0]!, "users")("somebody")).toBe(hash);
    expect(createHash(key!, "users")("somebody else")).not.toBe(hash);
    expect(createHash(key!, "others")("somebody")).not.toBe(hash);
    expect(createHash(makeMasterKey(), "users")("somebody")).not.toBe(hash);
  });

  test("has a name that reveals nothing of it", () => {
    const key = makeMasterKey();
    expect(key.id).toMatch(/^[0-9a-f]{16}$/);
    expect(Buffer.from(key.line, "base64").toString("hex")).not.toContain(key.id);
  });
});
