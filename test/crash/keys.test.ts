// The compiled program's command line and first start, killed at every write: nothing is lost.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashSecret } from "../../src/access/credentials.ts";
import { runLine } from "../support/command-session.ts";
import { runProgram, startProgram } from "../support/crash.ts";
import { dumpDatabase } from "../support/database-dump.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(root, "data-"));
});
const dump = () => dumpDatabase(join(data, "wadi.db")) as Record<string, Record<string, unknown>[]>;
const wadi = (words: string[]) => {
  const env = { PATH: process.env.PATH, HOME: root };
  return runLine({ args: [...words, "--data", data], cwd: root, env, stdin: "" });
};
const expectKilled = async (args: string[], failPoint: string) => {
  const killed = await runProgram([...args, "--data", data], failPoint);
  expect(killed).toMatchObject({ signal: "SIGKILL", lines: [], errors: "" });
};

const CREATE_KEY = ["keys", "create", "--account", "acme"];

test("a killed `accounts create` leaves a complete account or none", async () => {
  await expectKilled(["accounts", "create", "acme"], "accounts.create:before");
  expect(dump().accounts).toEqual([]);
  await expectKilled(["accounts", "create", "acme"], "accounts.create:after");
  expect(dump().accounts).toMatchObject([{ name: "acme" }]);
  // The next command finds the name taken: a commit counts even if it was not acknowledged.
  expect(await wadi(["accounts", "create", "acme"])).toMatchObject({ code: 1 });
});

test("a killed `keys create` leaves key and secret or neither; no printed key is lost", async () => {
  await wadi(["accounts", "create", "acme"]);
  const first = await wadi(CREATE_KEY);
  await expectKilled(CREATE_KEY, "keys.create:before");
  expect(dump().keys).toHaveLength(1);
  await expectKilled(CREATE_KEY, "keys.create:after");
  const second = await wadi(CREATE_KEY);
  const { keys, key_secrets } = dump();
  expect(keys).toHaveLength(3);
  expect(key_secrets!.map((secret) => secret.key_id).toSorted()).toEqual(
    keys!.map((key) => key.id).toSorted(),
  );
  const hashes = key_secrets!.map((secret) => secret.hash);
  for (const { stdout } of [first, second]) expect(hashes).toContain(hashSecret(stdout.trim()));
});

test("a killed `keys revoke` has revoked the key or not", async () => {
  await wadi(["accounts", "create", "acme"]);
  await wadi(CREATE_KEY);
  const id = String(dump().keys![0]!.id);
  await expectKilled(["keys", "revoke", id], "keys.revoke:before");
  expect(dump().keys).toMatchObject([{ revoked_at: null }]);
  await expectKilled(["keys", "revoke", id], "keys.revoke:after");
  expect(dump().keys).toMatchObject([{ revoked_at: expect.any(Number) }]);
});

test("a killed `keys rotate` leaves the old secret unchanged or both; no printed secret is lost", async () => {
  await wadi(["accounts", "create", "acme"]);
  const first = await wadi(CREATE_KEY);
  const rotate = ["keys", "rotate", String(dump().keys![0]!.id)];
  const before = dump().key_secrets!;
  await expectKilled(rotate, "keys.rotate:before");
  expect(dump().key_secrets).toEqual(before);
  await expectKilled(rotate, "keys.rotate:after");
  const old = dump().key_secrets!.find(({ hash }) => hash === hashSecret(first.stdout.trim()));
  expect(dump().key_secrets).toHaveLength(2);
  expect(old!.expires_at).toBeNumber();
  // The unseen secret is the one before the last; the next is printed.
  const second = await wadi(rotate);
  const hashes = dump().key_secrets!.map(({ hash }) => hash);
  expect(hashes).toHaveLength(2);
  expect(hashes).toContain(hashSecret(second.stdout.trim()));
});

test("a killed first start is repeated as a first start, or is complete", async () => {
  const serve = ["serve", "--port", "0"];
  await expectKilled(serve, "models.see:before");
  await expectKilled(serve, "models.see:after");
  await expectKilled(serve, "accounts.createFirst:before");
  expect(dump()).toMatchObject({ accounts: [], keys: [], models: [{ id: "stub-1" }] });
  await expectKilled(serve, "accounts.createFirst:after");
  expect(dump()).toMatchObject({ accounts: [{ name: "default" }], keys: [{ name: "first" }] });
  const server = startProgram([...serve, "--data", data]);
  expect(await server.next()).toStartWith("wadi ");
  server.kill();
  await server.ended;
  expect(dump().keys).toHaveLength(1);
});
