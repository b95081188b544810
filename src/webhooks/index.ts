// Webhooks: endpoints that receive an account's events, and the delivery of each.
export { DELIVERY_STATUSES, Delivery, type DeliveryStatus } from "./delivery.ts";
export {
  type EndpointRow,
  NewWebhook,
  WebhookEndpoint,
  type WebhookEventType,
} from "./endpoint.ts";
export { documentEvents } from "./event.ts";
export {
  createDeliverySweeps,
  createWebhookQueries,
  openWebhooks,
} from "./module.ts";
export { SentAttempt } from "./sent.ts";
