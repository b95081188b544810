// A connection is read for each call; only its hosts and its owner's tools get the secret.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Connections,
  createConnections,
  createCredentials,
  type OpenCredentials,
} from "../../../../src/agents/tools/connections/connections.ts";
import {
  type Database,
  openDatabase,
  type Store,
  sql,
  store,
} from "../../../../src/database/index.ts";
import { stores } from "../../../../src/stores.ts";
import { guard } from "../../../net/guard.ts";
import { createManualClock, type ManualClock } from "../../../support/clock.ts";
import { createSeededIds } from "../../../support/ids.ts";
import { placeInMemory } from "../../../support/memory.ts";
import { openTestSecrets, type TestSecrets } from "../../../support/secrets.ts";

const OWNER = "a-1";
const HOST = "api.example.com";
const SECRET = "sk_canary_77";

/** Direct changes to the database. */
const hand = store(
  "hand",
  {},
  {
    async damage(tx) {
      await tx.run(sql`UPDATE secrets SET sealed = 'v1.nonsense'`);
    },
    async give(tx, account_id: string) {
      await tx.run(sql`UPDATE connections SET account_id = ${account_id}`);
    },
    async drop(tx) {
      await tx.run(sql`DELETE FROM secrets`);
    },
  },
);

let directory: string;
let file: string;
let database: Database;
let clock: ManualClock;
let secrets: TestSecrets;
let connections: Connections;
let open: OpenCredentials;
const warnings: string[] = [];
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-connections-"));
  file = join(directory, "secrets.key");
  clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const place = await placeInMemory();
  database = await openDatabase({ place, stores: [...stores, hand], clock, onFailure });
  secrets = openTestSecrets(database, clock, file);
  const egress = guard([]);
  connections = createConnections({ database, secrets, egress, clock, ids: createSeededIds() });
  warnings.length = 0;
  const log = { warn: (line: string) => void warnings.push(line) };
  open = createCredentials({ database, secrets, clock, log, egress });
});
afterEach(async () => {
  await database.close();
  rmSync(directory, { recursive: true });
});

const create = (fields: object = {}, account_id = OWNER) =>
  connections.create(
    account_id,
    {
      ...{ name: "Letters", kind: "bearer", header_name: null },
      ...{ secret: SECRET, allowed_hosts: [HOST], ...fields },
    },
    10,
  );
const ask = (id: string, fields: object = {}) =>
  open({ id, account_id: OWNER, host: HOST, ...fields });
const refuse = (problem: string) => ({ ok: false as const, problem });

test("agents.does.connection an allowed host gets the secret and its header", async () => {
  const bearer = await create();
  expect(await ask(bearer.id)).toEqual({
    ...{ ok: true, connection: { kind: "bearer", header_name: null, secret: SECRET } },
  });
  const fields = { name: "Key", kind: "header", header_name: "X-Key", secret: `Token ${SECRET}` };
  const { id } = await create({ ...fields, allowed_hosts: ["b.example.com", `${HOST}:8443`] });
  expect(await ask(id, { host: `${HOST}:8443` })).toEqual({
    ...{
      ok: true,
      connection: { kind: "header", header_name: "X-Key", secret: `Token ${SECRET}` },
    },
  });
});

test("no other host gets it, however spelled", async () => {
  const { id } = await create();
  const hosts = ["example.com", `x.${HOST}`, `${HOST}.`, `${HOST}:444`, "", "API.EXAMPLE.COM"];
  for (const host of hosts) {
    const refused = refuse("Its connection is not for the endpoint's host.");
    expect([host, await ask(id, { host })]).toEqual([host, refused]);
  }
  let opened = 0;
  const askCounted = createCredentials({
    ...{ database, clock, log: { warn() {} }, egress: guard([]) },
    secrets: { open: async (about) => secrets.open(about).finally(() => opened++) },
  });
  await askCounted({ id, account_id: OWNER, host: "example.com" });
  expect(opened).toBe(0);
  await askCounted({ id, account_id: OWNER, host: HOST });
  expect(opened).toBe(1);
  const unbound = await create({ name: "Unbound", allowed_hosts: [] });
  expect((await ask(unbound.id)).ok).toBe(false);
});

test("agents.authentication.6 another account's connection is not found, also if its row was moved", async () => {
  const { id } = await create({}, "a-2");
  const none = refuse("Its connection does not exist any more.");
  expect(await ask(id)).toEqual(none);
  expect(await ask("c-none")).toEqual(none);
  await database.bind(hand).give(OWNER);
  expect(await ask(id)).toEqual(refuse("Its connection has no secret."));
});

test("a change or deletion takes effect at the next call", async () => {
  const { id } = await create();
  await connections.setSecret(id, OWNER, "another");
  expect(await ask(id)).toMatchObject({ connection: { secret: "another" } });
  await connections.setSecret(id, OWNER, "another", ["other.example.com"]);
  expect((await ask(id)).ok).toBe(false);
  expect((await ask(id, { host: "other.example.com" })).ok).toBe(true);
  await connections.remove(id, OWNER);
  expect((await ask(id, { host: "other.example.com" })).ok).toBe(false);
});

test("agents.errors.connections_unavailable no secret is opened or set without the encryption key; with it they are", async () => {
  const { id } = await create();
  const key = await Bun.file(file).text();
  rmSync(file);
  await clock.advance(1_000);
  expect(await ask(id)).toEqual(refuse("The secrets of connections cannot be read now."));
  const unavailable = expect.objectContaining({ code: "connections_unavailable" });
  await expect(create({ name: "Another" })).rejects.toEqual(unavailable);
  await expect(connections.setSecret(id, OWNER, "another")).rejects.toEqual(unavailable);
  // Everything else works.
  await connections.change(id, OWNER, { name: "Renamed" });
  expect(await connections.list(OWNER)).toHaveLength(1);
  await Bun.write(file, key);
  await clock.advance(1_000);
  expect(await ask(id)).toMatchObject({ connection: { secret: SECRET } });
  rmSync(file);
  await clock.advance(1_000);
  await connections.remove(id, OWNER);
  expect(secrets.said.join("\n")).not.toContain("canary");
});

test("a damaged or missing secret is reported", async () => {
  const { id } = await create();
  await database.bind(hand).damage();
  const problem = "The secret of its connection cannot be read; set it anew.";
  expect(await ask(id)).toEqual(refuse(problem));
  await database.bind(hand).drop();
  expect(await ask(id)).toEqual(refuse("Its connection has no secret."));
  await connections.setSecret(id, OWNER, SECRET);
  expect((await ask(id)).ok).toBe(true);
});

test("agents.errors.url_refused a server of tokens is judged again when it is asked", async () => {
  const ids = createSeededIds();
  const opened = guard(["10.0.0.1:443"]);
  connections = createConnections({ database, secrets, egress: opened, clock, ids });
  const oauth = { token_url: "https://10.0.0.1/token", client_id: "wadi" };
  const { id } = await create({ kind: "client_credentials", oauth });
  expect(await ask(id)).toEqual(
    refuse("No token was given: The URL must name its host by a DNS name, not by an IP address."),
  );
});

test("its use is written once a minute at most", async () => {
  const { id } = await create();
  const begun_at = clock.now();
  const readUse = async () => (await connections.require(id, OWNER)).last_used_at;
  expect((await ask(id, { host: "other.example.com" })).ok).toBe(false);
  expect(await readUse()).toBeNull();
  for (let n = 0; n < 5; n++) await ask(id);
  expect(await readUse()).toBe(begun_at);
  await clock.advance(59_999);
  await ask(id);
  expect(await readUse()).toBe(begun_at);
  await clock.advance(1);
  await Promise.all([ask(id), ask(id), ask(id)]);
  expect(await readUse()).toBe(begun_at + 60_000);
  expect(warnings).toEqual([]);
});

test("a call whose secret cannot be opened is no use of it", async () => {
  const { id } = await create();
  await database.bind(hand).damage();
  expect((await ask(id)).ok).toBe(false);
  expect((await connections.require(id, OWNER)).last_used_at).toBeNull();
});

test("a use that could not be written is written at a later call", async () => {
  const { id } = await create();
  let failures = 1;
  const bind = <S extends Store>(one: S) => {
    const bound = database.bind(one);
    const use = async (...given: [string, number]) => {
      if (failures-- > 0) throw new Error("the disk is full");
      return (bound as unknown as Record<"use", (...all: unknown[]) => unknown>).use(...given);
    };
    return { ...bound, use };
  };
  const log = { warn: (line: string) => void warnings.push(line) };
  const failing = { ...database, bind: bind as never };
  open = createCredentials({ database: failing, secrets, clock, log, egress: guard([]) });
  const readUse = async () => (await connections.require(id, OWNER)).last_used_at;
  expect((await ask(id)).ok).toBe(true);
  expect(await readUse()).toBeNull();
  expect(warnings).toEqual(["connections: the last use could not be written"]);
  expect((await ask(id)).ok).toBe(true);
  expect(await readUse()).toBe(clock.now());
});
