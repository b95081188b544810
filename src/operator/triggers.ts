// Triggers of whichever account as the operator sees, pauses and resumes them.
import { Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import { Resource } from "../platform/shape.ts";
import { type DescribedTrigger, type Fire, Trigger, type TriggerBook } from "../triggers/index.ts";
import { nameAccounts } from "./accounts.ts";
import { readId } from "./ids.ts";
import { explainRefusal, OperatorProblem } from "./problem.ts";

const { input: _input, ...listed } = Trigger.properties;
const account = Type.String({ description: "The owner's name." });

/** A trigger and whose it is. */
export const OwnedTrigger = Resource("OwnedTrigger", { account, ...Trigger.properties });
/** Without what its runs are asked, which may be long. */
export const ListedTrigger = Resource("ListedTrigger", { account, ...listed });

export interface TriggerVerbsOptions {
  access: Pick<Access, "accounts">;
  triggers: TriggerBook;
  requireAccount(name: string): Promise<Account>;
}

const VERB = "wadi triggers list";

export function createTriggerVerbs({ access, triggers, requireAccount }: TriggerVerbsOptions) {
  const own = async (trigger: DescribedTrigger) => {
    const names = await nameAccounts(access);
    return { ...trigger, account: names.get(trigger.account_id)! };
  };
  const require = async (typed: string): Promise<DescribedTrigger> => {
    const id = readId(typed, "trigger's id", VERB);
    return (await triggers.find(id)) ?? refuseUnknownId(id);
  };
  /** `was_so`: it stood so before, and is unchanged. */
  const turn = async (typed: string, status: Trigger["status"], act: TriggerBook["pause"]) => {
    const found = await require(typed);
    if (found.status === status) return { trigger: await own(found), was_so: true };
    const turned = await explainRefusal(() => act(found.id));
    return { trigger: await own(turned ?? refuseUnknownId(found.id)), was_so: false };
  };
  return {
    /** Newest first; of one account, or of all. */
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
    /** It fires no more. */
    pause: (typed: string) => turn(typed, "paused", triggers.pause),
    /** Its runs act for the key that they acted for. */
    resume: (typed: string) => turn(typed, "active", triggers.resume),
  };
}

function refuseUnknownId(id: string): never {
  throw new OperatorProblem(`there is no trigger "${id}": see \`${VERB}\``);
}
