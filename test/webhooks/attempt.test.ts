// Tests which claimed deliveries are sent: only those that are still to be sent, and of this claim.
import { expect, test } from "bun:test";
import { Sender, writeSignedHead } from "../../src/webhooks/attempt.ts";
import type { AttemptInput, ClaimedDelivery } from "../../src/webhooks/store/claim.ts";
import { ACCOUNT, openFixture, REQUEST } from "./fixture.ts";

test("a delivery is sent while it is pending, claimed, and of an enabled endpoint", async () => {
  await using fixture = await openFixture();
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  const { id, event_id, kind } = await fixture.deliveries.test(row);
  const claimed: ClaimedDelivery = {
    ...{ id, event_id, kind, webhook_id: row.id, account_id: ACCOUNT },
    ...{ tries: 0, lane: 0, epoch: 3 },
  };
  const input: AttemptInput = {
    ...{ status: "pending", epoch: 3, endpoint_status: "enabled", url: row.url, updated_at: 1 },
    ...{ event_type: "webhook.test", event_created_at: 1, event_data: "{}" },
  };
  const sent: unknown[] = [];
  const egress = {
    async request({ url }: { url: string }) {
      sent.push(url);
      return { ok: true, url, status: 204, headers: new Headers(), body: Buffer.alloc(0) };
    },
  };
  const process = { fence: { pass: async () => true } };
  const send = async (found: AttemptInput | undefined) => {
    const deps = { ...fixture.deps, egress, process } as never;
    const sender = new Sender(deps, { findSending: async () => found });
    const { result, pauses } = await sender.send(claimed, new AbortController().signal);
    return [result.kind, pauses, sent.splice(0).length];
  };
  expect(await send(input)).toEqual(["delivered", false, 1]);
  const others = [{ status: "cancelled" }, { epoch: 0 }, { epoch: 4 }, { endpoint_status: null }];
  for (const other of [...others, { endpoint_status: "disabled" }]) {
    expect(await send({ ...input, ...other })).toEqual(["released", false, 0]);
  }
  expect(await send(undefined)).toEqual(["released", false, 0]);
  expect(await send({ ...input, event_data: null })).toEqual(["expired", false, 0]);
});

test("agents.authentication.webhook_timestamp an attempt is dated by the second in which it begins", () => {
  const head = { "webhook-id": "e-1", "webhook-timestamp": "1" };
  expect(writeSignedHead("e-1", 1_999)).toMatchObject(head);
});
