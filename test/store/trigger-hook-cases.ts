// Cases of signed requests in the store of triggers.
import { expect } from "bun:test";
import { BEGIN } from "../support/runs.ts";
import { makeChange, makeFiring, makeHook } from "../support/triggers.ts";
import type { Case, Stores } from "./cases.ts";
import { ARCHIVED, archive, create, fill, found, manual } from "./trigger-acts.ts";

const hook = makeHook("t-2", { created_at: BEGIN + 1 });
const free = { ...found(hook), is_held: false };
const hold = ({ holds }: Stores, kind: "agent" | "account", id: string) =>
  holds.hold({ kind, id, account_id: "a-1", reason: null, since: BEGIN });

/** Fires the hook by message id; `fields` replace parts of the firing. */
const send = ({ triggers }: Stores, webhook_id: string, fields = {}) =>
  triggers.fire(
    makeFiring(
      `f-${webhook_id}`,
      "t-2",
      { source: "webhook", webhook_id, fired_by_key_id: null, ...fields },
      hook,
    ),
  );

export const triggerHookCases: Case[] = [
  {
    method: "triggers.findSigner",
    title: "returns the owner of a hook's signing secret, and nothing for other ids",
    setup: fill,
    act: ({ triggers }) =>
      Promise.all(["t-2", "t-1", "t-9", ""].map((id) => triggers.findSigner(id))),
    check: (answer) => expect(answer).toEqual(["a-1", null, null, null]),
  },
  {
    method: "triggers.findHook",
    title: "finds a hook, and nothing for a schedule or an unknown id",
    setup: fill,
    act: ({ triggers }) => Promise.all(["t-2", "t-1", "t-9"].map((id) => triggers.findHook(id))),
    check: (answer) => expect(answer).toEqual([free, undefined, undefined]),
  },
  {
    method: "triggers.findHook",
    title: "shows a hold on its agent, until it is released",
    async setup(stores) {
      await fill(stores);
      await hold(stores, "agent", "g-2");
    },
    async act(stores) {
      const read = async () => (await stores.triggers.findHook("t-2"))!.is_held;
      const states = [await read()];
      await hold(stores, "agent", "g-1");
      states.push(await read());
      await stores.holds.release("agent", "g-1");
      return [...states, await read()];
    },
    check: (answer) => expect(answer).toEqual([false, true, false]),
  },
  {
    method: "triggers.findHook",
    title: "shows a hold on its account",
    async setup(stores) {
      await fill(stores);
      await hold(stores, "account", "a-1");
    },
    act: ({ triggers }) => triggers.findHook("t-2"),
    check: (answer) => expect(answer).toEqual({ ...free, is_held: true }),
  },
  {
    method: "triggers.findHook",
    title: "shows that it is paused, and that its agent is archived",
    async setup(stores) {
      await fill(stores);
      const seen = { cron: null, time_zone: null };
      const turn = { to: "paused" as const, reason: manual };
      await stores.triggers.change(
        makeChange("t-2", { transition: turn, seen, next_fire_at: null }),
      );
      await archive(stores);
    },
    act: ({ triggers }) => triggers.findHook("t-2"),
    check: (answer) =>
      expect(answer).toMatchObject({ status: "paused", agent_archived_at: ARCHIVED }),
  },
  {
    method: "triggers.isHeld",
    title: "reports a hold on the trigger's agent or account, and no other",
    async setup(stores) {
      await fill(stores);
      await hold(stores, "agent", "g-3");
    },
    async act(stores) {
      const read = () => Promise.all(["t-1", "t-2", "t-3"].map((id) => stores.triggers.isHeld(id)));
      const states = [await read()];
      await hold(stores, "account", "a-1");
      states.push(await read());
      await stores.holds.release("account", "a-1");
      return [...states, await read(), await stores.triggers.isHeld("t-9")];
    },
    check: (answer) =>
      expect(answer).toEqual([
        ...[
          [false, false, true],
          [true, true, true],
          [false, false, true],
        ],
        false,
      ]),
  },
  {
    method: "triggers.fire",
    title: "writes nothing for a repeated request with the same outcome, but pauses again",
    setup: fill,
    async act(stores) {
      const error = { code: "permission_denied", message: "The key has ended." };
      const pause = { type: "key" as const, ...error, at: new Date(BEGIN).toISOString() };
      const refused = { ok: false as const, outcome: "refused" as const, error, pause };
      const states: unknown[] = [];
      for (const nth of [1, 2]) {
        const seen = { cron: null, time_zone: null };
        const turn = { to: "active" as const };
        const key_id = null;
        await stores.triggers.change(
          makeChange("t-2", { transition: turn, key_id, seen, next_fire_at: null }),
        );
        const fields = { fire_id: `f-${nth}`, event_id: `e-${nth}`, now: BEGIN + nth };
        const fired = await send(stores, "m-1", { prepared: refused, ...fields });
        const { status, last_fire_at } = (await stores.triggers.find("t-2"))!;
        states.push([fired.kind, status, last_fire_at! - BEGIN]);
      }
      return states;
    },
    async check(answer, { outbox }) {
      expect(answer).toEqual([
        ["fired", "paused", 1],
        ["fired", "paused", 1],
      ]);
      expect(await outbox.list("a-1")).toMatchObject([{ id: "e-1" }]);
    },
  },
  {
    method: "triggers.sweepFires",
    title: "keeps a repeated request from the time of its last outcome",
    async setup(stores) {
      await fill(stores);
      const error = { code: "agent_held", message: "It is held." };
      const held = { ok: false, outcome: "held", error, pause: null };
      await send(stores, "m-1", { prepared: held, now: BEGIN });
      await send(stores, "m-1", { event_id: "e-2", now: BEGIN + 9 });
    },
    act: ({ triggers }) => triggers.sweepFires(BEGIN + 9, 3),
    async check(answer, { triggers }) {
      expect(answer).toBe(0);
      const times = { created_at: BEGIN, ended_at: BEGIN + 9 };
      expect(await triggers.findRequested("t-2", "m-1")).toMatchObject({
        ...{ outcome: "started", ...times },
      });
      expect(await triggers.sweepFires(BEGIN + 10, 3)).toBe(1);
    },
  },
  {
    method: "triggers.findRequested",
    title: "finds a fire by the sender's message id, of its own trigger only",
    async setup(stores) {
      await fill(stores);
      await create(stores, makeHook("t-4", { name: "Other" }));
      await send(stores, "m-1");
    },
    act: ({ triggers }) =>
      Promise.all([
        triggers.findRequested("t-2", "m-1"),
        triggers.findRequested("t-2", "M-1"),
        triggers.findRequested("t-2", "m-2"),
        triggers.findRequested("t-4", "m-1"),
      ]),
    check(answer) {
      const [fire, ...others] = answer as unknown[];
      expect(fire).toMatchObject({ id: "f-m-1", outcome: "started", webhook_id: "m-1" });
      expect(others).toEqual([undefined, undefined, undefined]);
    },
  },
];
