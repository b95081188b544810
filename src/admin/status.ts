// The status of an installation: its server, data, models, and the work that waits.
import { type Static, Type } from "@sinclair/typebox";
import type { DatabaseLocation } from "../database/index.ts";
import { activityStore } from "../inventory/index.ts";
import { maybe } from "../platform/schema.ts";
import { isDoubtful, sweepStore } from "../retention/index.ts";
import { readExpiry } from "../settings/index.ts";
import { readFreeBytes } from "../storage/index.ts";
import type { AdminDeps, ServerState } from "./deps.ts";
import { Crash } from "./installation.ts";
import { createModelAdmin } from "./models.ts";
import { createPauseAdmin, InstallationState } from "./pause.ts";

const time = (description: string) => Type.String({ format: "date-time", description });
const count = (description: string) => Type.Integer({ description });

export const InstallationStatus = Type.Object({
  now: time("Time by the clock of the answering program."),
  version: Type.String({ description: "Version of the answering program." }),
  installation: InstallationState,
  server: maybe(
    Type.Object(
      {
        started_at: time("Start of the server."),
        uptime_ms: count("Milliseconds since then."),
        backups: maybe(
          Type.Object(
            {
              made_at: maybe(time("Time of the newest; null: none is known.")),
              failure: maybe(
                Type.String({ description: "Why the last try made none; null: it made one." }),
              ),
            },
            { description: "Backups on a timer; null: `backup.every` is 0." },
          ),
        ),
        certificate_expires_at: maybe(
          time("Last instant at which clients accept its certificate; null: it has none."),
        ),
      },
      { description: "The answering server; null: a command that only reads the database." },
    ),
  ),
  database: Type.Object(
    {
      kind: Type.String({ description: "`sqlite`, `postgres` or `memory`." }),
      name: Type.String({ description: "File, or host and database, without a password." }),
      bytes: maybe(Type.Integer({ description: "Size; null in memory." })),
      wal_bytes: maybe(Type.Integer({ description: "Size of its log; null: it has none." })),
      free_disk_bytes: maybe(
        Type.Integer({ description: "Free bytes of its disk; null: on another machine." }),
      ),
    },
    { description: "Where the data is." },
  ),
  models: Type.Array(
    Type.Object({
      id: Type.String({ description: "Id that callers send." }),
      state: Type.String({ description: "`on`, `off` or `blocked`." }),
      replicas: count("Servers of the model."),
      healthy_replicas: maybe(Type.Integer({ description: "Healthy ones; null: unknown." })),
    }),
    { description: "The models of the settings." },
  ),
  runs: Type.Object(
    {
      queued: count("Runs that wait for their turn."),
      running: count("Runs under way."),
      waiting_approval: count("Runs that wait for a person."),
      suspects: count("Runs under way whose processes crashed twice without progress."),
    },
    { description: "Unfinished runs." },
  ),
  approvals: Type.Object(
    {
      pending: count("Calls that wait for a decision."),
      oldest_requested_at: maybe(time("Request of the oldest; null: none waits.")),
      next_expires_at: maybe(time("Expiry of the next one to expire; null: none waits.")),
    },
    { description: "Undecided approvals." },
  ),
  webhooks: Type.Object(
    {
      waiting_deliveries: count("Deliveries that wait to be sent."),
      failing_endpoints: count("Enabled endpoints whose deliveries fail."),
      disabled_endpoints: count("Endpoints that were disabled since they failed."),
    },
    { description: "Webhooks." },
  ),
  clock: Type.Object(
    {
      is_doubtful: Type.Boolean({
        description: "The clock is over 7 days ahead of what was written last.",
      }),
      last_sweep_at: maybe(time("Last deletion of old rows; null: never.")),
    },
    { description: "The clock as the data judges it." },
  ),
  crash: maybe(Crash),
});
export type InstallationStatus = Static<typeof InstallationStatus>;

function writeBackups(state: ReturnType<ServerState["readBackups"]>) {
  return state && { made_at: writeKnown(state.made_at), failure: state.failure };
}

export function createStatusReader(deps: AdminDeps) {
  const { database, place, clock, server, installation } = deps;
  const { certificate } = deps.settings.server;
  const activity = database.bind(activityStore);
  const sweeps = database.bind(sweepStore);
  const models = createModelAdmin(deps);
  const pause = createPauseAdmin(deps);
  return async (): Promise<InstallationStatus> => {
    const [work, sweep, size] = [
      await activity.count(),
      await sweeps.find(),
      await database.measure(),
    ];
    const now = clock.now();
    const { version } = await installation.readVersion();
    return {
      now: writeTime(now),
      version,
      installation: await pause.readState(),
      server: server && {
        started_at: writeTime(now - server.uptimeMs()),
        uptime_ms: Math.round(server.uptimeMs()),
        backups: writeBackups(server.readBackups()),
        certificate_expires_at: certificate && writeTime(readExpiry(certificate)),
      },
      database: {
        kind: place.kind,
        name: namePlace(place),
        ...size,
        free_disk_bytes: readFreeBytes(place),
      },
      models: (await models.list()).map(({ id, state, replicas, healthy_replicas }) => {
        return { id, state, replicas, healthy_replicas };
      }),
      runs: {
        queued: work.runs.get("queued") ?? 0,
        running: work.runs.get("running") ?? 0,
        waiting_approval: work.runs.get("waiting_approval") ?? 0,
        suspects: work.suspects,
      },
      approvals: {
        pending: work.approvals.count,
        oldest_requested_at: writeKnown(work.approvals.oldest),
        next_expires_at: writeKnown(work.approvals.next),
      },
      webhooks: {
        waiting_deliveries: work.webhooks.waiting,
        failing_endpoints: work.webhooks.failing,
        disabled_endpoints: work.webhooks.disabled,
      },
      clock: {
        is_doubtful: isDoubtful(sweep, now),
        last_sweep_at: writeKnown(sweep.swept_at),
      },
      crash: installation.readCrash(),
    };
  };
}

function namePlace(place: DatabaseLocation): string {
  if (place.kind === "sqlite") return place.file;
  if (place.kind === "memory") return "memory";
  const { host, pathname } = new URL(place.url);
  return `${host}${pathname}`;
}

function writeTime(at: number): string {
  return new Date(at).toISOString();
}

const writeKnown = (at: number | null) => (at === null ? null : writeTime(at));
