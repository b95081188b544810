// Cases of the store of links to approvals.
import { expect } from "bun:test";
import type { LinkUse, StoredApprovalLink } from "../../src/access/approval-links/link.ts";
import type { StoredOperator } from "../../src/access/operators/operator.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

const noura: StoredOperator = {
  ...{ id: "o-noura", name: "noura", role: "operator", token_hash: "hash of noura" },
  ...{ created_at: NOW, expires_at: null, revoked_at: null },
};

function makeLink(n: number, fields: Partial<StoredApprovalLink> = {}): StoredApprovalLink {
  return {
    ...{ id: `l-${n}`, token_hash: `link ${n}`, session_hash: null, operator_id: "o-noura" },
    ...{ account_id: "a-1", approval_id: null, person: "Finance desk" },
    ...{ user_agent: null, address: "", created_at: NOW + n, used_at: null },
    ...{ last_seen_at: NOW + n, expires_at: NOW + 100 },
    ...fields,
  };
}
const show = ({
  operator_id: _,
  token_hash: __,
  session_hash: ___,
  ...link
}: StoredApprovalLink) => ({ ...link, operator: "noura" });

function makeUse(n: number, now: number, session = `session ${n}`): LinkUse {
  const client = { user_agent: "Mozilla/5.0", address: "127.0.0.1" };
  return { token_hash: `link ${n}`, session_hash: session, ...client, now };
}

export const create = async ({ operators, approvalLinks }: Stores) => {
  await operators.create(noura);
  await approvalLinks.create(makeLink(1));
  await approvalLinks.create(makeLink(2, { account_id: "a-2", approval_id: "p-1" }));
};

export const approvalLinkCases: Case[] = [
  {
    method: "approval_links.create",
    title: "stores a link, found with its operator by the token's hash",
    setup: ({ operators }) => operators.create(noura),
    act: ({ approvalLinks }) => approvalLinks.create(makeLink(1, { approval_id: "p-1" })),
    async check(_, { approvalLinks }) {
      const found = await approvalLinks.findUnopened("link 1");
      expect(found).toMatchObject({
        ...{ id: "o-noura", name: "noura", revoked_at: null },
        ...{ link_id: "l-1", person: "Finance desk", account_id: "a-1", approval_id: "p-1" },
        ...{ link_used_at: null, link_seen_at: NOW + 1, link_expires_at: NOW + 100 },
      });
      expect(found).not.toHaveProperty("token_hash");
    },
  },
  {
    method: "approval_links.findUnopened",
    title: "finds no link by another hash, and none by that of an operator",
    setup: create,
    act: ({ approvalLinks }) =>
      Promise.all(["link 3", "hash of noura"].map((hash) => approvalLinks.findUnopened(hash))),
    check: (answer) => expect(answer).toEqual([undefined, undefined] as never),
  },
  {
    method: "approval_links.find",
    title: "finds a link by its session, from when it is opened",
    setup: create,
    act: ({ approvalLinks }) => approvalLinks.find("session 1"),
    async check(answer, { approvalLinks, operators }) {
      expect(answer).toBeUndefined();
      await approvalLinks.open(makeUse(1, NOW + 5));
      expect(await approvalLinks.find("link 1")).toBeUndefined();
      const opened = { link_id: "l-1", link_used_at: NOW + 5, link_seen_at: NOW + 5 };
      expect(await approvalLinks.find("session 1")).toMatchObject(opened);
      await operators.revoke("noura", NOW + 6);
      expect(await approvalLinks.find("session 1")).toMatchObject({ revoked_at: NOW + 6 });
    },
  },
  {
    method: "approval_links.open",
    title: "opens a link once, also for two at once",
    setup: create,
    act: ({ approvalLinks }) =>
      Promise.all(["x", "y"].map((name) => approvalLinks.open(makeUse(1, NOW + 5, name)))),
    async check(answer, { approvalLinks }) {
      expect((answer as boolean[]).toSorted()).toEqual([false, true]);
      const both = await Promise.all(["x", "y"].map((name) => approvalLinks.find(name)));
      expect(both.filter((one) => one !== undefined)).toHaveLength(1);
      expect(await approvalLinks.findUnopened("link 2")).toMatchObject({ link_used_at: null });
    },
  },
  {
    method: "approval_links.open",
    title: "opens none that is over or unknown",
    setup: create,
    act: ({ approvalLinks }) => approvalLinks.open(makeUse(1, NOW + 100)),
    async check(answer, { approvalLinks }) {
      expect(answer).toBe(false);
      expect(await approvalLinks.open(makeUse(9, NOW))).toBe(false);
      expect(await approvalLinks.findById("l-1")).toEqual(show(makeLink(1)));
    },
  },
  {
    method: "approval_links.findById",
    title: "finds a link without its hashes",
    setup: create,
    act: ({ approvalLinks }) => approvalLinks.findById("l-1"),
    async check(answer, { approvalLinks }) {
      expect(answer).toEqual(show(makeLink(1)));
      expect(await approvalLinks.findById("l-9")).toBeUndefined();
    },
  },
  {
    method: "approval_links.list",
    title: "lists what is in force, the last seen first",
    setup: create,
    act: ({ approvalLinks }) => approvalLinks.list(NOW),
    async check(answer, { approvalLinks, operators }) {
      const second = makeLink(2, { account_id: "a-2", approval_id: "p-1" });
      expect(answer).toEqual([show(second), show(makeLink(1))]);
      await approvalLinks.noteSeen("l-1", NOW + 2);
      expect((await approvalLinks.list(NOW)).map(({ id }) => id)).toEqual(["l-2", "l-1"]);
      expect(await approvalLinks.list(NOW + 100)).toEqual([]);
      await operators.revoke("noura", NOW + 6);
      expect(await approvalLinks.list(NOW)).toEqual([]);
    },
  },
  {
    method: "approval_links.noteSeen",
    title: "notes the time of one link's last request",
    setup: create,
    act: ({ approvalLinks }) => approvalLinks.noteSeen("l-1", NOW + 50),
    async check(_, { approvalLinks }) {
      const found = await approvalLinks.list(NOW);
      expect(found.map(({ last_seen_at }) => last_seen_at)).toEqual([NOW + 50, NOW + 2]);
    },
  },
  {
    method: "approval_links.end",
    title: "ends a link, and returns what has ended",
    setup: create,
    act: ({ approvalLinks }) => approvalLinks.end("l-1"),
    async check(answer, { approvalLinks }) {
      expect(answer).toEqual(show(makeLink(1)));
      expect(await approvalLinks.findUnopened("link 1")).toBeUndefined();
      expect(await approvalLinks.end("l-1")).toBeUndefined();
      expect(await approvalLinks.list(NOW)).toHaveLength(1);
    },
  },
  {
    method: "approval_links.sweep",
    title: "deletes links that are over, at most so many",
    async setup(stores) {
      await create(stores);
      await stores.approvalLinks.create(makeLink(3, { expires_at: NOW + 101 }));
    },
    act: ({ approvalLinks }) => approvalLinks.sweep(NOW + 100, 1),
    async check(answer, { approvalLinks }) {
      expect(answer).toBe(1);
      expect(await approvalLinks.sweep(NOW + 100, 9)).toBe(1);
      expect((await approvalLinks.list(0)).map(({ id }) => id)).toEqual(["l-3"]);
    },
  },
  {
    method: "account_deletions.begin",
    title: "deletes the links to approvals of the account, and no other ones",
    setup: create,
    act: ({ accountDeletions }) =>
      accountDeletions.begin({ account_id: "a-1", name: "acme", begun_at: NOW }),
    async check(_, { approvalLinks }) {
      expect((await approvalLinks.list(NOW)).map(({ id }) => id)).toEqual(["l-2"]);
    },
  },
];
