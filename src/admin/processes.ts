// Processes on the same data: what they tell of themselves, and what they can be asked for.
import { type Static, Type } from "@sinclair/typebox";
import { PROCESSES, processStore } from "../cluster/index.ts";
import { activityStore } from "../inventory/index.ts";
import { settlesWithin } from "../platform/clock.ts";
import { maybe, oneOf } from "../platform/schema.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";

const STATES = ["serving", "draining", "drained", "skewed"] as const;

export const ListedProcess = Type.Object({
  epoch: Type.Integer({ description: "Number of the process, from 1; never used again." }),
  state: oneOf(
    STATES,
    "`drained`: it has handed over all, and can be ended. `skewed`: its clock is wrong.",
  ),
  address: maybe(Type.String({ description: "Its machine and port; null: not told yet." })),
  pid: maybe(Type.Integer({ description: "Its number on that machine; null: not told yet." })),
  version: maybe(Type.String({ description: "Version of its program; null: not told yet." })),
  schema: maybe(
    Type.Integer({ description: "Newest migration that it knows; null: not told yet." }),
  ),
  started_at: Type.String({ format: "date-time", description: "Start of the process." }),
  settings: maybe(
    Type.String({
      description:
        "Hash of its settings, without secrets and what belongs to a machine: processes with " +
        "the same settings have the same; null: not told yet.",
    }),
  ),
  settings_fault: maybe(
    Type.String({ description: "Why it refused its file at the last reload; null: it did not." }),
  ),
  is_reload_pending: Type.Boolean({ description: "It has not yet read its settings again." }),
  runs: Type.Integer({ description: "Runs that it holds." }),
  deliveries: Type.Integer({ description: "Webhook deliveries that it holds." }),
  leases: Type.Array(Type.String(), {
    description:
      "Work that one process does at a time and that it does now: `model server ID` while it " +
      "starts or stops that one, `sweeps`.",
  }),
});
export type ListedProcess = Static<typeof ListedProcess>;

export function createProcessAdmin({ database }: AdminDeps) {
  const processes = database.bind(processStore);
  const activity = database.bind(activityStore);
  const list = async (): Promise<ListedProcess[]> => {
    const leases = await activity.listLeases();
    return (await activity.listProcesses()).map((row) => ({
      epoch: row.epoch,
      state: STATES.find((one) => one === row.state) ?? "serving",
      address: row.address,
      pid: row.pid,
      version: row.version,
      schema: row.schema_number,
      started_at: new Date(row.started_at).toISOString(),
      settings: row.settings_hash,
      settings_fault: row.settings_fault,
      is_reload_pending: row.reloads_done < row.reloads_asked,
      runs: row.runs,
      deliveries: row.deliveries,
      leases: leases.filter(({ epoch }) => epoch === row.epoch).map(({ name }) => name),
    }));
  };
  const find = async (epoch: number) => (await list()).find((one) => one.epoch === epoch);
  const read = async (epoch: number, isAsked: boolean): Promise<ListedProcess> => {
    const row = isAsked && (await find(epoch));
    if (row) return row;
    const message = `there is no process ${epoch}: \`wadi processes list\` shows them`;
    throw new AdminError(message, "not found");
  };
  return {
    list,
    find,
    /** Asks a process to begin no more work and to hand over what it holds. */
    drain: async (epoch: number) => read(epoch, await processes.drain(epoch)),
    /** Takes that back. */
    undrain: async (epoch: number) => read(epoch, await processes.undrain(epoch)),
    async reload(): Promise<ListedProcess[]> {
      await processes.askReload();
      return list();
    },
  };
}

/** Maximum time until a process with the keys tells so; a dead one is noticed in that time. */
const KEYS_MS_MAX = 15_000;
const LOOK_EVERY_MS = 1_000;

/** Waits until every process has the secrets keys of these ids; names those that have not. */
export async function awaitKeys(
  { database, clock }: Pick<AdminDeps, "database" | "clock">,
  ids: readonly string[],
): Promise<string[]> {
  // Elsewhere all processes read the same file.
  if (database.engine !== "postgres") return [];
  const activity = database.bind(activityStore);
  const beganAt = clock.monotonic();
  let told = Promise.withResolvers<void>();
  const unlisten = database.listen(PROCESSES, () => told.resolve());
  try {
    await database.bind(processStore).askAbout();
    for (;;) {
      const rows = await activity.listProcesses();
      // Rows of programs that cannot tell have none.
      const lacking = rows.filter(
        ({ key_ids }) => key_ids !== null && !ids.every((id) => key_ids.split(",").includes(id)),
      );
      const names = lacking.map(({ epoch, address }) => `${epoch} (${address})`);
      if (names.length === 0 || clock.monotonic() - beganAt > KEYS_MS_MAX) return names;
      await settlesWithin(clock, LOOK_EVERY_MS, told.promise);
      told = Promise.withResolvers<void>();
    }
  } finally {
    unlisten();
  }
}
