// Tests the listener of `wadi listen`: bodies within the limit, and replies to other requests.
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  openWebhookListener,
  type ReceivedBody,
  type WebhookListener,
} from "../../src/http/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";

const clock = createSystemClock();
const bodies: ReceivedBody[] = [];
const failures: unknown[] = [];
let receiver: WebhookListener;
beforeAll(() => {
  receiver = openWebhookListener({
    ...{ port: 0, clock, onFailure: (failure) => void failures.push(failure) },
    take(received) {
      if (received.path === "/broken") throw new Error("no space left");
      bodies.push(received);
      return { status: Number(received.headers.get("x-wanted")), text: "taken" };
    },
  });
});
afterAll(() => receiver.stop());

const send = (path: string, body: string, wanted = 200) =>
  fetch(receiver.url + path, { method: "POST", body, headers: { "x-wanted": String(wanted) } });

test("a request is received whole with its path and headers, and its sender gets the status", async () => {
  expect(receiver.url).toStartWith("http://127.0.0.1:");
  for (const status of [200, 204, 205, 401, 410, 503]) {
    const reply = await send("/hook?x=1", "é", status);
    const text = [204, 205].includes(status) ? "" : "taken\n";
    expect([reply.status, await reply.text()]).toEqual([status, text]);
  }
  expect([bodies[0]!.path, Buffer.from(bodies[0]!.body).toString()]).toEqual(["/hook", "é"]);
});

test("1 MB is accepted, and one more byte or another method is refused", async () => {
  expect((await send("/", "x".repeat(1024 * 1024))).status).toBe(200);
  const count = bodies.length;
  const large = await send("/", "x".repeat(1024 * 1024 + 1));
  expect([large.status, await large.text()]).toEqual([
    ...[413, "The body is larger than 1024 KB.\n"],
  ]);
  const got = await fetch(receiver.url);
  expect([got.status, got.headers.get("allow"), bodies.length]).toEqual([405, "POST", count]);
});

test("limits concurrent requests, and admits new ones when others finish", async () => {
  const opened: (() => void)[] = [];
  const sent = Array.from({ length: 65 }, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    opened.push(resolve);
    async function* pieces() {
      yield Buffer.from("{");
      await promise;
      yield Buffer.from("}");
    }
    const body = new ReadableStream({
      async start(stream) {
        for await (const piece of pieces()) stream.enqueue(piece);
        stream.close();
      },
    });
    return fetch(receiver.url, { method: "POST", body, headers: { "x-wanted": "200" } });
  });
  // Any one of them is refused at once.
  const early = await Promise.race(sent);
  expect([early.status, await early.text()]).toEqual([503, "Too many at once: send it again.\n"]);
  for (const open of opened) open();
  const statuses = await Promise.all(sent.map(async (one) => (await one).status));
  expect(statuses.toSorted().slice(0, 64)).toEqual(Array.from({ length: 64 }, () => 200));
  expect((await send("/", "{}")).status).toBe(200);
});

test("a request that cannot be stored is reported", async () => {
  expect((await send("/broken", "{}")).status).toBe(500);
  expect(failures).toEqual([new Error("no space left")]);
});

test("an occupied port is reported in one sentence with advice", () => {
  const port = Number(new URL(receiver.url).port);
  const second = () => openWebhookListener({ port, clock, take: () => never(), onFailure() {} });
  expect(second).toThrow(`port ${port} on 127.0.0.1 is taken: stop what listens there`);
});

function never(): never {
  throw new Error("nothing was sent");
}
