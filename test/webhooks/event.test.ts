// Tests the body of an event: the same bytes every time, and valid JSON.
import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { WebhookEvent, writeEvent } from "../../src/webhooks/event.ts";
import { BEGIN } from "../support/runs.ts";

const event = (data: string) => ({
  ...{ id: "01920000-0000-7000-8000-000000000001", account_id: "a-1", data },
  ...{ type: "run.completed" as const, created_at: BEGIN + 7, is_pending: false },
});

test("agents.resources.webhook_event_body agents.events.webhook.2 an event has its id, its type, its time and its data as they were stored", () => {
  // Neither the order of fields nor the spelling of a text changes.
  const data = '{"run":{"id":"r-1","cost":1.10,"output":"\\u00e4 😀"}}';
  const text = writeEvent(event(data));
  expect(text).toBe(
    '{"id":"01920000-0000-7000-8000-000000000001","type":"run.completed",' +
      `"created_at":"2026-11-20T00:00:00.007Z","data":${data}}`,
  );
  expect(writeEvent(event(data))).toBe(text);
  const shown = JSON.parse(text);
  expect(shown).toEqual({
    ...{ id: event(data).id, type: "run.completed", created_at: "2026-11-20T00:00:00.007Z" },
    data: { run: { id: "r-1", cost: 1.1, output: "ä 😀" } },
  });
  expect(Object.keys(shown)).toEqual(Object.keys(WebhookEvent.properties));
  expect(Value.Check(WebhookEvent.properties.type, "run.completed")).toBe(true);
});
