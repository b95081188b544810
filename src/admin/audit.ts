// The audit log: who changed what, through what, and how it was before and after.
import { type AuditEntry, auditStore, type LinkScope } from "../access/index.ts";
import type { Database } from "../database/index.ts";
import { shorten } from "../platform/text.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";

/** Maximum characters of a state as JSON; a longer one is replaced by its length. */
const STATE_CHARACTERS_MAX = 16_384;
const ERROR_CHARACTERS_MAX = 500;

/** The person or program that acts. */
export interface Actor {
  kind: AuditEntry["actor_kind"];
  name: string;
  via: AuditEntry["via"];
  /** Approvals that the link of a teammate shows; undefined: the person acts as an operator. */
  scope?: LinkScope | undefined;
}

export interface NewChange {
  actor: Actor;
  operation: string;
  target: string | null;
  before: unknown;
}

export interface AuditSweepOptions {
  database: Database;
  settings(): Pick<Settings, "retention">;
}

export function createAuditLog({ database, clock, ids }: AdminDeps) {
  const audit = database.bind(auditStore);
  return {
    list: audit.list,
    /** Stores the entry of a change that begins now; the caller ends it once. */
    async begin({ actor, operation, target, before }: NewChange) {
      const entry: AuditEntry = {
        id: ids.uuid(),
        at: clock.now(),
        actor_kind: actor.kind,
        actor: actor.name,
        via: actor.via,
        operation,
        target,
        outcome: "begun",
        state_before: bound(before),
        state_after: null,
        error: null,
      };
      await audit.begin(entry);
      return {
        end: (known: string | null, after: unknown) =>
          audit.end({ ...entry, target: known, outcome: "done", state_after: bound(after) }),
        fail(failure: unknown) {
          const error = shorten(explain(failure), ERROR_CHARACTERS_MAX);
          return audit.end({ ...entry, outcome: "failed", error });
        },
      };
    },
  };
}

export type AuditLog = ReturnType<typeof createAuditLog>;

export function createAuditSweeps({ database, settings }: AuditSweepOptions): Sweep[] {
  const audit = database.bind(auditStore);
  return [
    {
      what: "entries of the audit log",
      async run(now, isStopping) {
        const keepMs = settings().retention.audit;
        if (keepMs === null) return 0;
        return sweepRows(isStopping, (limit) => audit.sweep(now - keepMs, limit));
      },
    },
  ];
}

function explain(failure: unknown): string {
  if (failure instanceof AdminError) return failure.recorded;
  return failure instanceof Error ? failure.message : String(failure);
}

function bound(state: unknown): unknown {
  if (state === null || state === undefined) return null;
  const characters = JSON.stringify(state).length;
  return characters <= STATE_CHARACTERS_MAX ? state : { omitted_characters: characters };
}
