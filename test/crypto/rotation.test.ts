// Tests that secrets open before, during and after a rotation, wherever it is interrupted.
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKeyFile, readKeyFile } from "../../src/crypto/key-file.ts";
import { KeyRing } from "../../src/crypto/key-ring.ts";
import { rotateSecrets } from "../../src/crypto/rotation.ts";
import { secretStore } from "../../src/crypto/store.ts";
import type { Bound, DatabaseLocation } from "../../src/database/index.ts";
import { createManualClock } from "../support/clock.ts";
import {
  failureOf,
  openServer,
  openTestDatabase,
  type TestDatabase,
  WRITER,
} from "../support/database.ts";
import { holding, keeperStore } from "../support/secret-keeper.ts";
import { openTestSecrets } from "../support/secrets.ts";

type Secrets = ReturnType<typeof openTestSecrets>;
type Store = Bound<typeof secretStore>;

const SERVER = process.env.WADI_TEST_POSTGRES;
const ground = SERVER ? openServer(SERVER) : null;
let directory: string;
let file: string;
let database: TestDatabase;
const clock = createManualClock();
const open = () => openTestSecrets(database, clock, file);
const rotate = (givesUp = false) => open().rotate({ givesUp });
const keyIds = () => readKeyFile(file, () => {})!.map(({ id }) => id);
const stored = () => database.bind(secretStore).listOthers("none", null, 1_000);
const at = (n: number) => ({ kind: "connection", row_id: `c-${n}`, account_id: "a-1" }) as const;
const store = (secrets: Secrets, n: number, secret = `secret ${n}`) =>
  secrets.store({ ...at(n), set_at: 7 }, secret, (sealed) =>
    database.bind(keeperStore).put(sealed),
  );
const fill = async (count: number) => {
  const secrets = open();
  for (let n = 0; n < count; n++) await store(secrets, n);
  return secrets;
};
const expectOpen = async (secrets: Secrets, count: number) => {
  for (let n = 0; n < count; n++) {
    expect(await secrets.open(at(n))).toEqual({ ok: true, secret: `secret ${n}` });
  }
};
const use = async (place: DatabaseLocation) => {
  await database.close();
  database = await openTestDatabase(place);
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-rotation-"));
  file = join(directory, "secrets.key");
  database = await openTestDatabase({ kind: "memory" });
});
afterEach(async () => {
  await database.close();
  rmSync(directory, { recursive: true, force: true });
});
afterAll(() => ground?.release());

describe("a rotation", () => {
  test("seals everything again, and leaves only the new key in the file", async () => {
    const server = await fill(250);
    const [old] = keyIds();
    const before = new Set((await stored()).map(({ sealed }) => sealed));
    const rotated = await rotate();
    const [key_id, ...others] = keyIds();
    expect(others).toEqual([]);
    expect(key_id).not.toBe(old);
    expect(rotated).toMatchObject({ ok: true, is_resumed: false, resealed: 250, given_up: 0 });
    expect(rotated).toHaveProperty("key_id", key_id);
    const after = await stored();
    expect(after.every((row) => row.key_id === key_id && row.set_at === 7)).toBe(true);
    expect(after.some(({ sealed }) => before.has(sealed))).toBe(false);
    await expectOpen(server, 250);
    await expectOpen(open(), 250);
    await store(server, 250);
    await expectOpen(open(), 251);
    expect(readdirSync(directory).toSorted()).toEqual(["secrets.key", "secrets.key.lock"]);
    expect(server.said).toEqual([]);
  });

  test("without secrets replaces the key, with or without an existing file", async () => {
    for (const _ of [1, 2]) {
      const before = readKeyFile(file, () => {})?.map(({ id }) => id);
      expect(await rotate()).toMatchObject({ ok: true, resealed: 0 });
      expect(keyIds()).toHaveLength(1);
      expect(before).not.toEqual(keyIds());
    }
    await fill(1);
    await expectOpen(open(), 1);
  });

  test("is refused for an ephemeral key", async () => {
    const passing = openTestSecrets(database, clock);
    expect(await passing.rotate({ givesUp: false })).toEqual({ ok: false, reason: "no file" });
  });

  test("reads 100 secrets at once, and names ten of all that it cannot open", async () => {
    await fill(1);
    const [known] = keyIds();
    const sealed = (n: number) => {
      return { ...at(n), set_at: 7, sealed: "v1.other.x", key_id: "other" };
    };
    const pages = [6, 6].map((count, page) =>
      Array.from({ length: count }, (_, n) => sealed(6 * page + n)),
    );
    const limits: number[] = [];
    const passed: (string | undefined)[] = [];
    const store = {
      findKey: async () => known,
      claim: async (key_id: string) => key_id,
      async listOthers(_key: string, after: { row_id: string } | null, limit: number) {
        limits.push(limit);
        passed.push(after?.row_id);
        return pages.shift() ?? [];
      },
      reseal: async () => ({ resealed: 0, dropped: 0, left: 12 }),
    };
    const ring = new KeyRing({ file, clock, warn() {} });
    const rotated = await rotateSecrets({ store: store as never, ring, givesUp: false });
    expect(rotated).toMatchObject({ ok: false, reason: "unreadable", left: 12 });
    expect("places" in rotated && rotated.places.map(({ row_id }) => row_id)).toEqual(
      Array.from({ length: 10 }, (_, n) => `c-${n}`),
    );
    expect(limits).toEqual([100, 100, 100]);
    expect(passed).toEqual([undefined, "c-5", "c-11"]);
  });

  test("that a process does not follow seals nothing with the new key, and goes on later", async () => {
    const server = await fill(1);
    const asked: (readonly string[])[] = [];
    const awaitKeys = async (ids: readonly string[]) => {
      // Processes find the new key in the file, as long as they are waited for.
      expect(keyIds()).toEqual([...ids]);
      asked.push(ids);
      return asked.length === 1 ? ["host-2"] : [];
    };
    const first = await open().rotate({ givesUp: false, awaitKeys });
    expect(first).toEqual({ ok: false, reason: "not everywhere", file, processes: ["host-2"] });
    const both = keyIds();
    expect(both).toHaveLength(2);
    expect((await stored()).map(({ key_id }) => key_id)).toEqual([both[1]!]);
    expect(await database.bind(secretStore).findKey()).toBe(both[1]);
    const second = await open().rotate({ givesUp: false, awaitKeys });
    expect(second).toMatchObject({ ok: true, is_resumed: true, resealed: 1 });
    expect(asked).toEqual([both, both]);
    await expectOpen(server, 1);
  });

  test("does not disturb another rotation under way", async () => {
    const server = await fill(1);
    const bound = database.bind(secretStore);
    let inner: unknown;
    const meddled: Store = {
      ...bound,
      async turn(from, to) {
        inner = await rotate();
        return bound.turn(from, to);
      },
    };
    const ring = new KeyRing({ file, clock, warn() {} });
    const rotated = await rotateSecrets({ store: meddled, ring, givesUp: false });
    expect([inner, rotated.ok]).toEqual([{ ok: false, reason: "busy" }, true]);
    await expectOpen(server, 1);
  });

  test("reports an unwritable file, and changes nothing", async () => {
    await fill(1);
    const before = readFileSync(file, "latin1");
    const missing = { refresh: () => [], make: () => [], fault: () => null };
    const gone = { ...missing, file: join(directory, "nowhere", "secrets.key") };
    const failure = await failureOf(
      rotateSecrets({ store: database.bind(secretStore), ring: gone, givesUp: false }),
    );
    expect(failure.message).toContain("ENOENT");
    expect(readFileSync(file, "latin1")).toBe(before);
    await expectOpen(open(), 1);
  });
});

describe("an interrupted rotation", () => {
  /** A store that fails from its nth call on, before or after its write. */
  const cutOff = (n: number, point: "before" | "after"): { store: Store; calls: () => number } => {
    let calls = 0;
    const bound = database.bind(secretStore) as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >;
    const wrapped = Object.entries(bound).map(([name, method]) => [
      name,
      async (...args: unknown[]) => {
        calls++;
        if (calls > n || (calls === n && point === "before")) throw new Error("killed");
        const answer = await method(...args);
        if (calls === n) throw new Error("killed");
        return answer;
      },
    ]);
    return { store: Object.fromEntries(wrapped), calls: () => calls };
  };

  test("opens and stores at every point, and is completed by the next one", async () => {
    const count = 120;
    let moments = 0;
    for (let n = 1; ; n++) {
      for (const point of ["before", "after"] as const) {
        rmSync(file, { force: true });
        await use({ kind: "memory" });
        const server = await fill(count);
        const [old] = keyIds();
        const cut = cutOff(n, point);
        const ring = new KeyRing({ file, clock, warn() {} });
        const doing = rotateSecrets({ store: cut.store, ring, givesUp: false });
        const failed = await doing.then(
          () => null,
          (failure) => failure,
        );
        if (failed === null && point === "before") {
          expect(moments).toBeGreaterThan(10);
          return;
        }
        moments++;
        await expectOpen(server, count);
        await expectOpen(open(), count);
        await store(server, count);
        await store(open(), count + 1);
        const wasBegun = keyIds().length === 2;
        const rotated = await rotate();
        expect(rotated).toMatchObject({ ok: true, is_resumed: wasBegun, given_up: 0 });
        expect(keyIds()).toHaveLength(1);
        expect(keyIds()).not.toContain(old);
        expect(await database.bind(secretStore).findKey()).toBe(keyIds()[0]);
        expect(new Set((await stored()).map(({ key_id }) => key_id))).toEqual(new Set(keyIds()));
        await expectOpen(server, count + 2);
        await expectOpen(open(), count + 2);
        expect(server.said).toEqual([]);
      }
    }
  });
});

const places: Record<string, () => Promise<DatabaseLocation>> = {
  "SQLite with its writer": async () => {
    return { kind: "sqlite", file: join(directory, "wadi.db"), writer: WRITER };
  },
  ...(ground && { PostgreSQL: () => ground.makePlace() }),
};

describe.each(Object.entries(places))("beside a server on %s", (_, makePlace) => {
  test("leaves nothing stored meanwhile under an old key", async () => {
    await use(await makePlace());
    await fill(40);
    const acknowledged = new Map<number, string>();
    let isOver = false;
    const write = async (worker: number) => {
      const server = open();
      for (let round = 0; !isOver; round++) {
        const n = (worker * 13 + round) % 60;
        const secret = `secret ${n}`;
        await store(server, n, secret);
        acknowledged.set(n, secret);
        expect(await server.open(at(n))).toEqual({ ok: true, secret });
      }
      expect(server.said).toEqual([]);
    };
    const writing = Promise.all(Array.from({ length: 6 }, (_, worker) => write(worker)));
    for (let rotations = 0; rotations < 5; rotations++) {
      expect(await rotate()).toMatchObject({ ok: true, is_resumed: false, given_up: 0 });
    }
    isOver = true;
    await writing;
    expect(keyIds()).toHaveLength(1);
    expect(new Set((await stored()).map(({ key_id }) => key_id))).toEqual(new Set(keyIds()));
    const last = open();
    for (const [n, secret] of acknowledged) {
      expect(await last.open(at(n))).toEqual({ ok: true, secret });
    }
    expect(acknowledged.size).toBeGreaterThan(0);
  });

  test("seals a secret again that was sealed before it and stored after it", async () => {
    await use(await makePlace());
    const server = await fill(1);
    const tried: string[] = [];
    await server.store({ ...at(1), set_at: 7 }, "secret 1", async (sealed) => {
      if (tried.length === 0) expect((await rotate()).ok).toBe(true);
      tried.push(sealed.key_id);
      await database.bind(keeperStore).put(sealed);
    });
    expect(tried).toHaveLength(2);
    expect(new Set((await stored()).map(({ key_id }) => key_id))).toEqual(new Set(keyIds()));
    await expectOpen(open(), 2);
  });
});

describe.skipIf(ground === null)("on PostgreSQL", () => {
  test.each([0, 3])(
    "a write that began before a rotation of %i and ends after it leaves nothing of the old key",
    async (count) => {
      await use(await ground!.makePlace());
      const server = await fill(count);
      const { reached, release } = holding.begin();
      const tried: string[] = [];
      const storing = server.store(
        { ...at(count), set_at: 7 },
        `secret ${count}`,
        async (sealed) => {
          tried.push(sealed.key_id);
          await database.bind(keeperStore).putHeld(sealed);
        },
      );
      await reached;
      const rotated = await rotate();
      release();
      await storing;
      expect(rotated).toMatchObject({ ok: true, resealed: count });
      expect(tried).toHaveLength(2);
      expect(new Set((await stored()).map(({ key_id }) => key_id))).toEqual(new Set(keyIds()));
      await expectOpen(open(), count + 1);
    },
  );
});

describe("with the key of the stored secrets", () => {
  test("missing or replaced, nothing is changed", async () => {
    await fill(2);
    renameSync(file, join(directory, "away"));
    const missing = { ok: false, reason: "unavailable", fault: "is missing" };
    expect(await rotate()).toEqual(missing as never);
    expect(readdirSync(directory)).not.toContain("secrets.key");
    makeKeyFile(file);
    const other = readFileSync(file, "latin1");
    expect(await rotate()).toEqual({ ok: false, reason: "unavailable", fault: null });
    expect(readFileSync(file, "latin1")).toBe(other);
    writeFileSync(file, "no key");
    for (const givesUp of [false, true]) {
      expect(await rotate(givesUp)).toMatchObject({ fault: "cannot be used (it holds no key)" });
    }
    copyFileSync(join(directory, "away"), file);
    await expectOpen(open(), 2);
  });

  test.each(["missing", "another"])(
    "permanently %s, the rotation starts with a new key and drops them",
    async (what) => {
      await fill(3);
      rmSync(file);
      if (what === "another") makeKeyFile(file);
      const key = { ok: true, is_resumed: false };
      expect(await rotate(true)).toMatchObject({ ...key, resealed: 0, given_up: 3 });
      const server = open();
      expect(await server.open(at(0))).toEqual({ ok: false, reason: "missing" });
      await store(server, 0);
      await expectOpen(open(), 1);
    },
  );

  test("unable to open some, these are named, and the old key stays until they are gone", async () => {
    const server = await fill(30);
    const { damage } = database.bind(keeperStore);
    for (let n = 10; n < 22; n++) await damage(`c-${n}`, "v1.damaged");
    const rotated = await rotate();
    expect(rotated).toMatchObject({ ok: false, reason: "unreadable", left: 12 });
    const places = rotated.ok || rotated.reason !== "unreadable" ? [] : rotated.places;
    expect(places.map(({ row_id }) => row_id)).toEqual(
      Array.from({ length: 10 }, (_, i) => `c-${i + 10}`),
    );
    expect(keyIds()).toHaveLength(2);
    await expectOpen(server, 10);
    expect(await rotate()).toMatchObject({ ok: false, left: 12 });
    await store(server, 10);
    const ended = { ok: true, is_resumed: true, resealed: 0, given_up: 11 };
    expect(await rotate(true)).toMatchObject(ended);
    expect(keyIds()).toHaveLength(1);
    await expectOpen(server, 11);
    expect(await server.open(at(11))).toEqual({ ok: false, reason: "missing" });
    for (let n = 22; n < 30; n++) expect((await server.open(at(n))).ok).toBe(true);
  });

  test("unable to open a single one, the old key stays too", async () => {
    await fill(1);
    await database.bind(keeperStore).damage("c-0", "v1.damaged");
    expect(await rotate()).toMatchObject({ ok: false, reason: "unreadable", left: 1 });
    expect(keyIds()).toHaveLength(2);
  });

  test("replaced by a copy of the file, it is reported, and nothing is lost", async () => {
    const server = await fill(5);
    const copy = join(directory, "copy.key");
    copyFileSync(file, copy);
    const elsewhere = openTestSecrets(database, clock, copy);
    const bound = database.bind(secretStore);
    const meddled: Store = {
      ...bound,
      async claim(key_id) {
        expect((await elsewhere.rotate({ givesUp: false })).ok).toBe(true);
        return bound.claim(key_id);
      },
    };
    const ring = new KeyRing({ file, clock, warn() {} });
    const rotated = await rotateSecrets({ store: meddled, ring, givesUp: false });
    expect(rotated).toEqual({ ok: false, reason: "unavailable", fault: null });
    copyFileSync(copy, file);
    await expectOpen(server, 5);
  });
});
