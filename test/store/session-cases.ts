// Cases of the store of the console's links and sessions.
import { expect } from "bun:test";
import type { StoredOperator } from "../../src/access/operators/operator.ts";
import type { StoredLink, StoredSession } from "../../src/access/sessions/session.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

const noura: StoredOperator = {
  ...{ id: "o-noura", name: "noura", role: "operator", token_hash: "hash of noura" },
  ...{ created_at: NOW, expires_at: null, revoked_at: null },
};
const sami: StoredOperator = { ...noura, id: "o-sami", name: "sami", token_hash: "hash of sami" };

function makeLink(name: string, fields: Partial<StoredLink> = {}): StoredLink {
  return {
    ...{ token_hash: `link ${name}`, operator_id: "o-noura", created_at: NOW },
    ...{ expires_at: NOW + 30, used_at: null },
    ...fields,
  };
}

function makeSession(n: number, fields: Partial<StoredSession> = {}): StoredSession {
  return {
    ...{ id: `s-${n}`, operator_id: "o-noura", token_hash: `session ${n}` },
    ...{ user_agent: "Mozilla/5.0", address: "127.0.0.1" },
    ...{ created_at: NOW + n, last_seen_at: NOW + n, expires_at: NOW + 100 },
    ...fields,
  };
}
const show = ({ operator_id, token_hash: _, ...session }: StoredSession) => ({
  ...session,
  operator: operator_id.slice(2),
});

const createBoth = async ({ operators, sessions }: Stores) => {
  await operators.create(noura);
  await operators.create(sami);
  for (const name of ["a", "b", "c"]) await sessions.createLink(makeLink(name));
};
const signIn = async (stores: Stores) => {
  await createBoth(stores);
  const { sessions } = stores;
  await sessions.trade("link a", makeSession(1));
  await sessions.trade("link b", makeSession(2, { operator_id: "o-sami", user_agent: null }));
};

export const sessionCases: Case[] = [
  {
    method: "sessions.createLink",
    title: "stores a link, found with its operator by the token's hash",
    async setup({ operators }) {
      await operators.create(noura);
    },
    act: ({ sessions }) => sessions.createLink(makeLink("a")),
    async check(_, { sessions }) {
      const found = await sessions.findLink("link a");
      const link = { link_expires_at: NOW + 30, link_used_at: null };
      expect(found).toMatchObject({ id: "o-noura", name: "noura", role: "operator", ...link });
      expect(found).not.toHaveProperty("token_hash");
    },
  },
  {
    method: "sessions.findLink",
    title: "finds no link by another hash",
    setup: createBoth,
    act: ({ sessions }) => sessions.findLink("link A"),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "sessions.trade",
    title: "begins one session for a link, which is used up",
    setup: createBoth,
    act: ({ sessions }) => sessions.trade("link a", makeSession(1)),
    async check(answer, { sessions }) {
      expect(answer).toBe(true);
      expect(await sessions.trade("link a", makeSession(2))).toBe(false);
      expect(await sessions.findLink("link a")).toMatchObject({ link_used_at: NOW + 1 });
      expect(await sessions.list(NOW)).toEqual([show(makeSession(1))]);
    },
  },
  {
    method: "sessions.trade",
    title: "begins one session for a link that two use at once",
    setup: createBoth,
    act: ({ sessions }) => Promise.all([1, 2].map((n) => sessions.trade("link a", makeSession(n)))),
    async check(answer, { sessions }) {
      expect((answer as boolean[]).toSorted()).toEqual([false, true]);
      expect(await sessions.list(NOW)).toHaveLength(1);
    },
  },
  {
    method: "sessions.trade",
    title: "begins none for a link that is over or unknown",
    setup: createBoth,
    act: ({ sessions }) => sessions.trade("link a", makeSession(30)),
    async check(answer, { sessions }) {
      expect(answer).toBe(false);
      expect(await sessions.trade("link x", makeSession(1))).toBe(false);
      expect(await sessions.list(NOW)).toEqual([]);
    },
  },
  {
    method: "sessions.find",
    title: "finds the operator and the session of a token's hash",
    setup: signIn,
    act: ({ sessions }) => sessions.find("session 1"),
    async check(answer, { sessions, operators }) {
      const session = {
        session_id: "s-1",
        session_seen_at: NOW + 1,
        session_expires_at: NOW + 100,
      };
      expect(answer).toMatchObject({ id: "o-noura", name: "noura", revoked_at: null, ...session });
      expect(await sessions.find("session 9")).toBeUndefined();
      await operators.revoke("noura", NOW + 5);
      expect(await sessions.find("session 1")).toMatchObject({ revoked_at: NOW + 5 });
    },
  },
  {
    method: "sessions.findById",
    title: "finds a session without its hash",
    setup: signIn,
    act: ({ sessions }) => sessions.findById("s-1"),
    async check(answer, { sessions }) {
      expect(answer).toEqual(show(makeSession(1)));
      expect(await sessions.findById("s-9")).toBeUndefined();
    },
  },
  {
    method: "sessions.list",
    title: "lists what is in force, the last seen first",
    setup: signIn,
    act: ({ sessions }) => sessions.list(NOW),
    async check(answer, { sessions, operators }) {
      const second = show(makeSession(2, { operator_id: "o-sami", user_agent: null }));
      expect(answer).toEqual([second, show(makeSession(1))]);
      // Of two last seen at once, the later one comes first.
      await sessions.noteSeen("s-1", NOW + 2);
      expect((await sessions.list(NOW)).map(({ id }) => id)).toEqual(["s-2", "s-1"]);
      expect(await sessions.list(NOW + 100)).toEqual([]);
      await operators.revoke("noura", NOW);
      expect(await sessions.list(NOW)).toEqual([second]);
    },
  },
  {
    method: "sessions.noteSeen",
    title: "stores the time of the last request of one session",
    setup: signIn,
    act: ({ sessions }) => sessions.noteSeen("s-1", NOW + 50),
    async check(_, { sessions }) {
      const seen = (await sessions.list(NOW)).map(({ id, last_seen_at }) => [id, last_seen_at]);
      expect(seen).toEqual([
        ["s-1", NOW + 50],
        ["s-2", NOW + 2],
      ]);
    },
  },
  {
    method: "sessions.end",
    title: "ends one session, which is found no more",
    async setup(stores) {
      await signIn(stores);
      await stores.sessions.find("session 1");
    },
    act: ({ sessions }) => sessions.end("s-1"),
    async check(answer, { sessions }) {
      expect(answer).toEqual(show(makeSession(1)));
      expect(await sessions.find("session 1")).toBeUndefined();
      expect(await sessions.end("s-1")).toBeUndefined();
      expect(await sessions.list(NOW)).toHaveLength(1);
    },
  },
  {
    method: "sessions.sweep",
    title: "deletes sessions that are over, at most so many",
    setup: signIn,
    act: ({ sessions }) => sessions.sweep(NOW + 100, 1),
    async check(answer, { sessions }) {
      expect(answer).toBe(1);
      expect(await sessions.list(NOW)).toHaveLength(1);
      expect(await sessions.sweep(NOW + 99, 9)).toBe(0);
    },
  },
  {
    method: "sessions.sweepLinks",
    title: "deletes links that are over, at most so many",
    setup: signIn,
    act: ({ sessions }) => sessions.sweepLinks(NOW + 30, 2),
    async check(answer, { sessions }) {
      expect(answer).toBe(2);
      expect(await sessions.sweepLinks(NOW + 29, 9)).toBe(0);
      expect(await sessions.sweepLinks(NOW + 30, 9)).toBe(1);
    },
  },
];
