// Cases of endpoints in the store of webhooks.
import { expect } from "bun:test";
import { BEGIN } from "../support/runs.ts";
import { makeEndpoint, makeFan, sealOf } from "../support/webhooks.ts";
import type { Case, Stores } from "./cases.ts";
import { codeOf } from "./run-acts.ts";
import {
  addEndpoint,
  deliver,
  fill,
  fillOne,
  LATER,
  miscounted,
  own,
  recordEvent,
  showDeliveries,
} from "./webhook-acts.ts";
import { settleNext } from "./webhook-sending-acts.ts";

const statusOf = async ({ webhooks }: Stores, id = "w-1") => {
  const { status, disabled_reason, disabled_at, pending_deliveries } = (await webhooks.find(id))!;
  return [status, disabled_reason, disabled_at, pending_deliveries];
};

/** An endpoint that failed, unchanged since it was made. */
const failed = (webhookId: string, reason: "gone" | "failing", updatedAt = BEGIN) => ({
  ...{ webhookId, reason, updatedAt },
});

const creationCases: Case[] = [
  {
    method: "webhooks.create",
    title: "stores an endpoint and its secret, and makes the account a listener",
    setup: ({ secrets }) => secrets.claim("k-1"),
    act: (stores) => addEndpoint(stores, "w-1", { description: "The order desk." }),
    async check(answer, { webhooks, secrets, sent }) {
      const row = makeEndpoint("w-1", { description: "The order desk." });
      expect(answer).toEqual({ kind: "ok", row });
      expect(await webhooks.find("w-1")).toEqual(row);
      expect(await secrets.find("webhook", "w-1")).toEqual(sealOf(row));
      expect(await sent.listeners()).toEqual(["a-1"]);
    },
  },
  {
    method: "webhooks.create",
    title: "refuses an endpoint above the account's limit, and stores no secret",
    setup: fill,
    act: async (stores) => [
      await codeOf(addEndpoint(stores, "w-4", {}, { endpointsMax: 2 })),
      await codeOf(addEndpoint(stores, "w-5", { account_id: "a-2" }, { endpointsMax: 2 })),
    ],
    async check(answer, { webhooks, secrets }) {
      expect(answer).toEqual(["endpoints_limit", "accepted"]);
      expect(await webhooks.find("w-4")).toBeUndefined();
      expect(await secrets.find("webhook", "w-4")).toBeUndefined();
    },
  },
  {
    method: "webhooks.create",
    title: "first fans out earlier events to existing endpoints, whatever the clock says",
    async setup(stores) {
      await fill(stores);
      await recordEvent(stores, "e-1", { at: BEGIN + 9_000 });
    },
    act: (stores) => addEndpoint(stores, "w-4"),
    async check(_, stores) {
      await recordEvent(stores, "e-2", { at: BEGIN - 9_000 });
      await stores.webhooks.fanOut("a-1", makeFan(2, { now: BEGIN + 200 }));
      expect(await showDeliveries(stores)).toEqual([
        ...["e-1 to w-1: pending", "e-1 to w-2: pending"],
        ...["e-2 to w-1: pending", "e-2 to w-2: pending", "e-2 to w-4: pending"],
      ]);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.create",
    title: "fans out a batch and creates nothing, until no event waits",
    async setup(stores) {
      await fill(stores);
      for (const id of ["e-1", "e-2", "e-3"]) await recordEvent(stores, id);
    },
    act: (stores) => addEndpoint(stores, "w-4", {}, { limit: 2 }),
    async check(answer, stores) {
      expect(answer).toEqual({ kind: "backlog" });
      expect(await stores.webhooks.find("w-4")).toBeUndefined();
      expect(await stores.secrets.find("webhook", "w-4")).toBeUndefined();
      expect(await showDeliveries(stores)).toHaveLength(4);
      const made = await addEndpoint(stores, "w-4", {}, { ...makeFan(3), limit: 2 });
      expect(made.kind).toBe("ok");
      expect(await showDeliveries(stores)).toHaveLength(6);
    },
  },
  {
    method: "webhooks.create",
    title: "stores nothing if a key rotation has overtaken its secret",
    setup: ({ secrets }) => secrets.claim("k-2"),
    act: (stores) => codeOf(addEndpoint(stores, "w-1")),
    async check(answer, { webhooks, sent }) {
      expect(answer).toBe("webhooks_unavailable");
      expect(await webhooks.find("w-1")).toBeUndefined();
      expect(await sent.listeners()).toEqual([]);
    },
  },
];

const changeCases: Case[] = [
  {
    method: "webhooks.update",
    title: "updates the fields of the request, and leaves the rest unchanged",
    setup: fill,
    act: ({ webhooks }) =>
      webhooks.update(own("w-1"), { url: "https://new.example.com" }, makeFan(1)),
    async check(answer, { webhooks }) {
      const row = makeEndpoint("w-1", {
        ...{ url: "https://new.example.com", updated_at: BEGIN + 100 },
      });
      expect(answer).toEqual({ kind: "ok", row });
      expect(await webhooks.find("w-1")).toEqual(row);
      const again = { url: "https://new.example.com", status: "enabled" } as const;
      const later = makeFan(2, { now: BEGIN + 200 });
      const nothing = { kind: "not_found" } as const;
      expect(await webhooks.update(own("w-1"), again, later)).toEqual({ kind: "ok", row });
      expect(await webhooks.update(own("w-1", "a-2"), again, later)).toEqual(nothing);
      expect(await webhooks.update(own("w-9"), again, later)).toEqual(nothing);
    },
  },
  {
    method: "webhooks.update",
    title: "first fans out earlier events by the old selection, then selects other kinds",
    async setup(stores) {
      await fill(stores);
      await recordEvent(stores, "e-1");
      await recordEvent(stores, "e-2", { type: "run.failed", at: BEGIN + 1 });
    },
    act: ({ webhooks }) => webhooks.update(own("w-1"), { events: ["run.failed"] }, makeFan(1)),
    async check(_, stores) {
      await recordEvent(stores, "e-3", { type: "run.failed", at: BEGIN + 2 });
      await recordEvent(stores, "e-4", { at: BEGIN + 3 });
      await stores.webhooks.fanOut("a-1", makeFan(2, { now: BEGIN + 200 }));
      const first = (await showDeliveries(stores)).filter((one) => one.includes("w-1"));
      expect(first).toEqual(["e-1 to w-1: pending", "e-3 to w-1: pending"]);
    },
  },
  {
    method: "webhooks.update",
    title: "needs no fan-out if only its URL or description changes",
    async setup(stores) {
      await fill(stores);
      await recordEvent(stores, "e-1");
      await recordEvent(stores, "e-2");
    },
    act: ({ webhooks }) => webhooks.update(own("w-1"), { description: "x" }, makeFan(1)),
    async check(answer, { webhooks, sent }) {
      expect(answer).toMatchObject({ kind: "ok", row: { description: "x" } });
      expect(await sent.waiting()).toHaveLength(2);
      const one = makeFan(1, { limit: 1 });
      expect(await webhooks.update(own("w-1"), { events: ["run.failed"] }, one)).toEqual({
        kind: "backlog",
      });
      expect(await sent.waiting()).toHaveLength(1);
      expect((await webhooks.find("w-1"))!.events).toEqual(["run.completed"]);
    },
  },
  {
    method: "webhooks.update",
    title: "disables an endpoint, and cancels waiting deliveries and events not yet fanned out",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 2);
      await recordEvent(stores, "e-3", { at: BEGIN + 3 });
    },
    act: ({ webhooks }) => webhooks.update(own("w-1"), { status: "disabled" }, makeFan(3)),
    async check(answer, stores) {
      expect(answer).toMatchObject({ row: { status: "disabled", pending_deliveries: 0 } });
      expect(await statusOf(stores)).toEqual(["disabled", "manual", BEGIN + 100, 0]);
      const all = await stores.sent.deliveries();
      for (const one of all.filter(({ webhook_id }) => webhook_id === "w-1")) {
        const over = { status: "cancelled", next_attempt_at: null, completed_at: BEGIN + 100 };
        expect(one).toMatchObject(over);
      }
      expect(
        (await showDeliveries(stores)).filter((one) => one.includes("w-1: cancelled")),
      ).toHaveLength(3);
      expect(
        (await showDeliveries(stores)).filter((one) => one.includes("w-2: pending")),
      ).toHaveLength(3);
      expect(await miscounted(stores)).toEqual([]);
      // The account's other endpoint keeps listening.
      expect(await stores.sent.listeners()).toEqual(["a-1", "a-2"]);
    },
  },
  {
    method: "webhooks.update",
    title: "enables an endpoint for later events, and resets its failures",
    async setup(stores) {
      await stores.secrets.claim("k-1");
      await addEndpoint(stores, "w-1");
      await stores.sent.failOften("w-1", BEGIN + 5);
      await stores.webhooks.update(own("w-1"), { status: "disabled" }, makeFan(1));
      await recordEvent(stores, "e-1");
    },
    act: ({ webhooks }) => webhooks.update(own("w-1"), { status: "enabled" }, makeFan(2)),
    async check(_, stores) {
      expect(await statusOf(stores)).toEqual(["enabled", null, null, 0]);
      expect(await stores.webhooks.find("w-1")).toMatchObject({ failures: 0, failing_since: null });
      expect(await stores.sent.listeners()).toEqual(["a-1"]);
      await recordEvent(stores, "e-2", { at: BEGIN - 1 });
      await stores.webhooks.fanOut("a-1", makeFan(3));
      expect(await showDeliveries(stores)).toEqual(["e-2 to w-1: pending"]);
    },
  },
  {
    method: "webhooks.update",
    title: "resets the failures when the URL changes, and only then",
    async setup(stores) {
      await fill(stores);
      for (const id of ["w-1", "w-2"]) await stores.sent.failOften(id, BEGIN + 5);
    },
    act: ({ webhooks }) =>
      webhooks.update(own("w-1"), { url: "https://new.example.com" }, makeFan(1)),
    async check(answer, { webhooks }) {
      expect(answer).toMatchObject({ row: { failures: 0, failing_since: null } });
      await webhooks.update(own("w-2"), { description: "x" }, makeFan(2));
      expect(await webhooks.find("w-2")).toMatchObject({ failures: 9, failing_since: BEGIN + 5 });
    },
  },
  {
    method: "webhooks.update",
    title: "forgets the last answer when the URL changes, and only then",
    async setup(stores) {
      await fillOne(stores);
      await settleNext(stores, "retry");
    },
    async act({ webhooks }) {
      await webhooks.update(own("w-1"), { description: "x" }, makeFan(7));
      const kept = await webhooks.find("w-1");
      await webhooks.update(own("w-1"), { url: "https://new.example.com" }, makeFan(8));
      return [kept, await webhooks.find("w-1")];
    },
    check(answer) {
      const error = "The endpoint answered 500.";
      expect(answer).toMatchObject([
        { last_answer_at: LATER + 7, last_answer_status: 500, last_answer_error: error },
        { last_answer_at: null, last_answer_status: null, last_answer_error: null },
      ]);
    },
  },
  {
    method: "webhooks.disable",
    title: "disables a failing endpoint with its reason; an account without one is no listener",
    async setup(stores) {
      await fill(stores);
      await stores.sent.tell({
        ...{ id: "e-1", account_id: "a-2", type: "run.completed", at: BEGIN, data: {} },
      });
    },
    act: ({ webhooks }) => webhooks.disable(failed("w-3", "gone"), makeFan(1)),
    async check(answer, stores) {
      expect(answer).toEqual({ kind: "ok" });
      expect(await statusOf(stores, "w-3")).toEqual(["disabled", "gone", BEGIN + 100, 0]);
      expect(await showDeliveries(stores)).toEqual(["e-1 to w-3: cancelled"]);
      expect(await stores.sent.listeners()).toEqual(["a-1"]);
      // A disabled or deleted endpoint stays unchanged.
      const { webhooks } = stores;
      const later = makeFan(2, { now: BEGIN + 500 });
      const disabled_at = BEGIN + 100;
      for (const one of [failed("w-3", "failing", disabled_at), failed("w-9", "failing")]) {
        expect(await webhooks.disable(one, later)).toEqual({ kind: "stale" });
      }
      expect(await statusOf(stores, "w-3")).toEqual(["disabled", "gone", BEGIN + 100, 0]);
    },
  },
  {
    method: "webhooks.disable",
    title: "fans out a batch and disables nothing while more events wait",
    async setup(stores) {
      await fill(stores);
      for (const id of ["e-1", "e-2"]) await recordEvent(stores, id);
    },
    act: ({ webhooks }) => webhooks.disable(failed("w-1", "failing"), makeFan(1, { limit: 1 })),
    async check(answer, stores) {
      expect(answer).toEqual({ kind: "backlog" });
      expect(await statusOf(stores)).toEqual(["enabled", null, null, 1]);
      const next = makeFan(2, { limit: 2 });
      expect(await stores.webhooks.disable(failed("w-1", "failing"), next)).toEqual({ kind: "ok" });
      expect(await statusOf(stores)).toEqual(["disabled", "failing", BEGIN + 100, 0]);
    },
  },
  {
    method: "webhooks.disable",
    title: "keeps an endpoint enabled that was changed or enabled since it failed",
    setup: fill,
    async act({ webhooks }) {
      await webhooks.update(own("w-1"), { description: "mended" }, makeFan(1));
      return webhooks.disable(failed("w-1", "gone"), makeFan(2));
    },
    async check(answer, stores) {
      expect(answer).toEqual({ kind: "stale" });
      expect(await statusOf(stores)).toEqual(["enabled", null, null, 0]);
    },
  },
];

const rotation = (fields: object = {}) => ({
  ...{ secret: { ...sealOf(own("w-1"), "another"), set_at: BEGIN + 7 }, seenNumber: 1 },
  ...{ previousExpiresAt: BEGIN + 70, ...fields },
});

const secretCases: Case[] = [
  {
    method: "webhooks.rotate",
    title: "replaces the secret, and returns until when both sign",
    setup: fill,
    act: ({ webhooks }) => webhooks.rotate(own("w-1"), rotation()),
    async check(answer, { webhooks, secrets }) {
      const row = makeEndpoint("w-1", {
        ...{ secret_number: 2, previous_secret_expires_at: BEGIN + 70, updated_at: BEGIN + 7 },
      });
      expect(answer).toEqual({ kind: "ok", row });
      expect(await webhooks.find("w-1")).toEqual(row);
      expect(await secrets.find("webhook", "w-1")).toEqual(rotation().secret);
      // Without an overlap the previous secret is deleted.
      const second = rotation({ seenNumber: 2, previousExpiresAt: null });
      expect(await webhooks.rotate(own("w-1"), second)).toMatchObject({
        row: { secret_number: 3, previous_secret_expires_at: null },
      });
    },
  },
  {
    method: "webhooks.rotate",
    title: "refuses a rotation from a stale secret, and another account's endpoint",
    async setup(stores) {
      await fill(stores);
      await stores.webhooks.rotate(own("w-1"), rotation());
    },
    act: async ({ webhooks }) => [
      await webhooks.rotate(
        own("w-1"),
        rotation({ secret: { ...rotation().secret, set_at: BEGIN + 9 } }),
      ),
      await webhooks.rotate(own("w-1", "a-2"), rotation({ seenNumber: 2 })),
      await webhooks.rotate(own("w-9"), rotation()),
    ],
    async check(answer, { webhooks, secrets }) {
      const kinds = (answer as { kind: string }[]).map(({ kind }) => kind);
      expect(kinds).toEqual(["stale", "not_found", "not_found"]);
      expect(await webhooks.find("w-1")).toMatchObject({ secret_number: 2, updated_at: BEGIN + 7 });
      expect(await secrets.find("webhook", "w-1")).toEqual(rotation().secret);
    },
  },
];

const readCases: Case[] = [
  {
    method: "webhooks.find",
    title: "finds an endpoint of any account",
    setup: fill,
    act: ({ webhooks }) => webhooks.find("w-3"),
    async check(answer, { webhooks }) {
      expect(answer).toEqual(makeEndpoint("w-3", { account_id: "a-2" }));
      expect(await webhooks.find("w-9")).toBeUndefined();
    },
  },
  {
    method: "webhooks.list",
    title: "lists newest first, for one account or all",
    async setup(stores) {
      await fill(stores);
      await addEndpoint(stores, "w-0", { created_at: BEGIN + 1 });
    },
    act: async ({ webhooks }) => (await webhooks.list("a-1")).map(({ id }) => id),
    async check(answer, { webhooks }) {
      expect(answer).toEqual(["w-0", "w-2", "w-1"]);
      const all = (await webhooks.list(null)).map(({ id }) => id);
      expect(all).toEqual(["w-0", "w-3", "w-2", "w-1"]);
    },
  },
];

const removalCases: Case[] = [
  {
    method: "account_deletions.begin",
    title: "lets no event of the account wait for its endpoints any more",
    setup: fill,
    act: ({ accountDeletions }) =>
      accountDeletions.begin({ account_id: "a-1", name: "acme", begun_at: 1 }),
    check: async (_, { sent }) => expect(await sent.listeners()).toEqual(["a-2"]),
  },
  {
    method: "webhooks.remove",
    title: "deletes the secret too, and leaves the deliveries to the sweep",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 1);
    },
    act: ({ webhooks }) => webhooks.remove("w-1", "a-1"),
    async check(answer, { webhooks, secrets, sent }) {
      expect(answer).toBe(true);
      expect(await webhooks.find("w-1")).toBeUndefined();
      expect(await secrets.find("webhook", "w-1")).toBeUndefined();
      expect(await sent.gone()).toEqual([{ id: "w-1" }]);
      expect(await sent.listeners()).toEqual(["a-1", "a-2"]);
      expect(await webhooks.remove("w-2", "a-1")).toBe(true);
      // An account without an endpoint is no listener.
      expect(await sent.listeners()).toEqual(["a-2"]);
      expect(await webhooks.remove("w-2", "a-1")).toBe(false);
    },
  },
  {
    method: "webhooks.remove",
    title: "leaves another account's unchanged",
    setup: fill,
    act: ({ webhooks }) => webhooks.remove("w-3", "a-1"),
    async check(answer, { webhooks, secrets }) {
      expect(answer).toBe(false);
      expect(await webhooks.find("w-3")).toBeDefined();
      expect(await secrets.find("webhook", "w-3")).toBeDefined();
    },
  },
];

export const webhookCases: readonly Case[] = [
  ...creationCases,
  ...changeCases,
  ...secretCases,
  ...removalCases,
  ...readCases,
];
