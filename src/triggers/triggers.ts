// Makes, changes, rotates and deletes triggers, and keeps the secrets of their hooks in the box.
import type { Caller } from "../access/index.ts";
import { createSecretPairs, makeSigningSecret } from "../crypto/index.ts";
import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import type { TriggersDeps } from "./deps.ts";
import type { NewTrigger, TriggerPatch } from "./input.ts";
import { findNext } from "./next-fire.ts";
import type { TriggerChange, TriggerFields } from "./store/change.ts";
import { triggerStore } from "./store/index.ts";
import type { FoundTrigger, PausedReason, TriggerRow } from "./trigger.ts";
import { readTimed, readTimedChange, requireOwnSecret } from "./validation.ts";

/** Whose a trigger becomes, and the key that its runs act for. */
export interface TriggerOwner {
  account_id: string;
  key_id: string;
}

/** Who asks; `account_id` null: a key without an owner, of whom nothing is. */
type Asking = Pick<Caller, "account_id" | "key_id">;

/** `secret`: shown this once; null: of kind cron. */
export interface MadeTrigger {
  trigger: FoundTrigger;
  secret: string | null;
}

const BY_ITS_OWNER = "It was paused by its owner.";

/** `account_id` null, of a key without an owner: nothing is its own. */
export function createTriggers({
  database,
  secrets,
  clock,
  ids,
}: Pick<TriggersDeps, "database" | "secrets" | "clock" | "ids">) {
  const store = database.bind(triggerStore);
  const pairs = createSecretPairs(secrets);
  /** agents.errors.trigger_not_found, agents.authentication.6 */
  const require = async (id: string, account_id: string | null): Promise<FoundTrigger> => {
    const found = await store.find(id);
    if (!found || found.account_id !== account_id) throw apiError("trigger_not_found");
    return found;
  };
  return {
    require,
    list: store.list,
    listFires: store.listFires,
    /** agents.does.trigger, agents.resources.trigger */
    async create(
      owner: TriggerOwner,
      body: NewTrigger,
      triggers_max: number,
    ): Promise<MadeTrigger> {
      const timed = readTimed(body);
      requireOwnSecret(body.kind, body.secret ?? null);
      const [id, now] = [ids.uuid(), clock.now()];
      const { agent_id, kind, overlap = "skip", thread_id = null } = body;
      const row: TriggerRow = {
        ...{ id, ...owner, name: body.name.toWellFormed(), agent_id, kind, ...timed },
        ...{ overlap, thread_id, input: readInput(body.input) },
        ...{ status: "active", paused_reason: null, next_fire_at: findNext(timed, now) },
        ...{ last_fire_at: null, previous_secret_expires_at: null },
        ...{ secret_number: 0, secret_key_id: owner.key_id },
        ...{ created_at: now, updated_at: now },
      };
      if (kind === "cron") {
        return { trigger: await store.create(row, null, triggers_max), secret: null };
      }
      const secret = body.secret ?? makeSigningSecret();
      const about = describeSecret(row, now);
      // agents.errors.triggers_unavailable: the box refuses.
      const trigger = await pairs.store(about, secret, (sealed) =>
        store.create(row, sealed, triggers_max),
      );
      return { trigger, secret };
    },
    async change(id: string, { account_id, key_id }: Asking, body: TriggerPatch) {
      const found = await require(id, account_id);
      const fields: TriggerFields = readTimedChange(found.kind, body);
      if (body.name !== undefined) fields.name = body.name.toWellFormed();
      if (body.overlap !== undefined) fields.overlap = body.overlap;
      if (body.input !== undefined) fields.input = readInput(body.input);
      const { status = null } = body;
      const wish = { status, fields, key_id, reason: BY_ITS_OWNER };
      return changeStatus({ store, clock }, found, wish);
    },
    /** Two at once: one secret holds beside the other, and none is lost. */
    async rotate(
      id: string,
      { account_id, key_id }: Asking,
      overlap_ms: number,
    ): Promise<MadeTrigger> {
      for (;;) {
        const found = await require(id, account_id);
        if (found.kind === "cron") {
          const message = "Only a trigger of the kind `webhook` has a secret.";
          throw apiError("invalid_request", { message });
        }
        const secret = makeSigningSecret();
        const about = describeSecret(found, clock.now());
        const wish = { secret, overlap_ms };
        const trigger = await pairs.rotate(about, wish, (sealed, expires_at) =>
          store.rotate({
            ...{ id, account_id: found.account_id, seen_number: found.secret_number, sealed },
            ...{ key_id, previous_secret_expires_at: expires_at },
          }),
        );
        if (trigger) return { trigger, secret };
        // Somebody else's came first: what this one found in the box is not current any more.
        if (trigger === undefined) throw apiError("trigger_not_found");
      }
    },
    async remove(id: string, account_id: string | null): Promise<void> {
      const { account_id: ownerId } = await require(id, account_id);
      if (!(await store.remove(id, ownerId))) throw apiError("trigger_not_found");
    },
  };
}
export type Triggers = ReturnType<typeof createTriggers>;

export interface StatusChange {
  /** null: as it is. */
  status: TriggerRow["status"] | null;
  fields: TriggerFields;
  /** For whom its runs act where it is resumed, or asks something else; null: for whom they did. */
  key_id: string | null;
  /** What is said of a pause. */
  reason: string;
}

/** Changes, pauses or resumes a trigger: its next fire is then reckoned from now. */
export async function changeStatus(
  { store, clock }: { store: Pick<Bound<typeof triggerStore>, "change" | "find">; clock: Clock },
  trigger: FoundTrigger,
  { status, fields, key_id, reason }: StatusChange,
): Promise<FoundTrigger> {
  const { id, account_id } = trigger;
  for (let found: FoundTrigger | undefined = trigger; found; found = await store.find(id)) {
    const now = clock.now();
    const { cron, time_zone } = found;
    const given: TriggerChange = {
      ...{ id, account_id, fields, key_id, now, seen: { cron, time_zone } },
      turn:
        status === "paused"
          ? { to: status, reason: explainPause(reason, now) }
          : status && { to: status },
      next_fire_at: findNext({ cron, time_zone, ...fields }, now),
    };
    const changed = await store.change(given);
    if (changed) return changed;
    if (changed === undefined) break;
  }
  throw apiError("trigger_not_found");
}

/** agents.states.p12 */
function explainPause(message: string, now: number): PausedReason {
  return { type: "manual", code: null, message, at: new Date(now).toISOString() };
}

function describeSecret({ id, account_id }: TriggerRow, set_at: number) {
  return { kind: "trigger" as const, row_id: id, account_id, set_at };
}

function readInput(input: NewTrigger["input"]): TriggerRow["input"] {
  return input ? { message: input.message.toWellFormed() } : null;
}
