// Cases of the store of connections.
import { expect } from "bun:test";
import type { ConnectionRow } from "../../src/agents/tools/connections/connection.ts";
import type { SealedSecret } from "../../src/crypto/store.ts";
import type { Case, Stores } from "./cases.ts";
import { codeOf } from "./run-acts.ts";
import { makeRevision } from "./tool-cases.ts";

const NOW = Date.UTC(2026, 10, 20);
const MANY = 100;
const LIMITS = { tools: MANY, stored_bytes: 1e9 };
const HOST = "api.example.com";

const connection = (id: string, fields: Partial<ConnectionRow> = {}): ConnectionRow => ({
  ...{ id, account_id: "a-1", name: `Of ${id} "ä"`, kind: "bearer", header_name: null },
  ...{ oauth: null, allowed_hosts: [], secret_set_at: NOW, last_used_at: null },
  ...{ created_at: NOW, updated_at: NOW },
  ...fields,
});
const seal = (
  { id, account_id, secret_set_at }: ConnectionRow,
  sealed = "sealed",
): SealedSecret => ({
  ...{ kind: "connection", row_id: id, account_id, sealed, key_id: "k-1", set_at: secret_set_at },
});
export const create = (
  { connections }: Stores,
  id: string,
  fields: Partial<ConnectionRow> = {},
  connectionsMax = MANY,
) => {
  const row = connection(id, fields);
  return connections.create(row, seal(row), connectionsMax);
};
/** Adds two connections of one account and one of another. */
const fill = async (stores: Stores) => {
  await stores.secrets.claim("k-1");
  await create(stores, "c-1");
  await create(stores, "c-2", { created_at: NOW + 1 });
  await create(stores, "c-3", { account_id: "a-2" });
};
const register = ({ tools }: Stores, name: string, connection_id: string, host = HOST) =>
  tools.register(makeRevision(name, { connection_id }), host, LIMITS);
const idsOf = (rows: readonly ConnectionRow[]) => rows.map(({ id }) => id);

const creationCases: Case[] = [
  {
    method: "connections.create",
    title: "stores a connection and its secret",
    setup: ({ secrets }) => secrets.claim("k-1"),
    act: (stores) => create(stores, "c-1", { kind: "header", header_name: "X-Key" }),
    async check(answer, { connections, secrets }) {
      const row = connection("c-1", { kind: "header", header_name: "X-Key" });
      expect(answer).toEqual(row);
      expect(await connections.find("c-1", "a-1")).toEqual(row);
      expect(await secrets.find("connection", "c-1")).toEqual(seal(row));
    },
  },
  {
    method: "connections.create",
    title: "refuses a name taken in the account, and stores no secret",
    setup: fill,
    act: async (stores) => {
      const { name } = connection("c-1");
      return [
        await codeOf(create(stores, "c-4", { name })),
        await codeOf(create(stores, "c-5", { name, account_id: "a-3" })),
      ];
    },
    async check(answer, { connections, secrets }) {
      expect(answer).toEqual(["connection_name_taken", "accepted"]);
      expect(await connections.find("c-4", "a-1")).toBeUndefined();
      expect(await secrets.find("connection", "c-4")).toBeUndefined();
    },
  },
  {
    method: "connections.create",
    title: "refuses one connection above the account's limit",
    setup: fill,
    act: async (stores) => [
      await codeOf(create(stores, "c-4", {}, 2)),
      await codeOf(create(stores, "c-5", { account_id: "a-2" }, 2)),
    ],
    async check(answer, { connections }) {
      expect(answer).toEqual(["connection_limit_reached", "accepted"]);
      expect(await connections.list("a-1")).toHaveLength(2);
    },
  },
  {
    method: "connections.create",
    title: "stores twenty concurrent ones only up to the limit",
    setup: fill,
    act: (stores) =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          codeOf(create(stores, `c-${n + 10}`, { account_id: "a-9" }, 5)),
        ),
      ),
    async check(answer, { connections }) {
      const made = (answer as string[]).filter((code) => code === "accepted");
      expect(made).toHaveLength(5);
      expect(await connections.list("a-9")).toHaveLength(5);
    },
  },
  {
    method: "connections.create",
    title: "stores nothing if a key rotation has overtaken its secret",
    setup: fill,
    async act({ connections }) {
      const row = connection("c-4");
      return codeOf(connections.create(row, { ...seal(row), key_id: "k-0" }, MANY));
    },
    async check(answer, { connections }) {
      expect(answer).toBe("connections_unavailable");
      expect(await connections.find("c-4", "a-1")).toBeUndefined();
    },
  },
];

const changeCases: Case[] = [
  {
    method: "connections.update",
    title: "changes the name and the hosts, and sets the time of the update",
    setup: fill,
    act: ({ connections }) =>
      connections.update("c-1", "a-1", { name: "New", allowed_hosts: [HOST] }, NOW + 5),
    async check(answer, { connections }) {
      const row = connection("c-1", { name: "New", allowed_hosts: [HOST], updated_at: NOW + 5 });
      expect(answer).toEqual(row);
      expect(await connections.find("c-1", "a-1")).toEqual(row);
      // An identical update changes nothing.
      expect(await connections.update("c-1", "a-1", { name: "New" }, NOW + 9)).toEqual(row);
      expect(await connections.update("c-1", "a-1", {}, NOW + 9)).toEqual(row);
      // The owner may remove hosts; another account may not.
      const widened = (allowed_hosts: string[]) =>
        codeOf(connections.update("c-1", "a-1", { allowed_hosts }, NOW + 9));
      expect(await widened([HOST, "other.example.com"])).toBe("invalid_request");
      expect(await widened(["other.example.com"])).toBe("invalid_request");
      expect(await widened([])).toBe("invalid_request");
      const renamed = { name: "Other", allowed_hosts: ["other.example.com"] };
      const renaming = connections.update("c-1", "a-1", renamed, NOW + 9);
      expect(await codeOf(renaming)).toBe("invalid_request");
      expect(await connections.find("c-1", "a-1")).toEqual(row);
    },
  },
  {
    method: "connections.update",
    title: "refuses a taken name, and does not find another account's",
    setup: fill,
    act: async ({ connections }) => {
      const { name } = connection("c-2");
      return [
        await codeOf(connections.update("c-1", "a-1", { name }, NOW + 5)),
        await connections.update("c-3", "a-1", { name: "Mine" }, NOW + 5),
        await connections.update("c-9", "a-1", { name: "Mine" }, NOW + 5),
      ];
    },
    async check(answer, { connections }) {
      expect(answer).toEqual(["connection_name_taken", undefined, undefined]);
      expect(await connections.find("c-1", "a-1")).toEqual(connection("c-1"));
      expect(await connections.find("c-3", "a-2")).toEqual(
        connection("c-3", { account_id: "a-2" }),
      );
    },
  },
  {
    method: "connections.setSecret",
    title: "replaces the secret",
    setup: fill,
    act: ({ connections }) => {
      const row = connection("c-1", { secret_set_at: NOW + 5 });
      return connections.setSecret("c-1", "a-1", seal(row, "another"));
    },
    async check(answer, { connections, secrets }) {
      const row = connection("c-1", { secret_set_at: NOW + 5, updated_at: NOW + 5 });
      expect(answer).toEqual(row);
      expect(await connections.find("c-1", "a-1")).toEqual(row);
      expect(await secrets.find("connection", "c-1")).toEqual(seal(row, "another"));
    },
  },
  {
    method: "connections.setSecret",
    title: "refuses another account's connection and a secret that a key rotation has overtaken",
    setup: fill,
    act: async ({ connections }) => [
      await connections.setSecret("c-3", "a-1", seal(connection("c-3"), "stolen")),
      await codeOf(
        connections.setSecret("c-1", "a-1", { ...seal(connection("c-1"), "late"), key_id: "k-0" }),
      ),
    ],
    async check(answer, { secrets }) {
      expect(answer).toEqual([undefined, "connections_unavailable"]);
      for (const id of ["c-1", "c-3"]) {
        expect((await secrets.find("connection", id))!.sealed).toBe("sealed");
      }
    },
  },
  {
    method: "connections.use",
    title: "keeps the latest time at which the secret was sent",
    setup: fill,
    async act({ connections }) {
      for (const at of [NOW + 9, NOW + 3]) await connections.use("c-1", at);
      await connections.use("c-9", NOW);
    },
    async check(_, { connections }) {
      expect(await connections.find("c-1", "a-1")).toEqual(
        connection("c-1", { last_used_at: NOW + 9 }),
      );
      expect((await connections.find("c-2", "a-1"))!.last_used_at).toBeNull();
    },
  },
];

const removalCases: Case[] = [
  {
    method: "connections.remove",
    title: "deletes the secret too",
    setup: fill,
    act: ({ connections }) => connections.remove("c-1", "a-1"),
    async check(answer, { connections, secrets }) {
      expect(answer).toBe(true);
      expect(idsOf(await connections.list("a-1"))).toEqual(["c-2"]);
      expect(await secrets.find("connection", "c-1")).toBeUndefined();
      expect(await secrets.find("connection", "c-2")).toBeDefined();
      expect(await connections.remove("c-1", "a-1")).toBe(false);
    },
  },
  {
    method: "connections.remove",
    title: "leaves another account's unchanged",
    setup: fill,
    act: ({ connections }) => connections.remove("c-3", "a-1"),
    async check(answer, { connections, secrets }) {
      expect(answer).toBe(false);
      expect(await connections.find("c-3", "a-2")).toBeDefined();
      expect(await secrets.find("connection", "c-3")).toBeDefined();
    },
  },
  {
    method: "connections.remove",
    title: "refuses while the latest revision of an enabled tool names the connection",
    async setup(stores) {
      await fill(stores);
      await register(stores, "send", "c-1");
    },
    act: async (stores) => {
      const { connections, tools } = stores;
      const remove = () => codeOf(connections.remove("c-1", "a-1"));
      const first = await remove();
      await tools.disable("a-1", "send");
      await tools.enable("a-1", "send", MANY);
      const again = await remove();
      await tools.revise(makeRevision("send", { connection_id: "c-2" }), HOST, LIMITS.stored_bytes);
      return [first, again, await remove()];
    },
    async check(answer, { connections }) {
      // An older revision may still be pinned; its calls fail from now on.
      expect(answer).toEqual(["connection_in_use", "connection_in_use", "accepted"]);
      expect(idsOf(await connections.list("a-1"))).toEqual(["c-2"]);
    },
  },
  {
    method: "connections.remove",
    title: "is not blocked by a disabled tool",
    async setup(stores) {
      await fill(stores);
      await register(stores, "send", "c-1");
      await stores.tools.disable("a-1", "send");
    },
    act: ({ connections }) => connections.remove("c-1", "a-1"),
    check: (answer) => expect(answer).toBe(true),
  },
];

const readCases: Case[] = [
  {
    method: "connections.find",
    title: "does not find another account's connection",
    setup: fill,
    act: ({ connections }) => connections.find("c-3", "a-1"),
    async check(answer, { connections }) {
      expect(answer).toBeUndefined();
      expect(await connections.find("c-3", "a-2")).toEqual(
        connection("c-3", { account_id: "a-2" }),
      );
    },
  },
  {
    method: "connections.find",
    title: "finds a bound connection, and a tool for another host is refused",
    setup: fill,
    act: async (stores) => [
      await codeOf(register(stores, "one", "c-1")),
      await codeOf(register(stores, "two", "c-1", "other.example.com")),
      await codeOf(register(stores, "three", "c-1")),
      await codeOf(register(stores, "four", "c-3")),
    ],
    async check(answer, { connections, tools }) {
      const codes = ["accepted", "invalid_request", "accepted", "connection_not_found"];
      expect(answer).toEqual(codes);
      expect((await connections.find("c-1", "a-1"))!.allowed_hosts).toEqual([HOST]);
      expect((await connections.find("c-3", "a-2"))!.allowed_hosts).toEqual([]);
      expect(await tools.find("a-1", "two")).toBeUndefined();
    },
  },
  {
    method: "connections.list",
    title: "lists newest first, for one account or all",
    setup: fill,
    act: ({ connections }) => connections.list("a-1"),
    async check(answer, { connections }) {
      expect(idsOf(answer as ConnectionRow[])).toEqual(["c-2", "c-1"]);
      expect(idsOf(await connections.list("a-2"))).toEqual(["c-3"]);
      expect(idsOf(await connections.list(null))).toEqual(["c-2", "c-3", "c-1"]);
      expect(await connections.list("a-9")).toEqual([]);
    },
  },
  {
    method: "connections.findOwner",
    title: "returns the owner's account",
    setup: fill,
    act: ({ connections }) => connections.findOwner("c-3"),
    async check(answer, { connections }) {
      expect(answer).toBe("a-2");
      expect(await connections.findOwner("c-9")).toBeUndefined();
    },
  },
];

export const connectionCases: Case[] = [
  ...creationCases,
  ...changeCases,
  ...removalCases,
  ...readCases,
];
