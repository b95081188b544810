// Cases of the stores of operators and of the audit log.
import { expect } from "bun:test";
import type { AuditEntry } from "../../src/access/index.ts";
import type { StoredOperator } from "../../src/access/operators/operator.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

function makeOperator(name: string, fields: Partial<StoredOperator> = {}): StoredOperator {
  return {
    id: `o-${name}`,
    name,
    role: "operator",
    token_hash: `hash of ${name}`,
    created_at: NOW,
    expires_at: null,
    revoked_at: null,
    ...fields,
  };
}
const noura = makeOperator("noura");
const sami = makeOperator("sami", { role: "approver", expires_at: NOW + 9 });
const shown = ({ token_hash: _, ...operator }: StoredOperator) => operator;
const createBoth = async ({ operators }: Stores) => {
  await operators.create(sami);
  await operators.create(noura);
};

function makeEntry(n: number, fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: `e-${n}`,
    at: NOW + n,
    actor_kind: "operator",
    actor: "noura",
    via: "operator API",
    operation: "keys revoke",
    target: "k-1",
    outcome: "begun",
    state_before: { id: "k-1", revoked_at: null },
    state_after: null,
    error: null,
    ...fields,
  };
}
const other: Partial<AuditEntry> = {
  actor_kind: "user",
  actor: "root",
  via: "command line",
  operation: "keys create",
  target: null,
  state_before: null,
};
const beginBoth = async ({ audit }: Stores) => {
  await audit.begin(makeEntry(1));
  await audit.begin(makeEntry(2, other));
};

export const operatorCases: Case[] = [
  {
    method: "operators.create",
    title: "stores an operator, found by its token's hash",
    act: ({ operators }) => operators.create(noura),
    async check(answer, { operators }) {
      expect(answer).toBe(true);
      expect(await operators.find("hash of noura")).toEqual(shown(noura));
    },
  },
  {
    method: "operators.create",
    title: "changes nothing where the name is taken",
    setup: createBoth,
    act: ({ operators }) => operators.create(makeOperator("noura", { id: "x", token_hash: "x" })),
    async check(answer, { operators }) {
      expect(answer).toBe(false);
      expect(await operators.find("x")).toBeUndefined();
    },
  },
  {
    method: "operators.revoke",
    title: "revokes once, and keeps the first time",
    setup: createBoth,
    act: ({ operators }) => operators.revoke("noura", NOW + 5),
    async check(answer, { operators }) {
      expect(answer).toEqual({ ...shown(noura), revoked_at: NOW + 5 });
      expect((await operators.revoke("noura", NOW + 6))?.revoked_at).toBe(NOW + 5);
      expect((await operators.findByName("sami"))?.revoked_at).toBeNull();
      expect(await operators.revoke("nobody", NOW)).toBeUndefined();
    },
  },
  {
    method: "operators.replace",
    title: "creates an operator, or gives it another token, role and end and revives it",
    setup: createBoth,
    act: ({ operators }) => operators.replace(makeOperator("dev")),
    async check(_, { operators }) {
      await operators.revoke("dev", NOW);
      const next = { token_hash: "another", created_at: NOW + 1, expires_at: NOW + 9 };
      const approver = makeOperator("dev", { ...next, role: "approver" });
      await operators.replace({ ...approver, id: "new" });
      expect(await operators.find("hash of dev")).toBeUndefined();
      expect(await operators.find("another")).toEqual(shown(approver));
      // Others keep their own.
      expect(await operators.findByName("sami")).toEqual(shown(sami));
    },
  },
  {
    method: "operators.find",
    title: "finds nobody by another hash",
    setup: createBoth,
    act: ({ operators }) => operators.find("hash of sami "),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "operators.findByName",
    title: "finds an operator by its whole name",
    setup: createBoth,
    act: ({ operators }) => operators.findByName("sami"),
    async check(answer, { operators }) {
      expect(answer).toEqual(shown(sami));
      expect(await operators.findByName("sam")).toBeUndefined();
    },
  },
  {
    method: "operators.list",
    title: "lists by name, without the hashes",
    setup: createBoth,
    act: ({ operators }) => operators.list(),
    check: (answer) => expect(answer).toEqual([shown(noura), shown(sami)]),
  },
  {
    method: "audit.begin",
    title: "stores an entry with the state before",
    act: ({ audit }) => audit.begin(makeEntry(1)),
    async check(_, { audit }) {
      expect(await audit.list({ limit: 9 })).toEqual([makeEntry(1)]);
    },
  },
  {
    method: "audit.end",
    title: "completes one entry with its target, outcome and states",
    setup: beginBoth,
    act: ({ audit }) =>
      audit.end(makeEntry(2, { ...other, target: "k-2", outcome: "done", state_after: ["x"] })),
    async check(_, { audit }) {
      const done = makeEntry(2, { ...other, target: "k-2", outcome: "done", state_after: ["x"] });
      expect(await audit.list({ limit: 9 })).toEqual([done, makeEntry(1)]);
      const failed = makeEntry(1, { outcome: "failed", error: "no" });
      await audit.end(failed);
      expect(await audit.list({ limit: 9 })).toEqual([done, failed]);
    },
  },
  {
    method: "audit.sweep",
    title: "deletes the oldest entries from before a time, at most so many",
    setup: beginBoth,
    act: ({ audit }) => audit.sweep(NOW + 9, 1),
    async check(answer, { audit }) {
      expect(answer).toBe(1);
      expect(await audit.list({ limit: 9 })).toEqual([makeEntry(2, other)]);
      expect(await audit.sweep(NOW + 2, 9)).toBe(0);
    },
  },
  {
    method: "audit.list",
    title: "lists the newest first, by actor, operation, target and time",
    setup: beginBoth,
    act: ({ audit }) => audit.list({ limit: 1 }),
    async check(answer, { audit }) {
      const [first, second] = [makeEntry(1), makeEntry(2, other)];
      expect(answer).toEqual([second]);
      expect(await audit.list({ actor: "noura", limit: 9 })).toEqual([first]);
      expect(await audit.list({ operation: "keys create", limit: 9 })).toEqual([second]);
      expect(await audit.list({ target: "k-1", limit: 9 })).toEqual([first]);
      expect(await audit.list({ since: NOW + 2, limit: 9 })).toEqual([second]);
      expect(await audit.list({ since: NOW + 3, limit: 9 })).toEqual([]);
      expect(await audit.list({ until: NOW + 2, limit: 9 })).toEqual([first]);
      expect(await audit.list({ until: NOW + 1, limit: 9 })).toEqual([]);
    },
  },
  {
    method: "audit.list",
    title: "finds a command by its words without options, and a target by an end of its id",
    async setup({ audit }) {
      await audit.begin(makeEntry(1, { operation: "keys limit --change", target: "00ab-cd-12" }));
      await audit.begin(makeEntry(2, { operation: "keys limits", target: "x_" }));
    },
    act: ({ audit }) => audit.list({ operation: "keys limit", limit: 9 }),
    async check(answer, { audit }) {
      const ids = (found: readonly AuditEntry[]) => found.map(({ id }) => id);
      expect(ids(answer as AuditEntry[])).toEqual(["e-1"]);
      const find = async (target: string) => ids(await audit.list({ target, limit: 9 }));
      expect(await find("00ab-c")).toEqual(["e-1"]);
      expect(await find("-cd-12")).toEqual(["e-1"]);
      expect(await find("cd-12")).toEqual([]);
      // A wildcard of SQL is none here.
      expect(await find("x_")).toEqual(["e-2"]);
      expect(await find("__")).toEqual([]);
    },
  },
];
