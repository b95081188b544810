// The compiled program, killed at every write of a rotation: all that was stored opens, and the
// next one ends it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyData } from "../../scripts/prove/data-copy.ts";
import { readKeyFile } from "../../src/crypto/key-file.ts";
import { secretStore } from "../../src/crypto/store.ts";
import { openDatabase } from "../../src/database/index.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock } from "../support/clock.ts";
import { runProgram } from "../support/crash.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { chooseCases } from "../support/rounds.ts";
import { keeperStore } from "../support/secret-keeper.ts";
import { openTestSecrets } from "../support/secrets.ts";

/** Two whole pages and a part of one; then what is left is counted. */
const COUNT = 230;
const PASSES = { claim: 1, turn: 1, reseal: 4 };
const at = (n: number) => ({ kind: "connection", row_id: `c-${n}`, account_id: "a-1" }) as const;

const root = mkdtempSync(join(tmpdir(), "wadi-crash-secrets-"));
const template = join(root, "template");
const fileOf = (data: string) => join(data, "secrets.key");
const rotate = (data: string, failPoint?: string) =>
  runProgram(["secrets", "rotate", "--json", "--data", data], failPoint);
const keyIds = (data: string) => readKeyFile(fileOf(data), () => {})!.map(({ id }) => id);

/** Writes of a server on the same data. */
async function openServer(data: string) {
  const clock = createManualClock();
  const database = await openDatabase({
    place: { kind: "sqlite", file: join(data, "wadi.db") },
    stores: [...stores, keeperStore],
    clock,
    onFailure(failure) {
      throw failure;
    },
  });
  const secrets = openTestSecrets(database, clock, fileOf(data));
  const { put } = database.bind(keeperStore);
  return {
    said: secrets.said,
    store: (n: number) => secrets.store({ ...at(n), set_at: 7 }, `secret ${n}`, put),
    async expectOpen(count: number) {
      for (let n = 0; n < count; n++) {
        expect(await secrets.open(at(n))).toEqual({ ok: true, secret: `secret ${n}` });
      }
    },
    close: database.close,
  };
}

beforeAll(async () => {
  expect((await runProgram(["accounts", "create", "acme", "--data", template])).code).toBe(0);
  const server = await openServer(template);
  for (let n = 0; n < COUNT; n++) await server.store(n);
  await server.close();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("every write of secrets is in the matrix", () => {
  expect(Object.keys(PASSES).toSorted()).toEqual(Object.keys(secretStore.writes).toSorted());
});

for (const [write, passes] of Object.entries(PASSES)) {
  const points = Array.from({ length: passes }, (_, i) => [`before#${i + 1}`, `after#${i + 1}`]);
  test.each(chooseCases(points.flat(), (point) => point === "after#1"))(
    `a rotation killed at secrets.${write}:%s loses nothing`,
    async (point) => {
      const data = join(root, `${write}-${point.replace("#", "-")}`);
      copyData(template, data);
      const server = await openServer(data);
      await server.expectOpen(1);
      const [old] = keyIds(data);
      const killed = await rotate(data, `secrets.${write}:${point}`);
      expect(killed).toMatchObject({ signal: "SIGKILL", lines: [], errors: "" });

      expect(keyIds(data)).toHaveLength(2);
      await server.expectOpen(COUNT);
      await server.store(COUNT);
      const fresh = await openServer(data);
      await fresh.store(COUNT + 1);
      await fresh.expectOpen(COUNT + 2);

      const ended = await rotate(data);
      expect(ended.code).toBe(0);
      const [key_id, ...others] = keyIds(data);
      expect(JSON.parse(ended.lines[0]!)).toMatchObject({ key_id, is_resumed: true, given_up: 0 });
      expect([key_id === old, others]).toEqual([false, []]);
      for (const one of [server, fresh]) {
        await one.expectOpen(COUNT + 2);
        expect(one.said).toEqual([]);
        await one.close();
      }
      const { secrets, secrets_key } = dumpDatabase(join(data, "wadi.db")) as {
        secrets: { key_id: string }[];
        secrets_key: unknown[];
      };
      expect(secrets).toHaveLength(COUNT + 2);
      expect(secrets.every((row) => row.key_id === key_id)).toBe(true);
      expect(secrets_key).toEqual([{ place: 1, key_id }]);
      const left = readdirSync(data).filter((name) => name.startsWith("secrets.key"));
      expect(left.toSorted()).toEqual(["secrets.key", "secrets.key.lock"]);
    },
  );
}

test("a rotation without a kill makes as many writes as the matrix kills", async () => {
  const data = join(root, "whole");
  copyData(template, data);
  const next = `secrets.reseal:before#${PASSES.reseal + 1}`;
  const { code, lines, errors } = await rotate(data, next);
  expect({ code, errors }).toEqual({
    code: 0,
    errors: "backups from before hold secrets that only the old key opens\n",
  });
  expect(JSON.parse(lines[0]!)).toMatchObject({ is_resumed: false, resealed: COUNT });
  expect(keyIds(data)).toHaveLength(1);
});
