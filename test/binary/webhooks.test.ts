// The compiled program's `wadi webhooks` beside a server, which sends the requested deliveries.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room, type Server, type Talker } from "../support/binary.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a test expects says what it is.
type Json = { [field: string]: any };

let room: Room;
let server: Server;
let listener: Talker;
let endpoint: Json;
beforeAll(async () => {
  room = openRoom();
  listener = room.start(["listen", "--port", "0", "--json"]);
  const { url } = JSON.parse(await listener.said("{")) as Json;
  // Polls until the delivery has the status.
  const env = {
    WADI_LIMITS__REQUESTS_PER_MINUTE: "1000000",
    WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "1000000",
  };
  const allowed = ["--allow-egress", new URL(url).host];
  server = await room.serve(["dev", "--port", "0", "--data", "./try", ...allowed], { env });
  endpoint = await send("/v1/webhooks", { url: `${url}/in`, events: ["run.completed"] });
});
afterAll(() => room.close());

const send = async (path: string, body?: object) =>
  (await (await server.ask("POST", path, { body })).json()) as Json;
const run = (...args: string[]) => room.perform(["webhooks", ...args, "--data", "./try"]);

/** The delivery, once it has had this many attempts. */
async function untilDelivered(id: string, attempt_count: number): Promise<Json> {
  for (;;) {
    const reply = await server.ask("GET", `/v1/webhooks/${endpoint.id}/deliveries/${id}`);
    const { attempts: _, event: __, ...delivery } = (await reply.json()) as Json;
    if (delivery.status === "delivered" && delivery.attempt_count === attempt_count) {
      return delivery;
    }
  }
}

test("agents.does.webhook: endpoints are listed with their owners, without secrets", async () => {
  const { secret, ...seen } = endpoint;
  const listed = await run("list", "--account", "dev", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ account: "dev", ...seen }]);
  const table = await run("list");
  expect(table.stdout).toContain(`\n${endpoint.id}  dev      "${endpoint.url}"  run.completed`);
  for (const { stdout } of [listed, table]) expect(stdout).not.toContain(secret);
});

test("agents.events.webhook.3: the server sends a replay from the command line under the same id", async () => {
  const made = await send(`/v1/webhooks/${endpoint.id}/test`);
  const first = JSON.parse(await listener.said(made.event_id));
  expect(first).toMatchObject({ path: "/in", type: "webhook.test", times: 1 });
  const delivered = await untilDelivered(made.id, 1);

  const listed = await run("deliveries", endpoint.id, "--status", "delivered", "--json");
  expect(JSON.parse(listed.stdout)).toEqual([delivered]);
  const table = await run("deliveries", endpoint.id);
  expect(table.stdout).toContain(`\n${made.id}  `);
  expect((await run("deliveries", endpoint.id, "--status", "failed", "--json")).stdout).toBe(
    "[]\n",
  );

  const again = await run("replay", made.id);
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(again.stdout).toContain(`id: ${made.id}\n`);
  expect(again.stdout).toContain("\nstatus: pending\n");
  const second = JSON.parse(await listener.said('"times":2'));
  expect([second.webhook_id, second.body]).toEqual([made.event_id, first.body]);
  await untilDelivered(made.id, 2);
});

test("lost deliveries are recovered by time, and a wrong time is refused with a sentence", async () => {
  const none = await run("recover", endpoint.id, "--since", "2026-01-01");
  expect([none.code, none.stdout]).toEqual([0, "queued: 0\n"]);
  const missing = await run("recover", endpoint.id);
  expect([missing.code, missing.stderr]).toEqual([
    ...[2, "wadi: webhooks recover takes --since TIME\n"],
  ]);
  const wrong = await run("recover", endpoint.id, "--since", "2026-02-30");
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    "wadi: --since takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z, but is " +
      '"2026-02-30"\n',
  ]);
  const status = await run("deliveries", endpoint.id, "--status", "lost");
  expect([status.code, status.stderr]).toEqual([
    ...[2, 'wadi: --status takes pending, delivered, failed, cancelled, but is "lost"\n'],
  ]);
});
