// Lists deliveries, and queues them: a test, a replay, or all that failed in a time range.
import { type Static, Type } from "@sinclair/typebox";
import type { Bound } from "../database/index.ts";
import { Instant, NEXT_BEFORE, PageQuery, readPage, requireInstant } from "../http/index.ts";
import { apiError } from "../platform/errors.ts";
import { maybe, oneOf, Resource, show } from "../platform/schema.ts";
import { DELIVERY_STATUSES, Delivery, DeliveryAttempt, type DeliveryRow } from "./delivery.ts";
import type { WebhookDeps } from "./deps.ts";
import { EVENT_TYPES, type OwnEndpoint } from "./endpoint.ts";
import { WebhookEvent, writeEvent } from "./event.ts";
import type { DeliveryRequest, TimeRange } from "./store/deliveries.ts";
import { webhookStore } from "./store/index.ts";

/** Maximum deliveries of one transaction, which takes some milliseconds. */
const RECOVERED_A_WRITE = 500;

export const DeliveriesQuery = Type.Object({
  status: Type.Optional(oneOf(DELIVERY_STATUSES, "Status of the deliveries.")),
  type: Type.Optional(oneOf(EVENT_TYPES, "Type of their events.")),
  ...PageQuery("Deliveries of a page, 1 to 200; 50 by default."),
});
type DeliveriesQuery = Static<typeof DeliveriesQuery>;

export const DeliveryList = Resource(
  "DeliveryList",
  {
    data: Type.Array(Delivery, { description: "Deliveries, newest first by `created_at`." }),
    next_before: NEXT_BEFORE,
  },
  "A page of deliveries.",
);

/** agents.resources.delivery */
export const DeliveryDetail = Resource(
  "DeliveryDetail",
  {
    ...Delivery.properties,
    attempts: Type.Array(DeliveryAttempt, {
      description: "Its last 100 attempts, in order.",
    }),
    event: maybe(WebhookEvent),
  },
  "A delivery with its attempts and its event, which is null once no longer kept.",
);

export const RecoverDeliveries = Type.Object(
  {
    since: Instant("Earliest creation time."),
    until: Type.Optional(maybe(Instant("Latest creation time; now by default."))),
  },
  {
    additionalProperties: false,
    $id: "RecoverDeliveries",
    description: "Creation times of the failed and cancelled deliveries to send again.",
    examples: [{ since: "2026-11-20T00:00:00.000Z" }],
  },
);
type RecoverDeliveries = Static<typeof RecoverDeliveries>;

export const RecoveredDeliveries = Resource(
  "RecoveredDeliveries",
  { queued: Type.Integer({ description: "Number of deliveries that are sent again." }) },
  "Result of a recovery.",
);

/** agents.errors.invalid_request */
export function readTimeRange(
  { since: from, until: to }: RecoverDeliveries,
  now: number,
): TimeRange {
  const since = requireInstant("since", from);
  if (to === undefined || to === null) return { since, until: Math.max(since, now) };
  const until = requireInstant("until", to);
  if (since <= until) return { since, until };
  const message = "`until` must not be before `since`.";
  throw apiError("invalid_request", { param: "until", message });
}

export class Deliveries {
  readonly #deps: Pick<WebhookDeps, "clock" | "ids" | "settings">;
  readonly #store: Bound<typeof webhookStore>;

  constructor(deps: Pick<WebhookDeps, "database" | "clock" | "ids" | "settings">) {
    this.#deps = deps;
    this.#store = deps.database.bind(webhookStore);
  }

  list(webhookId: string, { status, type, limit, before }: DeliveriesQuery) {
    return readPage({
      name: `deliveries ${[webhookId, status, type].join(" ")}`,
      limit,
      before,
      read: (page) => this.#store.listDeliveries({ webhookId, status, type, ...page }),
      show: (row) => show(Delivery, row),
    });
  }

  async get(webhookId: string, id: string) {
    const row = await this.#store.findDelivery(id);
    // agents.errors.delivery_not_found
    if (row?.webhook_id !== webhookId) throw apiError("delivery_not_found");
    // Omit attempts that were added after the delivery was read.
    const listed = await this.#store.listAttempts(id);
    const attempts = listed.filter(({ number }) => number <= row.attempt_count);
    const event = await this.#store.findEvent(row.event_id);
    return {
      ...show(Delivery, row),
      attempts: attempts.map((attempt) => show(DeliveryAttempt, attempt)),
      event: event ? (JSON.parse(writeEvent(event)) as object) : null,
    };
  }

  test(own: OwnEndpoint): Promise<DeliveryRow> {
    const { ids, settings } = this.#deps;
    return this.#store.test(this.#request(own), {
      eventId: ids.uuid(),
      deliveryId: ids.uuid(),
      storedMax: settings().limits.stored_bytes,
    });
  }

  replay(own: OwnEndpoint, id: string): Promise<DeliveryRow> {
    return this.#store.replay(id, this.#request(own));
  }

  async recover(own: OwnEndpoint, range: TimeRange): Promise<number> {
    for (let queued = 0; ; ) {
      const batch = await this.#store.recover(this.#request(own), range, RECOVERED_A_WRITE);
      queued += batch.queued;
      if (batch.rest === "none" || (batch.rest === "full" && queued > 0)) return queued;
      // agents.errors.deliveries_limit
      if (batch.rest === "full") throw apiError("deliveries_limit");
    }
  }

  #request({ id, account_id }: OwnEndpoint): DeliveryRequest {
    const { clock, settings } = this.#deps;
    const waitingMax = settings().limits.waiting_deliveries;
    return { webhookId: id, accountId: account_id, now: clock.now(), waitingMax };
  }
}
