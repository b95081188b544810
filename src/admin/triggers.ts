// Triggers of every account: list, show, fires, pause, resume, fire, rotate.
import { Type } from "@sinclair/typebox";
import { createAgentQueries, createOperatorStarts } from "../agents/index.ts";
import { readOverlap } from "../crypto/index.ts";
import { maybe, Resource } from "../platform/schema.ts";
import {
  createTriggerActs,
  createTriggerQueries,
  type Fire,
  FireMark,
  Trigger,
} from "../triggers/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import { nameAgents } from "./agents.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { explainApiError, requireById, unknownId } from "./errors.ts";

const { input: _input, ...listed } = Trigger.properties;
const account = Type.String({ description: "The owner's name." });
const agent_name = maybe(Type.String({ description: "Name of the agent; null: it was deleted." }));
const { id, outcome, run_id, created_at } = FireMark.properties;
const recent_fires = Type.Array(Type.Object({ id, outcome, run_id, created_at }), {
  description: "Its last 20 fires, newest first.",
});

export const OwnedTrigger = Resource("OwnedTrigger", { account, ...Trigger.properties });
/** The input of its runs may be long and is left out. */
export const ListedTrigger = Type.Object({
  ...Resource("ListedTrigger", { account, agent_name, ...listed }).properties,
  recent_fires,
});
/** A trigger with the names of its agent and its key. */
export const NamedTrigger = Resource("NamedTrigger", {
  ...{ account, agent_name },
  key_name: maybe(Type.String({ description: "Name of its key; null: none, or deleted." })),
  ...Trigger.properties,
});

const MARKS = 20;

export function createTriggerAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { database, clock, access } = deps;
  const triggers = createTriggerQueries({ database, clock });
  const agents = createAgentQueries(database);
  const acts = createActs(deps);
  const require = (typed: string) => requireById("trigger", typed, triggers.find);
  type Found = Awaited<ReturnType<typeof require>>;

  const addNames = async (found: Found) => {
    const [named] = await nameAgents(agents, [await directory.addName(found)]);
    return { ...named!, key_name: (await access.keys.findById(found.key_id))?.name ?? null };
  };
  const setStatus = async (typed: string, status: Trigger["status"]) => {
    const found = await require(typed);
    if (found.status === status) {
      return { trigger: await directory.addName(found), isChanged: false };
    }
    const changed = await explainApiError(() => triggers.setStatus(found.id, status));
    const trigger = await directory.addName(changed ?? unknownId("trigger", found.id));
    return { trigger, isChanged: true };
  };

  return {
    async list(name: string | null) {
      const rows = await nameAgents(agents, await directory.list(name, triggers.list));
      const marks = await triggers.listMarks(
        rows.map((row) => row.id),
        MARKS,
      );
      const byTrigger = Map.groupBy(marks, (mark) => mark.trigger_id);
      return rows.map((row) => ({ ...row, recent_fires: byTrigger.get(row.id) ?? [] }));
    },
    async find(found: string) {
      const row = await triggers.find(found);
      return row && directory.addName(row);
    },
    show: async (typed: string) => addNames(await require(typed)),
    async listFires(typed: string, limit: number): Promise<Fire[]> {
      return triggers.listFires((await require(typed)).id, limit);
    },
    pause: (typed: string) => setStatus(typed, "paused"),
    /** Runs keep acting for the trigger's key. */
    resume: (typed: string) => setStatus(typed, "active"),
    /** The run acts for the trigger's key, and its row names the operator. */
    async fire(typed: string, operator: string): Promise<Fire> {
      const found = await require(typed);
      return explainApiError(() => acts.fire(found.id, operator));
    },
    /** Returns the new secret, which is not kept; the former one stays valid for a while. */
    async rotate(typed: string, overlap_seconds: number | undefined) {
      const found = await require(typed);
      const overlapMs = readOverlap({ overlap_seconds: overlap_seconds ?? null });
      const rotated = await explainApiError(() =>
        acts.rotate(found.id, found.account_id, overlapMs),
      );
      return { trigger: await addNames(rotated.trigger), secret: rotated.secret };
    },
  };
}

function createActs(deps: AdminDeps) {
  const disk = openDisk(deps);
  const { prepare: prepareRun } = createOperatorStarts({ ...deps, disk });
  return createTriggerActs({ ...deps, prepareRun, disk });
}
