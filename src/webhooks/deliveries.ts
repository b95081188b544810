// Shows deliveries, and asks for them: a test, one again, or all that were lost in a while.
import { type Static, Type } from "@sinclair/typebox";
import { BEFORE, NEXT_BEFORE, readPlace, writePlace } from "../http/index.ts";
import { refuse } from "../platform/refusal.ts";
import { maybe, oneOf, Resource, show } from "../platform/shape.ts";
import type { Around } from "./around.ts";
import { DELIVERY_STATUSES, Delivery, DeliveryAttempt, type DeliveryRow } from "./delivery.ts";
import { EVENT_TYPES, type OwnEndpoint } from "./endpoint.ts";
import { showMessage, WebhookEvent } from "./message.ts";
import type { Asking, DeliveryFilter, Span } from "./store/deliveries.ts";
import { webhookStore } from "./store/index.ts";

const LIMIT = { default: 50, minimum: 1, maximum: 200 };
/** Asked for again in one transaction, which takes some milliseconds. */
const RECOVERED_AT_ONCE = 500;

export const DeliveriesQuery = Type.Object({
  status: Type.Optional(oneOf(DELIVERY_STATUSES, "Only deliveries that are in it.")),
  type: Type.Optional(oneOf(EVENT_TYPES, "Only deliveries of such events.")),
  limit: Type.Optional(
    Type.Integer({ ...LIMIT, description: "Deliveries of a page: 1 to 200; left out: 50." }),
  ),
  before: BEFORE,
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
      description: "Every attempt, in order; of more than 100 the last 100.",
    }),
    event: maybe(WebhookEvent),
  },
  "A delivery with every attempt at it, and its event; null: that is no longer kept.",
);

export function createDeliveries({
  database,
  clock,
  ids,
  settings,
}: Pick<Around, "database" | "clock" | "ids" | "settings">) {
  const store = database.bind(webhookStore);
  const ask = ({ id, account_id }: OwnEndpoint): Asking => ({
    ...{ webhook_id: id, account_id, now: clock.now() },
    waiting_max: settings().limits.waiting_deliveries,
  });
  return {
    async page(webhook_id: string, query: DeliveriesQuery) {
      const filter = readListing(webhook_id, query);
      // One more than is shown tells whether there is more.
      const found = await store.listDeliveries({ ...filter, limit: filter.limit + 1 });
      const rows = found.slice(0, filter.limit);
      return {
        data: rows.map((row) => show(Delivery, row)),
        next_before: found.length > rows.length ? writeNext(filter, rows.at(-1)!) : null,
      };
    },
    /** With its attempts and its event; refuses where it is not this endpoint's. */
    async detail(webhook_id: string, id: string) {
      const row = await store.findDelivery(id);
      // agents.errors.delivery_not_found
      if (row?.webhook_id !== webhook_id) throw refuse("delivery_not_found");
      // One may have been added since the delivery was read: it belongs to what that is by now.
      const listed = await store.listAttempts(id);
      const attempts = listed.filter(({ number }) => number <= row.attempt_count);
      const event = await store.findEvent(row.event_id);
      return {
        ...show(Delivery, row),
        attempts: attempts.map((attempt) => show(DeliveryAttempt, attempt)),
        event: event ? showMessage(event) : null,
      };
    },
    test: (own: OwnEndpoint) =>
      store.test(
        { ...ask(own), stored_max: settings().limits.stored_bytes },
        { event_id: ids.uuid(), delivery_id: ids.uuid() },
      ),
    replay: (own: OwnEndpoint, id: string) => store.replay(id, ask(own)),
    /** How many are sent again: no more than may wait. */
    async recover(own: OwnEndpoint, span: Span): Promise<number> {
      for (let queued = 0; ; ) {
        const given = await store.recover(ask(own), span, RECOVERED_AT_ONCE);
        queued += given.queued;
        if (given.is_done || (given.is_full && queued > 0)) return queued;
        // agents.errors.deliveries_limit
        if (given.is_full) throw refuse("deliveries_limit");
      }
    },
  };
}
export type Deliveries = ReturnType<typeof createDeliveries>;

function readListing(webhook_id: string, query: DeliveriesQuery): DeliveryFilter {
  const { status = null, type = null, limit = LIMIT.default } = query;
  const filter = { webhook_id, status, type, before: null, limit };
  return query.before === undefined
    ? filter
    : { ...filter, before: readPlace(nameList(filter), query.before) };
}

function writeNext(filter: DeliveryFilter, { created_at: at, id }: DeliveryRow): string {
  return writePlace(nameList(filter), { at, id });
}

/** Another filter is another list. */
function nameList({ webhook_id, status, type }: DeliveryFilter): string {
  return `deliveries ${[webhook_id, status, type].join(" ")}`;
}
