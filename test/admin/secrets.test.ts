// Tests the secrets key of a running server: rotated, lost and restored.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Admin, AdminError, openAdmin } from "../../src/admin/index.ts";
import { WRITER } from "../../src/app.ts";
import { type Database, type DatabaseLocation, openDatabase } from "../../src/database/index.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { stores } from "../../src/stores.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { NO_INSTALLATION } from "../support/installation.ts";
import { keeperStore } from "../support/secret-keeper.ts";
import { openTestSecrets } from "../support/secrets.ts";

const SECRET = "canary-4f1c";
const at = (n: number) => ({ kind: "connection", row_id: `c-${n}`, account_id: "a-1" }) as const;

let directory: string;
let secretsKeyFile: string;
let place: DatabaseLocation;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-operator-secrets-"));
  secretsKeyFile = join(directory, "secrets.key");
  place = { kind: "sqlite", file: join(directory, "wadi.db") };
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(directory, { recursive: true, force: true });
});

async function openVerbs(): Promise<{ admin: Admin; warned: string[] }> {
  const warned: string[] = [];
  const { admin, close } = await openAdmin({
    ...{ settings: defaultSettings(), place, secretsKeyFile },
    ...{ clock: createManualClock(), ids: createSeededIds(2) },
    installation: NO_INSTALLATION,
    warn: (why) => void warned.push(why),
  });
  closing.push(close);
  return { admin, warned };
}

/** Another process on the same data that stores secrets. */
async function openKeeper(): Promise<{ database: Database; put(n: number): Promise<void> }> {
  const clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const all = [...stores, keeperStore];
  const database = await openDatabase({ place, stores: all, clock, onFailure });
  closing.push(database.close);
  const secrets = openTestSecrets(database, clock, secretsKeyFile);
  const { put } = database.bind(keeperStore);
  const store = (n: number) => secrets.store({ ...at(n), set_at: 7 }, `${SECRET} ${n}`, put);
  return { database, put: store };
}

async function serve(): Promise<TestApp> {
  const app = await startApp({
    place: { ...place, writer: WRITER } as DatabaseLocation,
    secretsKeyFile,
  });
  closing.push(app.stop);
  return app;
}
const secretLines = ({ lines }: TestApp) =>
  lines.filter(({ message }) => String(message).includes("secrets key"));

test("a running server's secrets are sealed again without disturbance", async () => {
  const app = await serve();
  const { put } = await openKeeper();
  for (const n of [1, 2, 3]) await put(n);
  const { admin, warned } = await openVerbs();
  const rotated = await admin.secrets.rotate(false);
  expect(rotated).toEqual({
    key_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    is_resumed: false,
    resealed: 3,
    given_up: 0,
  });
  await put(4);
  expect(await app.app.admin.secrets.rotate(false)).toMatchObject({ resealed: 4 });
  await put(5);
  expect(warned).toEqual([]);
  expect(secretLines(app)).toEqual([]);
});

test("a rotation without the key gives advice, and quotes no secret", async () => {
  const { put } = await openKeeper();
  await put(1);
  const line = readFileSync(secretsKeyFile, "latin1").trim();
  renameSync(secretsKeyFile, join(directory, "away"));
  const { admin } = await openVerbs();
  const failure = await failureOf(admin.secrets.rotate(false));
  expect(failure).toBeInstanceOf(AdminError);
  expect(failure.message).toBe(
    "the secrets key is missing: put its file back, or, where it is lost, delete with --give-up " +
      "what only it opens",
  );
  expect(failure.message).not.toContain(line);
  expect(existsSync(secretsKeyFile)).toBe(false);
  expect(await admin.secrets.rotate(true)).toMatchObject({ resealed: 0, given_up: 1 });
});

test("unreadable secrets are named, and the others are counted", async () => {
  const { database, put } = await openKeeper();
  for (let n = 10; n < 22; n++) {
    await put(n);
    await database.bind(keeperStore).damage(`c-${n}`, "v1.damaged");
  }
  const { admin } = await openVerbs();
  const { message } = await failureOf(admin.secrets.rotate(false));
  expect(message).toStartWith("these cannot be opened: connection c-10, connection c-11, ");
  expect(message).toContain("connection c-19 and 2 others; all else is under the new key");
});

test("a server without its key starts, logs it once, and answers requests without secrets", async () => {
  const { put } = await openKeeper();
  await put(1);
  const line = readFileSync(secretsKeyFile, "latin1").trim();
  renameSync(secretsKeyFile, join(directory, "away"));
  const app = await serve();
  expect(existsSync(secretsKeyFile)).toBe(false);
  expect((await app.get("/v1/models")).status).toBe(200);
  expect((await app.chat("Hello", { user: "somebody" })).status).toBe(201);
  expect(secretLines(app).map(({ level, message }) => [level, message])).toEqual([
    [
      "warn",
      `the secrets key in ${secretsKeyFile} is missing: secrets can be neither used nor stored for now`,
    ],
    ["warn", "without a secrets key, hashes in the log hold for this run only"],
  ]);
  expect(JSON.stringify(app.lines)).not.toContain(line);
});

test("a server hashes users alike after every start with the same key", async () => {
  const hashOf = async () => {
    const app = await serve();
    expect((await app.chat("!error upstream_error", { user: "somebody" })).status).toBe(502);
    await closing.pop()!();
    return app.lines.find(({ user }) => user !== undefined)?.user;
  };
  const first = await hashOf();
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(await hashOf()).toBe(first);
  rmSync(secretsKeyFile);
  expect(await hashOf()).not.toBe(first);
});
