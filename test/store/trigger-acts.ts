// Acts shared by the cases of the store of triggers.
import type { ChangeResult } from "../../src/triggers/store/change.ts";
import type { TriggerFilter } from "../../src/triggers/store/lookup.ts";
import type { FoundTrigger, PausedReason, TriggerRow } from "../../src/triggers/trigger.ts";
import { BEGIN } from "../support/runs.ts";
import { makeChange, makeHook, makeTrigger, sealTrigger } from "../support/triggers.ts";
import { create as createAgent } from "./agent-cases.ts";
import type { Stores } from "./cases.ts";

const MANY = 100;
export const ARCHIVED = BEGIN + 5;
export const archived: PausedReason = {
  ...{ type: "agent", code: "agent_archived", message: "The agent is archived." },
  at: new Date(ARCHIVED).toISOString(),
};
export const manual: PausedReason = {
  ...{ type: "manual", code: null, message: "It was paused by its owner." },
  at: new Date(BEGIN + 30_000).toISOString(),
};

export const found = (row: TriggerRow): FoundTrigger => ({ ...row, agent_archived_at: null });
/** The result of a change or a rotation. */
export const changed = (row: TriggerRow): ChangeResult => ({ kind: "ok", trigger: found(row) });
export const create = ({ triggers }: Stores, row: TriggerRow, triggers_max = MANY) =>
  triggers.create(row, row.kind === "webhook" ? sealTrigger(row) : null, triggers_max);
export const archive = ({ agents }: Stores, id = "g-1") =>
  agents.update(id, "a-1", { status: "archived" }, ARCHIVED, 1_000);
export const pause = ({ triggers }: Stores, id: string) =>
  triggers.change(makeChange(id, { transition: { to: "paused", reason: manual } }));
export const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

export const addAgents = async (stores: Stores) => {
  await stores.secrets.claim("k-1");
  await createAgent(stores, "g-1");
  await createAgent(stores, "g-2");
  await createAgent(stores, "g-3", { account_id: "a-2" });
};
/** Adds a schedule and a hook of one account, and a schedule of another. */
export const fill = async (stores: Stores) => {
  await addAgents(stores);
  await create(stores, makeTrigger("t-1"));
  await create(stores, makeHook("t-2", { created_at: BEGIN + 1 }));
  await create(stores, makeTrigger("t-3", { account_id: "a-2", agent_id: "g-3" }));
};

export const listFires = ({ triggers }: Pick<Stores, "triggers">, trigger_id: string) =>
  triggers.listFires({ ...every, trigger_id, outcome: null });

/** Every trigger of the account. */
export const every: TriggerFilter = { account_id: "a-1", before: null, limit: 100 };
