// Tests the secret store with its key, without it, with another, and during a change.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDecoy, seal } from "../../src/crypto/cipher.ts";
import { makeKeyFile, readKeyFile, replaceKeyFile } from "../../src/crypto/key-file.ts";
import { KeyRing } from "../../src/crypto/key-ring.ts";
import { type MasterKey, makeMasterKey } from "../../src/crypto/master-key.ts";
import { SecretStore } from "../../src/crypto/secret-store.ts";
import { type SealedSecret, secretStore } from "../../src/crypto/store.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf, openTestDatabase, type TestDatabase } from "../support/database.ts";
import { keeperStore } from "../support/secret-keeper.ts";
import { openTestSecrets } from "../support/secrets.ts";

const place = { kind: "connection", row_id: "c-1", account_id: "a-1" } as const;
const about = { ...place, set_at: 7 };
const SECRET = "canary-4f1c";
const unavailable = { ok: false, reason: "unavailable" } as const;
const opened = { ok: true, secret: SECRET } as const;
const sayFault = (what: string) =>
  `the secrets key in ${file} ${what}: secrets can be neither used nor stored for now`;
const BACK = "the secrets key is back: stored secrets can be used again";

let directory: string;
let file: string;
let database: TestDatabase;
const clock = createManualClock();
const open = (path: string | null = file) => openTestSecrets(database, clock, path);
const put = (sealed: SealedSecret) => database.bind(keeperStore).put(sealed);
const store = (box = open(), secret = SECRET) => box.store(about, secret, put);
const stored = () => database.bind(secretStore).listOthers("none", null, 100);
const move = (from: string, to: string) => {
  renameSync(join(directory, from), join(directory, to));
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-box-"));
  file = join(directory, "secrets.key");
  database = await openTestDatabase({ kind: "memory" });
});
afterEach(async () => {
  await database.close();
  rmSync(directory, { recursive: true, force: true });
});

describe("a store with its key", () => {
  test("keeps whose a secret is and when it was set, as it was stored last", async () => {
    await store();
    await open().store({ ...about, account_id: "a-2", set_at: 9 }, SECRET, put);
    expect(await stored()).toMatchObject([{ ...place, account_id: "a-2", set_at: 9 }]);
  });

  test("names the keys that a rotation has just put into its file", () => {
    const [old] = makeKeyFile(file);
    const box = open();
    expect(box.listKeyIds()).toEqual([old!.id]);
    const next = makeMasterKey();
    replaceKeyFile(file, [next, old!]);
    expect(box.listKeyIds()).toEqual([next.id, old!.id]);
  });

  test("opens a decoy where there is no secret, and none where there is one", async () => {
    const { key, sealed } = createDecoy("connection", SECRET);
    let derived = 0;
    const derive = (purpose: string) => {
      derived += 1;
      return key.derive(purpose);
    };
    const decoy = { key: { ...key, derive }, sealed };
    expect(await open().open(place, decoy)).toEqual({ ok: false, reason: "missing" });
    expect(derived).toBe(1);
    await store();
    expect(await open().open(place, decoy)).toEqual(opened);
    expect(derived).toBe(1);
  });

  test("opens what a rotation seals again between its reads of row and file", async () => {
    await store();
    const bound = database.bind(secretStore);
    let looks = 0;
    const box = new SecretStore({
      store: {
        ...bound,
        async find(kind, row_id) {
          const found = await bound.find(kind, row_id);
          if (++looks === 1) await open().rotate({ givesUp: false });
          return found;
        },
      },
      ring: new KeyRing({ file, clock, warn() {} }),
      log: { warn() {}, info() {} },
    });
    expect(await box.open(place)).toEqual(opened);
    expect(looks).toBe(2);
  });

  test("returns what was stored, also to the next process", async () => {
    const box = open();
    await store(box);
    expect(await box.open(place)).toEqual(opened);
    const next = open();
    expect(await next.open(place)).toEqual(opened);
    await store(next, "another");
    expect(await box.open(place)).toEqual({ ok: true, secret: "another" });
    expect([...box.said, ...next.said]).toEqual([]);
  });

  test("creates the key with the first secret, and reads nothing before", async () => {
    const box = open();
    expect(existsSync(file)).toBe(false);
    await store(box);
    const [key] = readKeyFile(file, () => {})!;
    expect(await database.bind(secretStore).findKey()).toBe(key!.id);
    expect(await stored()).toMatchObject([{ ...about, key_id: key!.id }]);
    expect(JSON.stringify(await stored())).not.toContain(SECRET);
  });

  test("with an ephemeral key works until its process ends", async () => {
    const box = open(null);
    await store(box);
    expect(await box.open(place)).toEqual(opened);
    const next = open(null);
    expect(await next.open(place)).toEqual(unavailable);
    expect(await failureOf(store(next))).toMatchObject({ code: "connections_unavailable" });
  });

  test("cannot open the secret of another row, or a deleted one", async () => {
    const box = open();
    await store(box);
    const missing = { ok: false, reason: "missing" };
    expect(await box.open({ ...place, account_id: "a-2" })).toEqual(missing as never);
    expect(await box.open({ ...place, row_id: "c-2" })).toEqual(missing as never);
    await database.bind(keeperStore).drop("connection", "c-1");
    expect(await box.open(place)).toEqual(missing as never);
  });

  test("reports a damaged or moved secret, and quotes nothing", async () => {
    const box = open();
    await store(box);
    await box.store({ ...about, row_id: "c-2" }, "other", put);
    const [first] = await stored();
    const { damage } = database.bind(keeperStore);
    for (const text of [first!.sealed, "", "v1.garbage", `${first!.sealed}x`]) {
      await damage("c-2", text);
      const found = await box.open({ ...place, row_id: "c-2" });
      expect(found).toEqual({ ok: false, reason: "unreadable" });
    }
    const said = "the secret of the connection c-2 cannot be opened: it is damaged";
    expect(box.said).toEqual([said, said, said, said]);
    expect(await box.open(place)).toEqual(opened);
  });
});

describe("a store without its key", () => {
  const expectUnavailable = async (box: ReturnType<typeof open>) => {
    expect(await box.isAvailable()).toBe(false);
    expect(await box.open(place)).toEqual(unavailable);
    for (const [kind, code] of [
      ["connection", "connections_unavailable"],
      ["trigger", "triggers_unavailable"],
      ["webhook", "webhooks_unavailable"],
    ] as const) {
      expect(await failureOf(box.require(kind))).toMatchObject({ code });
      expect(await failureOf(box.store({ ...about, kind }, "x", put))).toMatchObject({ code });
    }
  };

  test("creates no other where secrets exist, logs it once, and recovers when the key returns", async () => {
    await store();
    move("secrets.key", "away");
    const box = open();
    expect(await box.open(place)).toEqual(unavailable);
    expect(box.said).toEqual([sayFault("is missing")]);
    await expectUnavailable(box);
    expect(existsSync(file)).toBe(false);
    expect(box.said).toEqual([sayFault("is missing")]);
    move("away", "secrets.key");
    expect(await box.open(place)).toEqual(opened);
    await box.require("connection");
    await store(box, "another");
    expect(box.said).toEqual([sayFault("is missing"), BACK]);
  });

  test("leaves another key in place, and recovers when its own returns", async () => {
    await store();
    move("secrets.key", "away");
    makeKeyFile(file);
    copyFileSync(file, join(directory, "other"));
    const box = open();
    await expectUnavailable(box);
    expect(readKeyFile(file, () => {})).toHaveLength(1);
    move("away", "secrets.key");
    expect(await box.isAvailable()).toBe(true);
    move("other", "secrets.key");
    await clock.advance(1_000);
    await expectUnavailable(box);
    const other = sayFault("is another than that of the stored secrets");
    expect(box.said).toEqual([other, BACK, other]);
  });

  test("reports why a file is unusable, and quotes nothing of it", async () => {
    await store();
    writeFileSync(file, "no key at all");
    const box = open();
    await expectUnavailable(box);
    expect(box.said).toEqual([sayFault("cannot be used (it holds no key)")]);
  });

  test("notices within a second of use that the file was removed", async () => {
    const box = open();
    await store(box);
    move("secrets.key", "away");
    await clock.advance(999);
    expect(await box.open(place)).toEqual(opened);
    await clock.advance(1);
    await expectUnavailable(box);
  });

  test("that cannot create a key is unavailable until it can", async () => {
    writeFileSync(join(directory, "data"), "in the way");
    const box = open(join(directory, "data", "secrets.key"));
    expect(await box.isAvailable()).toBe(false);
    expect(await failureOf(store(box))).toMatchObject({ code: "connections_unavailable" });
    expect(box.said[0]).toContain("cannot be used (ENOTDIR)");
    rmSync(join(directory, "data"));
    mkdirSync(join(directory, "data"));
    await store(box);
    expect(await box.open(place)).toEqual(opened);
  });

  test("leaves the database to the process that sealed first", async () => {
    const other = open(join(directory, "other.key"));
    const box = open();
    await Promise.all([box, other].map((one) => one.isAvailable()));
    await store(box);
    await expectUnavailable(other);
    copyFileSync(file, join(directory, "other.key"));
    expect(await other.open(place)).toEqual(opened);
  });
});

describe("a store during a rotation", () => {
  let old: MasterKey;
  let next: MasterKey;
  beforeEach(async () => {
    [old] = makeKeyFile(file) as [MasterKey];
    next = makeMasterKey();
  });
  const turn = () => database.bind(secretStore).turn(old.id, next.id);

  test("seals again what the old key sealed, and stores nothing under it", async () => {
    const box = open();
    await store(box);
    const tried: string[] = [];
    await box.store(about, "another", async (sealed) => {
      if (tried.length === 0) {
        replaceKeyFile(file, [next, old]);
        await turn();
      }
      tried.push(sealed.key_id);
      await put(sealed);
    });
    expect(tried).toEqual([old.id, next.id]);
    expect(await stored()).toMatchObject([{ key_id: next.id }]);
    expect(await box.open(place)).toEqual({ ok: true, secret: "another" });
    expect(box.said).toEqual([]);
  });

  test("opens what either key sealed", async () => {
    const box = open();
    await store(box);
    replaceKeyFile(file, [next, old]);
    expect(await box.open(place)).toEqual(opened);
    await turn();
    expect(await box.open(place)).toEqual(opened);
    await database.bind(keeperStore).put(seal(next, about, SECRET));
    replaceKeyFile(file, [next]);
    // The file was read within this second: an unknown key causes another read.
    expect(await box.open(place)).toEqual(opened);
    expect(box.said).toEqual([]);
  });

  test("gives up if the file never matches the database", async () => {
    const box = open();
    let tries = 0;
    const failure = await failureOf(
      box.store(about, SECRET, async (sealed) => {
        tries++;
        await put({ ...sealed, key_id: "of nobody" });
      }),
    );
    expect(failure).toMatchObject({ code: "connections_unavailable" });
    expect(tries).toBe(3);
    expect(await stored()).toEqual([]);
  });

  test("passes on other failures at once", async () => {
    const box = open();
    let tries = 0;
    const failure = await failureOf(
      box.store(about, SECRET, async () => {
        tries++;
        throw new Error("a bug");
      }),
    );
    expect([failure.message, tries]).toEqual(["a bug", 1]);
  });
});

describe("hashes", () => {
  const hashOf = async (secrets: ReturnType<typeof open>) =>
    (await secrets.openHashes())("users")("somebody");

  test("are the same after every start with the same file, which the first start creates", async () => {
    const hash = await hashOf(open());
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
    expect(await hashOf(open())).toBe(hash);
    expect(await hashOf(open(join(directory, "other.key")))).not.toBe(hash);
    expect(await hashOf(open(null))).not.toBe(await hashOf(open(null)));
  });

  test("hold for one process where the key is unavailable, and no key is created", async () => {
    await store();
    move("secrets.key", "away");
    const [one, other] = [open(), open()];
    expect(await hashOf(one)).not.toBe(await hashOf(other));
    expect(existsSync(file)).toBe(false);
    expect(one.said).toEqual([
      sayFault("is missing"),
      "without a secrets key, hashes in the log hold for this run only",
    ]);
  });
});
