// Cases of the store of registered tools.
import { expect } from "bun:test";
import type { StoredRevision, ToolRevisionRow } from "../../src/agents/tools/revision.ts";
import type { Case, Stores } from "./cases.ts";
import { codeOf } from "./run-acts.ts";

const NOW = Date.UTC(2026, 10, 20);
const OWN = { server_id: null, is_changed: false };
const HOST = "api.example.com";
const MANY = 100;
const BYTES = 1e9;
export const within = (tools: number) => ({ tools, stored_bytes: BYTES });

export const makeRevision = (
  name: string,
  fields: Partial<StoredRevision> = {},
): StoredRevision => ({
  ...{ account_id: "a-1", name, revision: 1, risk: "write", title: null },
  ...{ description: `Does ${name}.\nAlways.`, endpoint: `https://${HOST}/${name}` },
  parameters: { type: "object", properties: { to: { type: "string", default: "ä\u0000" } } },
  ...{ connection_id: null, timeout_ms: 30_000, external_content: true, idempotent: false },
  created_at: NOW,
  mcp: null,
  ...fields,
});
const shown = (name: string, fields: Partial<ToolRevisionRow> = {}): ToolRevisionRow => ({
  ...makeRevision(name),
  ...{ status: "enabled", latest: true },
  ...fields,
});
const register = (stores: Stores, name: string, fields: Partial<StoredRevision> = {}) =>
  stores.tools.register(makeRevision(name, fields), HOST, within(MANY));
const revise = (stores: Stores, name: string, fields: Partial<StoredRevision> = {}) =>
  stores.tools.revise(makeRevision(name, fields), HOST, BYTES);
const namesOf = (rows: readonly { name: string }[]) => rows.map(({ name }) => name);

const registrationCases: Case[] = [
  {
    method: "tools.register",
    title: "stores the first revision of a name as number one, whatever the request says",
    act: (stores) => register(stores, "send", { revision: 7, title: "Send", risk: "read" }),
    async check(answer, { tools }) {
      const first = shown("send", { title: "Send", risk: "read" });
      expect(answer).toEqual(first);
      expect(await tools.find("a-1", "send")).toEqual(first);
      expect(await tools.find("a-2", "send")).toBeUndefined();
      expect(await tools.find("a-1", "sen")).toBeUndefined();
    },
  },
  {
    method: "tools.register",
    title: "refuses a name taken in the account, also by a disabled tool",
    async setup(stores) {
      await register(stores, "send");
      await stores.tools.disable("a-1", "send");
    },
    act: async (stores) => [
      await codeOf(register(stores, "send", { risk: "irreversible" })),
      await codeOf(register(stores, "send", { account_id: "a-2" })),
    ],
    async check(answer, { tools }) {
      expect(answer).toEqual(["tool_exists", "accepted"]);
      expect(await tools.find("a-1", "send")).toEqual(shown("send", { status: "disabled" }));
    },
  },
  {
    method: "tools.register",
    title: "refuses a tool above the limit of enabled tools; disabled ones do not count",
    async setup(stores) {
      for (const name of ["one", "two"]) await register(stores, name);
      await register(stores, "theirs", { account_id: "a-2" });
    },
    act: async ({ tools }) => {
      const add = () => codeOf(tools.register(makeRevision("three"), HOST, within(2)));
      const first = await add();
      await tools.disable("a-1", "one");
      return [first, await add(), await add()];
    },
    async check(answer, { tools }) {
      expect(answer).toEqual(["tool_limit_reached", "accepted", "tool_exists"]);
      expect(namesOf(await tools.list("a-1", null, 9))).toEqual(["one", "three", "two"]);
    },
  },
  {
    method: "tools.register",
    title: "refuses a name above ten times the limit of enabled tools",
    async setup({ tools }) {
      for (let i = 0; i < 10; i++) {
        await tools.register(makeRevision(`tool_${i}`), HOST, within(1));
        await tools.disable("a-1", `tool_${i}`);
      }
    },
    act: async ({ tools }) => [
      await codeOf(tools.register(makeRevision("one_more"), HOST, within(1))),
      await codeOf(tools.register(makeRevision("one_more"), HOST, within(2))),
      await codeOf(tools.enable("a-1", "tool_3", 2)),
    ],
    check: (answer) => expect(answer).toEqual(["tool_limit_reached", "accepted", "accepted"]),
  },
  {
    method: "tools.register",
    title: "accepts concurrent tools only up to the limit",
    act: ({ tools }) =>
      Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          codeOf(tools.register(makeRevision(`tool_${i}`), HOST, within(3))),
        ),
      ),
    async check(answer, { tools }) {
      const codes = answer as string[];
      expect(codes.filter((code) => code === "accepted")).toHaveLength(3);
      expect(codes.filter((code) => code === "tool_limit_reached")).toHaveLength(5);
      expect(await tools.list("a-1", null, 9)).toHaveLength(3);
    },
  },
  {
    method: "tools.register",
    title: "refuses an unknown connection, and stores nothing",
    act: (stores) => codeOf(register(stores, "send", { connection_id: "c-none" })),
    async check(answer, { tools }) {
      expect(answer).toBe("connection_not_found");
      expect(await tools.find("a-1", "send")).toBeUndefined();
    },
  },
];

const revisionCases: Case[] = [
  {
    method: "tools.revise",
    title: "adds the next revision, and leaves earlier ones unchanged",
    setup: (stores) => register(stores, "send"),
    act: (stores) => revise(stores, "send", { risk: "irreversible", created_at: NOW + 1 }),
    async check(answer, { tools }) {
      const second = shown("send", { revision: 2, risk: "irreversible", created_at: NOW + 1 });
      expect(answer).toEqual(second);
      expect(await tools.find("a-1", "send")).toEqual(second);
      const pinned = await tools.listPinned("a-1", [{ name: "send", revision: 1 }]);
      expect(pinned).toEqual([shown("send", { latest: false })]);
    },
  },
  {
    method: "tools.revise",
    title: "refuses a revision after the thousandth",
    async setup(stores) {
      await register(stores, "send");
      await stores.numbered.number("a-1", "send", 999);
    },
    act: async (stores) => [
      await codeOf(revise(stores, "send")),
      await codeOf(revise(stores, "send")),
    ],
    check: (answer) => expect(answer).toEqual(["accepted", "tool_limit_reached"]),
  },
  {
    method: "tools.revise",
    title: "does not find another account's tool or an unknown one",
    setup: (stores) => register(stores, "send"),
    act: async (stores) => [
      await revise(stores, "send", { account_id: "a-2" }),
      await revise(stores, "other"),
    ],
    async check(answer, { tools }) {
      expect(answer).toEqual([undefined, undefined]);
      expect(await tools.find("a-1", "send")).toEqual(shown("send"));
    },
  },
  {
    method: "tools.revise",
    title: "numbers concurrent revisions without a gap, and keeps a disabled tool disabled",
    async setup(stores) {
      await register(stores, "send");
      await stores.tools.disable("a-1", "send");
    },
    act: (stores) => Promise.all(Array.from({ length: 8 }, () => revise(stores, "send"))),
    async check(answer, { tools }) {
      const numbers = (answer as ToolRevisionRow[]).map(({ revision }) => revision);
      expect(numbers.toSorted()).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
      expect(await tools.find("a-1", "send")).toMatchObject({ revision: 9, status: "disabled" });
    },
  },
  {
    method: "tools.revise",
    title: "refuses an unknown connection, and stores nothing",
    setup: (stores) => register(stores, "send"),
    act: (stores) => codeOf(revise(stores, "send", { connection_id: "c-none" })),
    async check(answer, { tools }) {
      expect(answer).toBe("connection_not_found");
      expect(await tools.find("a-1", "send")).toEqual(shown("send"));
    },
  },
];

const statusCases: Case[] = [
  {
    method: "tools.disable",
    title: "disables a tool, also repeatedly, and not another account's",
    async setup(stores) {
      await register(stores, "send");
      await register(stores, "send", { account_id: "a-2" });
    },
    act: async ({ tools }) => [
      await tools.disable("a-1", "send"),
      await tools.disable("a-1", "send"),
      await tools.disable("a-1", "other"),
    ],
    async check(answer, { tools }) {
      const off = shown("send", { status: "disabled" });
      expect(answer).toEqual([off, off, undefined]);
      expect(await tools.find("a-2", "send")).toMatchObject({ status: "enabled" });
      const [standing] = await tools.listStandings("a-1", ["send"]);
      expect(standing).toMatchObject({ status: "disabled" });
    },
  },
  {
    method: "tools.enable",
    title: "enables a tool, also repeatedly, and does not find an unknown one",
    async setup(stores) {
      await register(stores, "send");
      await stores.tools.disable("a-1", "send");
    },
    act: async ({ tools }) => [
      await tools.enable("a-1", "send", 1),
      await tools.enable("a-1", "send", 1),
      await tools.enable("a-1", "other", 1),
      await tools.enable("a-2", "send", 1),
    ],
    check: (answer) => expect(answer).toEqual([shown("send"), shown("send"), undefined, undefined]),
  },
  {
    method: "tools.enable",
    title: "refuses a tool above the limit of enabled tools",
    async setup(stores) {
      await register(stores, "one");
      await stores.tools.disable("a-1", "one");
      await register(stores, "two");
    },
    act: ({ tools }) => codeOf(tools.enable("a-1", "one", 1)),
    async check(answer, { tools }) {
      expect(answer).toBe("tool_limit_reached");
      expect(await tools.find("a-1", "one")).toMatchObject({ status: "disabled" });
    },
  },
];

const readCases: Case[] = [
  {
    method: "tools.find",
    title: "finds the latest revision",
    async setup(stores) {
      await register(stores, "send");
      await revise(stores, "send", { title: "Sends" });
    },
    act: ({ tools }) => tools.find("a-1", "send"),
    check: (answer) => expect(answer).toEqual(shown("send", { revision: 2, title: "Sends" })),
  },
  {
    method: "tools.list",
    title: "lists pages of an account's tools by name, each in its latest revision",
    async setup(stores) {
      for (const name of ["c", "a", "b"]) await register(stores, name);
      await revise(stores, "a");
      await stores.tools.disable("a-1", "b");
      await register(stores, "d", { account_id: "a-2" });
    },
    act: ({ tools }) => tools.list("a-1", null, 2),
    async check(answer, { tools }) {
      expect(answer).toEqual([shown("a", { revision: 2 }), shown("b", { status: "disabled" })]);
      expect(namesOf(await tools.list("a-1", "b", 2))).toEqual(["c"]);
      expect(await tools.list("a-1", "c", 2)).toEqual([]);
      expect(await tools.list("a-3", null, 2)).toEqual([]);
    },
  },
  {
    method: "tools.listRevisions",
    title: "lists a tool's revisions, newest first, from below a given one",
    async setup(stores) {
      await register(stores, "send");
      for (let n = 0; n < 3; n++) await revise(stores, "send");
      await register(stores, "send", { account_id: "a-2" });
    },
    act: ({ tools }) => tools.listRevisions("a-1", "send", { limit: 2, before: null }),
    async check(answer, { tools }) {
      expect(answer).toEqual([
        shown("send", { revision: 4 }),
        shown("send", { revision: 3, latest: false }),
      ]);
      const older = await tools.listRevisions("a-1", "send", { limit: 9, before: 3 });
      expect(older.map(({ revision }) => revision)).toEqual([2, 1]);
      expect(await tools.listRevisions("a-1", "other", { limit: 9, before: null })).toEqual([]);
    },
  },
  {
    method: "tools.listStandings",
    title: "returns which names are tools of the account, with their state",
    async setup(stores) {
      for (const name of ["one", "two"]) await register(stores, name);
      await revise(stores, "two", { risk: "read" });
      await stores.tools.disable("a-1", "two");
    },
    act: ({ tools }) => tools.listStandings("a-1", ["two", "one", "three"]),
    async check(answer, { tools }) {
      expect((answer as { name: string }[]).toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
        [
          { ...OWN, name: "one", revision: 1, risk: "write", status: "enabled" },
          { ...OWN, name: "two", revision: 2, risk: "read", status: "disabled" },
        ] as never,
      );
      expect(await tools.listStandings("a-2", ["one"])).toEqual([]);
    },
  },
  {
    method: "tools.listPinned",
    title: "finds revisions by name and number, also of disabled tools",
    async setup(stores) {
      for (const name of ["one", "two"]) await register(stores, name);
      await revise(stores, "two");
      await stores.tools.disable("a-1", "two");
      await register(stores, "one", { account_id: "a-2" });
    },
    act: ({ tools }) =>
      tools.listPinned("a-1", [
        { name: "two", revision: 1 },
        { name: "one", revision: 1 },
        { name: "one", revision: 2 },
      ]),
    async check(answer) {
      const rows = (answer as ToolRevisionRow[]).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      expect(rows).toEqual([shown("one"), shown("two", { status: "disabled", latest: false })]);
    },
  },
];

export const toolCases: readonly Case[] = [
  ...registrationCases,
  ...revisionCases,
  ...statusCases,
  ...readCases,
];
