// Creates, changes and deletes endpoints, and keeps their secrets sealed.
import {
  createSecretPairs,
  makeSigningSecret,
  type SecretOwner,
  type SecretPairs,
} from "../crypto/index.ts";
import type { Bound } from "../database/index.ts";
import { apiError } from "../platform/errors.ts";
import { show } from "../platform/schema.ts";
import type { WebhookDeps } from "./deps.ts";
import {
  type EndpointRow,
  type NewWebhook,
  type OwnEndpoint,
  WebhookEndpoint,
  type WebhookPatch,
} from "./endpoint.ts";
import { createBatch, fanOutFirst } from "./fan-out.ts";
import { webhookStore } from "./store/index.ts";

export type EndpointsDeps = Pick<
  WebhookDeps,
  "database" | "secrets" | "clock" | "ids" | "settings"
> & { egress: Pick<WebhookDeps["egress"], "validate"> };

export interface EndpointWithSecret {
  row: EndpointRow;
  secret: string;
}

export class Endpoints {
  readonly #deps: EndpointsDeps;
  readonly #store: Bound<typeof webhookStore>;
  readonly #secrets: SecretPairs;

  constructor(deps: EndpointsDeps) {
    this.#deps = deps;
    this.#store = deps.database.bind(webhookStore);
    this.#secrets = createSecretPairs(deps.secrets);
  }

  /** agents.errors.webhook_not_found, agents.authentication.6; a key without owner finds none. */
  async require(id: string, accountId: string | null): Promise<EndpointRow> {
    const found = await this.#store.find(id);
    if (!found || found.account_id !== accountId) throw apiError("webhook_not_found");
    return found;
  }

  list(accountId: string): Promise<EndpointRow[]> {
    return this.#store.list(accountId);
  }

  async create(accountId: string, body: NewWebhook): Promise<EndpointWithSecret> {
    const { ids, clock, settings } = this.#deps;
    this.#requireUrl(body.url);
    const row = makeEndpoint(ids.uuid(), accountId, body, clock.now());
    const secret = makeSigningSecret();
    const endpointsMax = settings().limits.endpoints;
    // agents.errors.webhooks_unavailable: thrown where secrets cannot be sealed.
    await this.#secrets.store(this.#describeSecret(row), secret, (sealed) =>
      fanOutFirst(() =>
        this.#store.create(row, sealed, { ...createBatch(this.#deps), endpointsMax }),
      ),
    );
    return { row, secret };
  }

  async change(id: string, accountId: string | null, body: WebhookPatch): Promise<EndpointRow> {
    const row = await this.require(id, accountId);
    const { description, ...change } = body;
    if (change.url !== undefined) this.#requireUrl(change.url);
    const cleaned =
      description === undefined ? {} : { description: description?.toWellFormed() ?? null };
    const written = await fanOutFirst(() =>
      this.#store.update(row, { ...change, ...cleaned }, createBatch(this.#deps)),
    );
    if (written.kind === "not_found") throw apiError("webhook_not_found");
    return written.row;
  }

  /** For `overlapMs` the former secret signs, too. */
  async rotate(
    id: string,
    accountId: string | null,
    overlapMs: number,
  ): Promise<EndpointWithSecret> {
    const secret = makeSigningSecret();
    for (;;) {
      const row = await this.require(id, accountId);
      const { secret_number: seenNumber } = row;
      const rotated = await this.#secrets.rotate(
        this.#describeSecret(row),
        { secret, overlap_ms: overlapMs },
        (sealed, previousExpiresAt) =>
          this.#store.rotate(row, { secret: sealed, seenNumber, previousExpiresAt }),
      );
      if (rotated.kind === "not_found") throw apiError("webhook_not_found");
      // The second of two rotations at once begins again from what the first one wrote.
      if (rotated.kind === "ok") return { row: rotated.row, secret };
    }
  }

  async remove(id: string, accountId: string | null): Promise<void> {
    const row = await this.require(id, accountId);
    if (!(await this.#store.remove(id, row.account_id))) throw apiError("webhook_not_found");
  }

  show(row: EndpointRow) {
    return showEndpoint(row, this.#deps.clock.now());
  }

  /** agents.errors.url_refused agents.endpoints.webhooks.p3 */
  #requireUrl(url: string): void {
    const checked = this.#deps.egress.validate(url);
    if (!checked.ok) throw apiError("url_refused", { param: "url", message: checked.reason });
  }

  #describeSecret({ id, account_id }: OwnEndpoint): SecretOwner {
    return { kind: "webhook", row_id: id, account_id, set_at: this.#deps.clock.now() };
  }
}

function makeEndpoint(
  id: string,
  accountId: string,
  { url, events, description }: NewWebhook,
  now: number,
): EndpointRow {
  return {
    id,
    account_id: accountId,
    url,
    events,
    description: description?.toWellFormed() ?? null,
    status: "enabled",
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    last_success_at: null,
    last_failure_at: null,
    previous_secret_expires_at: null,
    pending_deliveries: 0,
    failures: 0,
    secret_number: 1,
    last_answer_at: null,
    last_answer_status: null,
    last_answer_error: null,
    created_at: now,
    updated_at: now,
  };
}

/** An expired former secret is not shown, though the row still names its end. */
export function showEndpoint(row: EndpointRow, now: number) {
  const { previous_secret_expires_at: expiresAt } = row;
  const isOver = expiresAt !== null && expiresAt <= now;
  return show(WebhookEndpoint, isOver ? { ...row, previous_secret_expires_at: null } : row);
}
