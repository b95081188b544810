// Sentences of webhook endpoints and their deliveries.
import { count, writeCount } from "./plural.ts";

export const webhooks = {
  "webhooks.count": (all: number, failing: number, disabled: number) =>
    failing + disabled === 0
      ? count(all, "endpoint", "endpoints")
      : `${count(all, "endpoint", "endpoints")}, ${failing} failing, ${disabled} disabled`,
  "webhooks.this": "The endpoint",
  "webhooks.all": "All webhooks",
  "webhooks.missing": (id: string) => `There is no endpoint ${id}.`,
  "webhooks.empty":
    "No endpoint receives events. For tests, this command does, if the server runs with " +
    "--allow-egress 127.0.0.1:4400.",
  "webhooks.create": "Create webhook",
  "webhooks.url": "URL",
  "webhooks.is.on": "Enabled",
  "webhooks.is.failing": "Failing",
  "webhooks.is.off": "Disabled",
  "webhooks.column.endpoint": "Endpoint",
  "webhooks.column.events": "Events",
  "webhooks.column.delivered": "Delivered, 24 h",
  "webhooks.column.failed": "Failed, 24 h",
  "webhooks.column.waiting": "Waiting",
  "webhooks.column.answer": "Last answer",
  "webhooks.column.secret": "Old secret ends",
  "webhooks.column.event": "Event",
  "webhooks.column.attempts": "Attempts",
  "webhooks.column.created": "Created",
  "webhooks.column.next": "Next try",
  "webhooks.waiting": (number: number) => `${writeCount(number)} waiting`,
  "webhooks.no_answer": "no answer",
  "webhooks.never": "never",
  "webhooks.fact.day": "24 hours",
  "webhooks.fact.success": "Last success",
  "webhooks.fact.error": "Error",
  "webhooks.day": (delivered: number, failed: number) =>
    `${writeCount(delivered)} delivered, ${writeCount(failed)} failed`,
  "webhooks.over.failing":
    "Nothing arrived for five days, so Wadi disabled it and cancelled what waited. Repair it, " +
    "enable it, then recover what was lost.",
  "webhooks.over.gone":
    "It answered 410, so Wadi disabled it and cancelled what waited. Enable it if it is back, " +
    "then recover what was lost.",
  "webhooks.fails": "Its last attempts failed. Wadi tries each delivery up to ten times.",
  "webhooks.test": "Send test",
  "webhooks.test.done": "The test is on its way.",
  "webhooks.enable": "Enable",
  "webhooks.enable.done": "Enabled. It gets events from now on.",
  "webhooks.recover": "Recover",
  "webhooks.recover.title": (url: string) => `Recover deliveries to “${url}”?`,
  "webhooks.recover.keep": "Send nothing",
  "webhooks.recover.since": "Since",
  "webhooks.recover.count": (lost: number) =>
    lost === 0
      ? "No failed or cancelled delivery since then can be sent again."
      : count(
          lost,
          "delivery failed or was cancelled since then, and is sent again.",
          "deliveries failed or were cancelled since then, and are sent again, oldest first.",
        ),
  "webhooks.recover.done": (queued: number) =>
    count(queued, "delivery is due again.", "deliveries are due again."),
  "webhooks.replay": "Replay",
  "webhooks.replay.one": (event: string, id: string) => `Replay ${event} ${id}`,
  "webhooks.replay.done": "It is due again, with the same webhook-id.",
  "webhooks.deliveries": "Deliveries",
  "webhooks.deliveries.back": "All deliveries",
  "webhooks.deliveries.empty":
    "Nothing was sent to it yet. Send test sends one event, whatever types are selected.",
  "webhooks.deliveries.none": "No deliveries match.",
  "webhooks.delivery.one": "Delivery",
  "webhooks.delivery.missing": (id: string) => `There is no delivery ${id}.`,
  "webhooks.delivery.pending": "Waiting",
  "webhooks.delivery.delivered": "Delivered",
  "webhooks.delivery.failed": "Failed",
  "webhooks.delivery.cancelled": "Cancelled",
  "webhooks.attempts": (number: number) =>
    number === 0 ? "No attempt yet" : count(number, "attempt", "attempts"),
  "webhooks.attempt": (number: number) => `Attempt ${number}`,
  "webhooks.kind.replay": "replay",
  "webhooks.kind.test": "test",
  "webhooks.took": (ms: number) => `${writeCount(ms)} ms`,
  "webhooks.after": (ms: number) => `after ${writeCount(ms)} ms`,
  "webhooks.sent": "Sent",
  "webhooks.sent.older": "Sent before Wadi kept what it sends.",
  "webhooks.sent.signatures": (number: number) =>
    number === 1 ? "1 signature, not kept" : `${number} signatures, one a secret, not kept`,
  "webhooks.sent.base": "Signed text, without the secret",
  "webhooks.answered": "Answered",
  "webhooks.answered.body": "Answer",
  "webhooks.answered.empty": "No body.",
  "webhooks.body": "Body, the same in every attempt",
  "webhooks.body.gone": "The event is no longer kept.",
} as const;
