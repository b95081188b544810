// Triggers of every account: list, show, fires, pause, resume.
import { Type } from "@sinclair/typebox";
import { Resource } from "../platform/schema.ts";
import { createTriggerQueries, type Fire, Trigger } from "../triggers/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { explainApiError, requireById, unknownId } from "./errors.ts";

const { input: _input, ...listed } = Trigger.properties;
const account = Type.String({ description: "The owner's name." });

export const OwnedTrigger = Resource("OwnedTrigger", { account, ...Trigger.properties });
/** The input of its runs may be long and is left out. */
export const ListedTrigger = Resource("ListedTrigger", { account, ...listed });

export function createTriggerAdmin({ database, clock }: AdminDeps, directory: AccountDirectory) {
  const triggers = createTriggerQueries({ database, clock });
  const require = (typed: string) => requireById("trigger", typed, triggers.find);
  const setStatus = async (typed: string, status: Trigger["status"]) => {
    const found = await require(typed);
    const { id } = found;
    if (found.status === status) {
      return { trigger: await directory.addName(found), isChanged: false };
    }
    const changed = await explainApiError(() => triggers.setStatus(id, status));
    const trigger = await directory.addName(changed ?? unknownId("trigger", id));
    return { trigger, isChanged: true };
  };
  return {
    list: (name: string | null) => directory.list(name, triggers.list),
    async find(id: string) {
      const found = await triggers.find(id);
      return found && directory.addName(found);
    },
    show: async (typed: string) => directory.addName(await require(typed)),
    async listFires(typed: string, limit: number): Promise<Fire[]> {
      const { id } = await require(typed);
      return triggers.listFires(id, limit);
    },
    pause: (typed: string) => setStatus(typed, "paused"),
    /** Runs keep acting for the trigger's key. */
    resume: (typed: string) => setStatus(typed, "active"),
  };
}
