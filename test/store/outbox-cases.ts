// Cases of the outbox.
import { expect } from "bun:test";
import { BEGIN } from "../support/runs.ts";
import { MANY, makeEndpoint, makeFan, sealOf } from "../support/webhooks.ts";
import type { Case, Stores } from "./cases.ts";
import { start } from "./run-acts.ts";

/** Writes events of runs cancelled at these times. */
const happen = async (stores: Stores, moments: readonly number[], account_id = "a-1") => {
  for (const at of moments) {
    const id = `${account_id} at ${at}`;
    await start(stores, id, { account_id });
    await stores.runs.cancel(id, null, [`event of ${id}`], BEGIN + at);
  }
};
const momentsOf = async ({ outbox }: Stores, account_id = "a-1") =>
  (await outbox.list(account_id)).map(({ created_at }) => created_at - BEGIN);

/** Adds an endpoint for each account. */
const listen = async (stores: Stores, account_ids: readonly string[]) => {
  await stores.secrets.claim("k-1");
  for (const account_id of account_ids) {
    const row = makeEndpoint(`w of ${account_id}`, { account_id });
    await stores.webhooks.create(row, sealOf(row), { ...makeFan(0), endpointsMax: MANY });
  }
};

export const outboxCases: readonly Case[] = [
  {
    method: "outbox.list",
    title: "shows an account's events in the order in which they happened",
    async setup(stores) {
      await happen(stores, [5, 1, 3]);
      await happen(stores, [2], "a-2");
    },
    act: (stores) => Promise.all([momentsOf(stores), momentsOf(stores, "a-2")]),
    check: (answer) => expect(answer).toEqual([[1, 3, 5], [2]]),
  },
  {
    method: "outbox.listWaiting",
    title: "lists accounts with endpoints that still lack events",
    async setup(stores) {
      await listen(stores, ["a-1", "a-2", "a-3"]);
      await happen(stores, [1, 2]);
      await happen(stores, [3], "a-2");
      await happen(stores, [4], "a-4");
    },
    act: async ({ outbox }) => (await outbox.listWaiting()).toSorted(),
    async check(answer, { outbox, webhooks }) {
      expect(answer).toEqual(["a-1", "a-2"]);
      await webhooks.fanOut("a-1", makeFan(1));
      expect(await outbox.listWaiting()).toEqual(["a-2"]);
    },
  },
  {
    method: "outbox.sweep",
    title: "deletes the oldest before a given time, up to a limit",
    setup: (stores) => happen(stores, [1, 2, 3, 4]),
    act: ({ outbox }) => outbox.sweep(BEGIN + 4, 2),
    async check(answer, stores) {
      expect(answer).toBe(2);
      expect(await momentsOf(stores)).toEqual([3, 4]);
      expect(await stores.outbox.sweep(BEGIN + 4, 2)).toBe(1);
      expect(await stores.outbox.sweep(BEGIN + 4, 2)).toBe(0);
      expect(await momentsOf(stores)).toEqual([4]);
    },
  },
  {
    method: "outbox.sweep",
    title: "keeps events of any age that an endpoint still lacks",
    async setup(stores) {
      await happen(stores, [1]);
      await listen(stores, ["a-1"]);
      await happen(stores, [2, 3]);
    },
    act: ({ outbox }) => outbox.sweep(BEGIN + 9, 5),
    async check(answer, stores) {
      expect(answer).toBe(1);
      expect(await momentsOf(stores)).toEqual([2, 3]);
      await stores.webhooks.fanOut("a-1", makeFan(1));
      expect(await stores.outbox.sweep(BEGIN + 9, 5)).toBe(2);
    },
  },
  {
    method: "runs.cancel",
    title: "announces its event where the account has an endpoint, and nowhere else",
    setup: (stores) => listen(stores, ["a-1"]),
    async act(stores) {
      await happen(stores, [1]);
      await happen(stores, [2], "a-2");
    },
    check: async (_, { outbox }) => expect(await outbox.listWaiting()).toEqual(["a-1"]),
  },
];
