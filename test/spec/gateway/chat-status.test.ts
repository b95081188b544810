// The status of a chat reply: the spec's, or the one that some clients insist on.
import { expect, test } from "bun:test";
import { readDocument } from "../agents/routes.ts";
import { type Front, startFront } from "./front.ts";

const PATH = "/v1/chat/completions";

/** The statuses of a reply, of a stream, and of the success in the document. */
async function readStatuses(front: Front) {
  const whole = await front.send({ messages: [{ role: "user", content: "Hello" }] });
  await whole.text();
  const stream = await front.chat("Hello", { stream: true });
  await stream.text();
  const replies = (await readDocument(front)).paths[PATH]!.post!.responses;
  const documented = Object.keys(replies).filter((status) => status.startsWith("2"));
  expect(Object.keys(replies[documented[0]!]!.content!)).toEqual([
    "application/json",
    "text/event-stream",
  ]);
  return [whole.status, stream.status, ...documented.map(Number)];
}

test("gateway.endpoints.post_chat_completions a reply and a stream are 201, or 200 if the operator sets it", async () => {
  await using front = await startFront();
  expect(await readStatuses(front)).toEqual([201, 201, 201]);
  await using other = await startFront({}, { env: { WADI_SERVICE__CHAT_STATUS: "200" } });
  expect(await readStatuses(other)).toEqual([200, 200, 200]);
  expect((await other.send({})).status).toBe(400);
});
