// Makes, changes and deletes endpoints, and keeps their secrets in the box.
import { refuse } from "../platform/refusal.ts";
import type { SecretAbout } from "../platform/secrets/store.ts";
import { show } from "../platform/shape.ts";
import { makeSigningSecret } from "../platform/signing/secret.ts";
import { createSecretPairs } from "../platform/signing/secret-pair.ts";
import type { Around } from "./around.ts";
import { type NewWebhook, requireUrl, type WebhookPatch } from "./body.ts";
import { type EndpointRow, type OwnEndpoint, WebhookEndpoint } from "./endpoint.ts";
import { createFans, giveFirst } from "./fanning.ts";
import { webhookStore } from "./store/index.ts";

export type EndpointsAround = Pick<
  Around,
  "database" | "secrets" | "clock" | "ids" | "settings" | "egress"
>;

/** Where an endpoint is shown together with a secret that was just made. */
export interface WithSecret {
  row: EndpointRow;
  secret: string;
}

/** `account_id` null, of a key without an owner: nothing is its own. */
export function createEndpoints(around: EndpointsAround) {
  const { database, clock, ids, settings, egress } = around;
  const store = database.bind(webhookStore);
  const pairs = createSecretPairs(around.secrets);
  const makeFan = createFans(around);
  const aboutOf = ({ id, account_id }: OwnEndpoint): SecretAbout => ({
    ...{ kind: "webhook", row_id: id, account_id, set_at: clock.now() },
  });

  /** agents.errors.webhook_not_found, agents.authentication.6 */
  const require = async (id: string, account_id: string | null): Promise<EndpointRow> => {
    const found = await store.find(id);
    if (!found || found.account_id !== account_id) throw refuse("webhook_not_found");
    return found;
  };
  return {
    require,
    /** Newest first; of one account, or of all where it is null. */
    list: store.list,
    async create(account_id: string, wish: NewWebhook): Promise<WithSecret> {
      requireUrl(wish.url, egress.judge);
      const row = makeEndpoint(ids.uuid(), account_id, wish, clock.now());
      const secret = makeSigningSecret();
      const endpoints_max = settings().limits.endpoints;
      // agents.errors.webhooks_unavailable: the box refuses.
      await pairs.store(aboutOf(row), secret, (sealed) =>
        giveFirst(() => store.create(row, sealed, { ...makeFan(), endpoints_max })),
      );
      return { row, secret };
    },
    async change(id: string, account_id: string | null, wish: WebhookPatch): Promise<EndpointRow> {
      const row = await require(id, account_id);
      const { description, ...rest } = wish;
      if (rest.url !== undefined) requireUrl(rest.url, egress.judge);
      const said = description === undefined ? {} : { description: cleanDescription(description) };
      const changed = await giveFirst(() => store.update(row, { ...rest, ...said }, makeFan()));
      if (!changed) throw refuse("webhook_not_found");
      return changed;
    },
    /** For `overlap_ms` the secret before signs, too. */
    async rotate(id: string, account_id: string | null, overlap_ms: number): Promise<WithSecret> {
      const secret = makeSigningSecret();
      for (;;) {
        const row = await require(id, account_id);
        const { secret_number: seen_number } = row;
        const wish = { secret, overlap_ms };
        const rotated = await pairs.rotate(aboutOf(row), wish, (sealed, previous_expires_at) =>
          store.rotate(row, { secret: sealed, seen_number, previous_expires_at }),
        );
        if (rotated === undefined) throw refuse("webhook_not_found");
        // Of two at once the second begins anew beside what the first one made.
        if (rotated !== null) return { row: rotated, secret };
      }
    },
    async remove(id: string, account_id: string | null): Promise<void> {
      const row = await require(id, account_id);
      if (!(await store.remove(id, row.account_id))) throw refuse("webhook_not_found");
    },
    /** As its owner sees it now. */
    show: (row: EndpointRow) => showEndpoint(row, clock.now()),
  };
}
export type Endpoints = ReturnType<typeof createEndpoints>;

function makeEndpoint(
  id: string,
  account_id: string,
  { url, events, description = null }: NewWebhook,
  now: number,
): EndpointRow {
  return {
    ...{ id, account_id, url, events, description: cleanDescription(description) },
    ...{ status: "enabled", disabled_reason: null, disabled_at: null, failing_since: null },
    ...{ last_success_at: null, last_failure_at: null, previous_secret_expires_at: null },
    ...{ pending_deliveries: 0, failures: 0, secret_number: 1 },
    ...{ created_at: now, updated_at: now },
  };
}

function cleanDescription(text: string | null): string | null {
  return text === null ? null : text.toWellFormed();
}

/** A secret whose time is over signs nothing more, whatever the row says. */
export function showEndpoint(row: EndpointRow, now: number) {
  const { previous_secret_expires_at: expires_at } = row;
  const isOver = expires_at !== null && expires_at <= now;
  return show(WebhookEndpoint, isOver ? { ...row, previous_secret_expires_at: null } : row);
}
