// The compiled program's `wadi listen`: it verifies deliveries until it is stopped.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { openRoom, type Room } from "../support/binary.ts";

const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;
const EVENT = '{"id":"evt-1","type":"webhook.test","created_at":"…","data":{"webhook":{}}}';

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** Posts an event, signed now; the status. */
async function post(url: string, body: string, id: string, secret = SECRET): Promise<number> {
  const now = new Date();
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
  return (await fetch(url, { method: "POST", body, headers })).status;
}

test("agents.authentication.p1: verifies signed deliveries, refuses unsigned ones, and ends on Ctrl-C", async () => {
  const listener = room.start(["listen", "--port", "0", "--secret", SECRET]);
  const start = await listener.said("listening on ");
  expect(start).toEndWith(", verifying with one secret; Ctrl-C ends it");
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(start)![0];
  expect(await post(`${url}/hook`, EVENT, "evt-1")).toBe(204);
  expect(await listener.said("  verified  ")).toEndWith('  webhook.test  evt-1  "/hook"');
  expect(await post(`${url}/hook`, EVENT, "evt-1")).toBe(204);
  await listener.said('  webhook.test  evt-1  "/hook"  repeat, 2 times so far');
  const other = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  expect(await post(url, EVENT, "evt-2", other)).toBe(401);
  expect(await listener.said("  refused  ")).toEndWith("  webhook.test  evt-2");
  listener.signal("SIGINT");
  const { code, stdout, stderr } = await listener.ended;
  expect([code, stderr, stdout.includes("whsec_")]).toEqual([0, "", false]);
});

test("with --json each line is a document, and --status sets the reply", async () => {
  const listener = room.start(["listen", "--port", "0", "--status", "599", "--json"]);
  const { url, is_verifying } = JSON.parse(await listener.said("{"));
  expect(is_verifying).toBe(false);
  expect(await post(url, EVENT, "evt-1")).toBe(599);
  const { at, ...arrival } = JSON.parse(await listener.said('"webhook_id"'));
  expect(new Date(at).toISOString()).toBe(at);
  expect(arrival).toEqual({
    ...{ path: "/", verdict: "unverified", why: null, webhook_id: "evt-1", times: 1 },
    ...{ type: "webhook.test", answered: 599, body: JSON.parse(EVENT) },
  });
  listener.signal("SIGTERM");
  expect((await listener.ended).code).toBe(0);
});

test("wrong usage is reported without the secret", async () => {
  const cases: [string[], string][] = [
    [["--secret", "whsec_canary"], "--secret must be `whsec_` and 24 to 64 bytes in base64"],
    [["--port", "65536"], "--port takes 0 to 65535, but is 65536"],
    [["--status", "199"], "--status takes 200 to 599, but is 199"],
  ];
  for (const [args, why] of cases) {
    const { code, stdout, stderr } = await room.perform(["listen", ...args]);
    expect([code, stdout, stderr]).toEqual([2, "", `wadi: ${why}\n`]);
  }
});
