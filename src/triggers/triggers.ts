// Creates, changes, rotates and deletes triggers, stores the secrets of their hooks, and serves
// operators.
import type { Caller } from "../access/index.ts";
import { createSecretPairs, makeSigningSecret, type SecretPairs } from "../crypto/index.ts";
import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import type { TriggersDeps } from "./deps.ts";
import { findNext } from "./due.ts";
import {
  type NewTrigger,
  readScheduleFields,
  readSchedulePatch,
  requireOwnSecret,
  type TriggerPatch,
} from "./input.ts";
import { listOverdue } from "./overdue.ts";
import type { TriggerChange, TriggerFields } from "./store/change.ts";
import { triggerStore } from "./store/index.ts";
import { type FireFilter, readPages, type TriggerFilter } from "./store/lookup.ts";
import { type FoundTrigger, pausedManually, type TriggerRow } from "./trigger.ts";
import { type DescribedTrigger, describeTrigger } from "./view.ts";

export interface TriggerOwner {
  account_id: string;
  key_id: string;
}

type TriggerCaller = Pick<Caller, "account_id" | "key_id">;

/** An operator has no key: the trigger's keys then stay. */
interface SecretReader {
  account_id: string | null;
  key_id: string | null;
}

/** The secret is shown this once; null for kind cron. */
export interface TriggerAndSecret {
  trigger: FoundTrigger;
  secret: string | null;
}

export class Triggers {
  readonly #deps: Pick<TriggersDeps, "clock" | "ids">;
  readonly #store: Bound<typeof triggerStore>;
  readonly #pairs: SecretPairs;

  constructor(deps: Pick<TriggersDeps, "database" | "secrets" | "clock" | "ids">) {
    this.#deps = deps;
    this.#store = deps.database.bind(triggerStore);
    this.#pairs = createSecretPairs(deps.secrets);
  }

  list(filter: TriggerFilter) {
    return this.#store.list(filter);
  }

  listFires(filter: FireFilter) {
    return this.#store.listFires(filter);
  }

  /** agents.errors.trigger_not_found, agents.authentication.6 */
  async require(id: string, accountId: string | null): Promise<FoundTrigger> {
    const found = await this.#store.find(id);
    if (!found || found.account_id !== accountId) throw apiError("trigger_not_found");
    return found;
  }

  /** agents.does.trigger, agents.resources.trigger */
  async create(
    owner: TriggerOwner,
    body: NewTrigger,
    triggersMax: number,
  ): Promise<TriggerAndSecret> {
    const schedule = readScheduleFields(body);
    requireOwnSecret(body.kind, body.secret ?? null);
    const { clock, ids } = this.#deps;
    const now = clock.now();
    const row: TriggerRow = {
      ...owner,
      ...schedule,
      id: ids.uuid(),
      name: body.name.toWellFormed(),
      agent_id: body.agent_id,
      kind: body.kind,
      overlap: body.overlap ?? "skip",
      thread_id: body.thread_id ?? null,
      input: readInput(body.input),
      status: "active",
      paused_reason: null,
      next_fire_at: findNext(schedule, now),
      last_fire_at: null,
      previous_secret_expires_at: null,
      secret_number: 0,
      secret_key_id: owner.key_id,
      created_at: now,
      updated_at: now,
    };
    if (row.kind === "cron") {
      return { trigger: await this.#store.create(row, null, triggersMax), secret: null };
    }
    const secret = body.secret ?? makeSigningSecret();
    // agents.errors.triggers_unavailable: thrown by the secret store.
    const trigger = await this.#pairs.store(describeSecret(row, now), secret, (sealed) =>
      this.#store.create(row, sealed, triggersMax),
    );
    return { trigger, secret };
  }

  async change(id: string, { account_id, key_id }: TriggerCaller, body: TriggerPatch) {
    const found = await this.require(id, account_id);
    const fields: TriggerFields = readSchedulePatch(found.kind, body);
    if (body.name !== undefined) fields.name = body.name.toWellFormed();
    if (body.overlap !== undefined) fields.overlap = body.overlap;
    if (body.input !== undefined) fields.input = readInput(body.input);
    const pausedBy = "It was paused by its owner.";
    const change = { status: body.status ?? null, fields, key_id, pausedBy };
    return changeStatus(this.#store, this.#deps.clock, found, change);
  }

  /** Concurrent rotations replace each other's secrets one by one. */
  async rotate(
    id: string,
    { account_id, key_id }: SecretReader,
    overlapMs: number,
  ): Promise<TriggerAndSecret> {
    for (;;) {
      const found = await this.require(id, account_id);
      if (found.kind === "cron") {
        const message = "Only a trigger of the kind `webhook` has a secret.";
        throw apiError("invalid_request", { message });
      }
      const secret = makeSigningSecret();
      const about = describeSecret(found, this.#deps.clock.now());
      const rotation = { secret, overlap_ms: overlapMs };
      const rotated = await this.#pairs.rotate(about, rotation, (sealed, expiresAt) =>
        this.#store.rotate({
          id,
          account_id: found.account_id,
          seenNumber: found.secret_number,
          sealed,
          key_id,
          previous_secret_expires_at: expiresAt,
        }),
      );
      if (rotated.kind === "ok") return { trigger: rotated.trigger, secret };
      if (rotated.kind === "not_found") throw apiError("trigger_not_found");
    }
  }

  async remove(id: string, accountId: string | null): Promise<void> {
    const { account_id } = await this.require(id, accountId);
    if (!(await this.#store.remove(id, account_id))) throw apiError("trigger_not_found");
  }
}

interface StatusChange {
  status: TriggerRow["status"] | null;
  fields: TriggerFields;
  key_id: string | null;
  pausedBy: string;
}

/** Changes, pauses or resumes a trigger; its next fire is computed from now. */
async function changeStatus(
  store: Pick<Bound<typeof triggerStore>, "change" | "find">,
  clock: Clock,
  trigger: FoundTrigger,
  { status, fields, key_id, pausedBy }: StatusChange,
): Promise<FoundTrigger> {
  const { id, account_id } = trigger;
  for (let found: FoundTrigger | undefined = trigger; found; found = await store.find(id)) {
    const now = clock.now();
    const { cron, time_zone } = found;
    let transition: TriggerChange["transition"] = null;
    if (status === "active") transition = { to: "active" };
    if (status === "paused") transition = { to: "paused", reason: pausedManually(pausedBy, now) };
    const changed = await store.change({
      id,
      account_id,
      fields,
      key_id,
      now,
      seen: { cron, time_zone },
      transition,
      next_fire_at: findNext({ cron, time_zone, ...fields }, now),
    });
    if (changed.kind === "ok") return changed.trigger;
    if (changed.kind === "not_found") break;
  }
  throw apiError("trigger_not_found");
}

/** Maximum triggers read at once: the input of one may take 400 KB. */
const TRIGGERS_AT_ONCE = 50;

/** Triggers of every account, for operators. */
export function createTriggerQueries({
  database,
  clock,
}: Pick<TriggersDeps, "database" | "clock">) {
  const store = database.bind(triggerStore);
  const describe = (found: FoundTrigger) => describeTrigger(found, clock.now());
  return {
    async list(account_id: string | null): Promise<DescribedTrigger[]> {
      const listed: DescribedTrigger[] = [];
      const pages = readPages(TRIGGERS_AT_ONCE, (page) => store.list({ account_id, ...page }));
      for await (const rows of pages) {
        listed.push(...rows.map((row) => describe({ ...row, input: null })));
      }
      return listed;
    },
    async find(id: string): Promise<DescribedTrigger | undefined> {
      const found = await store.find(id);
      return found && describe(found);
    },
    /** The newest fires of each trigger, the newest first. */
    listMarks: (ids: readonly string[], limit: number) => store.listMarks(ids, limit),
    listOverdue: () => listOverdue(store, clock.now()),
    listFires: (trigger_id: string, limit: number) =>
      store.listFires({ trigger_id, outcome: null, before: null, limit }),
    /** Runs keep acting for the trigger's key; throws `agent_archived`. */
    async setStatus(
      id: string,
      status: FoundTrigger["status"],
    ): Promise<DescribedTrigger | undefined> {
      const found = await store.find(id);
      if (!found) return undefined;
      const pausedBy = "It was paused by the operator.";
      const change = { status, fields: {}, key_id: null, pausedBy };
      return describe(await changeStatus(store, clock, found, change));
    },
  };
}

function describeSecret({ id, account_id }: TriggerRow, set_at: number) {
  return { kind: "trigger" as const, row_id: id, account_id, set_at };
}

function readInput(input: NewTrigger["input"]): TriggerRow["input"] {
  return input ? { message: input.message.toWellFormed() } : null;
}
