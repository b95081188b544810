// Cases of archived agents in the store of triggers.
import { expect } from "bun:test";
import { BEGIN } from "../support/runs.ts";
import { makeTrigger } from "../support/triggers.ts";
import type { Case } from "./cases.ts";
import { archive, archived, create, fill, manual, pause } from "./trigger-acts.ts";

export const triggerArchivingCases: readonly Case[] = [
  {
    method: "triggers.listArchived",
    title: "lists archived agents with a trigger that is not paused",
    async setup(stores) {
      await fill(stores);
      await create(stores, makeTrigger("t-4", { agent_id: "g-2" }));
      await archive(stores);
      await archive(stores, "g-2");
    },
    act: ({ triggers }) => triggers.listArchived(),
    async check(answer, { triggers }) {
      expect((answer as string[]).toSorted()).toEqual(["g-1", "g-2"]);
      await triggers.pauseArchived("g-1", BEGIN);
      expect(await triggers.listArchived()).toEqual(["g-2"]);
    },
  },
  {
    method: "triggers.pauseArchived",
    title: "pauses the active triggers of an archived agent",
    async setup(stores) {
      await fill(stores);
      await create(stores, makeTrigger("t-4", { agent_id: "g-2" }));
      await pause(stores, "t-1");
      await create(stores, makeTrigger("t-5"));
      await archive(stores);
    },
    act: ({ triggers }) => triggers.pauseArchived("g-1", BEGIN + 60_000),
    async check(answer, { triggers }) {
      expect(answer).toBe(2);
      const paused = { status: "paused", next_fire_at: null };
      expect(await triggers.find("t-5")).toMatchObject({
        ...{ ...paused, paused_reason: archived, updated_at: BEGIN + 60_000 },
      });
      expect(await triggers.find("t-2")).toMatchObject({ ...paused, paused_reason: archived });
      expect(await triggers.find("t-1")).toMatchObject({ ...paused, paused_reason: manual });
      for (const [id, agent_id] of [
        ["t-3", "g-3"],
        ["t-4", "g-2"],
      ]) {
        expect(await triggers.pauseArchived(agent_id!, BEGIN)).toBe(0);
        expect(await triggers.find(id!)).toMatchObject({ status: "active" });
      }
      expect(await triggers.pauseArchived("g-9", BEGIN)).toBe(0);
    },
  },
];
