// The pause of a restored installation, and its end: what then starts, and what is overdue.
import { type Static, Type } from "@sinclair/typebox";
import { installationStore } from "../installation/index.ts";
import { activityStore } from "../inventory/index.ts";
import { maybe } from "../platform/schema.ts";
import { createTriggerQueries } from "../triggers/index.ts";
import type { AdminDeps } from "./deps.ts";

const count = (description: string) => Type.Integer({ description });
const time = (description: string) => Type.String({ format: "date-time", description });

export const InstallationState = Type.Object(
  {
    id: Type.String({ description: "Identity; a restored copy has another." }),
    restored_from: maybe(
      Type.String({ description: "Identity in its backup; null: it was not restored." }),
    ),
    restored_at: maybe(time("When it was restored.")),
    paused_at: maybe(
      time("Since then nothing starts before `wadi resume`; null: it is not paused."),
    ),
  },
  { description: "The installation, and whether it is paused." },
);
type InstallationState = Static<typeof InstallationState>;

export const Resumption = Type.Object({
  was_paused: Type.Boolean({ description: "False: it was not paused, and nothing has changed." }),
  queued_runs: count("Runs that wait for their turn, which start now."),
  interrupted_runs: count("Runs that had begun, which continue now."),
  waiting_deliveries: count("Webhook deliveries that wait, of which the due ones are sent now."),
  pending_approvals: count("Calls that wait for a person's decision."),
  overdue: Type.Array(
    Type.Object({
      trigger_id: Type.String({ description: "Id of the trigger." }),
      name: Type.String({ description: "Its name." }),
      due_at: time("Its first instant that has passed."),
      instants: count("Instants that have passed, at least."),
      fires: Type.Boolean({
        description: "True: the latest one fires now; false: all are missed.",
      }),
    }),
    { description: "Triggers whose instants have passed." },
  ),
});
export type Resumption = Static<typeof Resumption>;

export function createPauseAdmin({ database, clock }: AdminDeps) {
  const installation = database.bind(installationStore);
  const activity = database.bind(activityStore);
  const triggers = createTriggerQueries({ database, clock });
  return {
    async readState(): Promise<InstallationState> {
      const { id, restored_from, restored_at, paused_at } = await installation.find();
      return {
        ...{ id, restored_from },
        restored_at: writeTime(restored_at),
        paused_at: writeTime(paused_at),
      };
    },
    async resume(): Promise<Resumption> {
      // Counted before, because what waits starts at once.
      const { runs, approvals, webhooks } = await activity.count();
      const overdue = await triggers.listOverdue();
      const was_paused = await installation.resume();
      return {
        was_paused,
        queued_runs: runs.get("queued") ?? 0,
        interrupted_runs: runs.get("running") ?? 0,
        waiting_deliveries: webhooks.waiting,
        pending_approvals: approvals.count,
        overdue: overdue.map(({ due_at, ...trigger }) => ({
          ...trigger,
          due_at: new Date(due_at).toISOString(),
        })),
      };
    },
  };
}

const writeTime = (at: number | null) => (at === null ? null : new Date(at).toISOString());
