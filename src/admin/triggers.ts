// Triggers of every account: list, show, fires, pause, resume.
import { Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import { Resource } from "../platform/schema.ts";
import {
  type DescribedTrigger,
  type Fire,
  Trigger,
  type TriggerQueries,
} from "../triggers/index.ts";
import { nameAccounts } from "./accounts.ts";
import { AdminError, explainRefusal, readId } from "./errors.ts";

const { input: _input, ...listed } = Trigger.properties;
const account = Type.String({ description: "The owner's name." });

/** A trigger and whose it is. */
export const OwnedTrigger = Resource("OwnedTrigger", { account, ...Trigger.properties });
/** Without the input of its runs, which may be long. */
export const ListedTrigger = Resource("ListedTrigger", { account, ...listed });

export interface TriggerAdminOptions {
  access: Pick<Access, "accounts">;
  triggers: TriggerQueries;
  requireAccount(name: string): Promise<Account>;
}

const VERB = "wadi triggers list";

export function createTriggerAdmin({ access, triggers, requireAccount }: TriggerAdminOptions) {
  const own = async (trigger: DescribedTrigger) => {
    const names = await nameAccounts(access);
    return { ...trigger, account: names.get(trigger.account_id)! };
  };
  const require = async (typed: string): Promise<DescribedTrigger> => {
    const id = readId(typed, "trigger's id", VERB);
    return (await triggers.find(id)) ?? refuseUnknownId(id);
  };
  /** Idempotent: `was_so` reports that nothing changed. */
  const turn = async (typed: string, status: Trigger["status"], act: TriggerQueries["pause"]) => {
    const found = await require(typed);
    if (found.status === status) return { trigger: await own(found), was_so: true };
    const turned = await explainRefusal(() => act(found.id));
    return { trigger: await own(turned ?? refuseUnknownId(found.id)), was_so: false };
  };
  return {
    /** Newest first. */
    async list(name: string | null) {
      const owner = name === null ? null : await requireAccount(name);
      const names = await nameAccounts(access);
      const found = await triggers.list(owner?.id ?? null);
      return found.map((one) => ({ ...one, account: names.get(one.account_id)! }));
    },
    show: async (typed: string) => own(await require(typed)),
    /** Newest first. */
    async listFires(typed: string, limit: number): Promise<Fire[]> {
      const { id } = await require(typed);
      return triggers.listFires(id, limit);
    },
    pause: (typed: string) => turn(typed, "paused", triggers.pause),
    /** Its runs keep acting for the trigger's key. */
    resume: (typed: string) => turn(typed, "active", triggers.resume),
  };
}

function refuseUnknownId(id: string): never {
  throw new AdminError(`there is no trigger "${id}": see \`${VERB}\``);
}
