// Webhooks: where an account's events are sent, and what became of each.
export { createWebhookBook, type WebhookBook } from "./book.ts";
export { DELIVERY_STATUSES, Delivery, type DeliveryStatus } from "./delivery.ts";
export { documentEvents } from "./event-document.ts";
export { showWebhooks } from "./figures.ts";
export { openWebhooks } from "./opening.ts";
export { createDeliverySweeps } from "./retention.ts";
