// The listener of `wadi listen`: whole bodies within their limit, and a word to who sends others.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Letter, openReceiver, type Receiver } from "../../src/http/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";

const clock = createSystemClock();
const letters: Letter[] = [];
const failures: unknown[] = [];
let receiver: Receiver;
beforeAll(() => {
  receiver = openReceiver({
    ...{ port: 0, clock, onFailure: (failure) => void failures.push(failure) },
    take(letter) {
      if (letter.path === "/broken") throw new Error("no space left");
      letters.push(letter);
      return { status: Number(letter.headers.get("x-wanted")), text: "taken" };
    },
  });
});
afterAll(() => receiver.stop());

const send = (path: string, body: string, wanted = 200) =>
  fetch(receiver.url + path, { method: "POST", body, headers: { "x-wanted": String(wanted) } });

test("a letter comes whole with its path and headers, and its sender is told what is said", async () => {
  expect(receiver.url).toStartWith("http://127.0.0.1:");
  for (const status of [200, 204, 205, 401, 410, 503]) {
    const reply = await send("/hook?x=1", "é", status);
    const text = [204, 205].includes(status) ? "" : "taken\n";
    expect([reply.status, await reply.text()]).toEqual([status, text]);
  }
  expect([letters[0]!.path, Buffer.from(letters[0]!.body).toString()]).toEqual(["/hook", "é"]);
});

test("1 MB is taken and a byte more is not, nor is another method", async () => {
  expect((await send("/", "x".repeat(1024 * 1024))).status).toBe(200);
  const count = letters.length;
  const large = await send("/", "x".repeat(1024 * 1024 + 1));
  expect([large.status, await large.text()]).toEqual([
    ...[413, "The body is larger than 1024 KB.\n"],
  ]);
  const got = await fetch(receiver.url);
  expect([got.status, got.headers.get("allow"), letters.length]).toEqual([405, "POST", count]);
});

test("64 letters may be on their way at a time, and whoever sends one more is asked to come again", async () => {
  const ended = Promise.withResolvers<void>();
  const sendSlowly = () => {
    async function* body() {
      yield Buffer.from("begun, ");
      await ended.promise;
      yield Buffer.from("ended");
    }
    const headers = { "x-wanted": "200" };
    return fetch(receiver.url, { method: "POST", body: body(), headers });
  };
  const slow = Array.from({ length: 65 }, sendSlowly);
  const other = await Promise.race(slow);
  expect([other.status, await other.text()]).toEqual([503, "Too many at once: send it again.\n"]);
  ended.resolve();
  const statuses = (await Promise.all(slow)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([...Array(64).fill(200), 503]);
  expect((await send("/", "")).status).toBe(200);
});

test("a letter that cannot be taken is told of", async () => {
  expect((await send("/broken", "{}")).status).toBe(500);
  expect(failures).toEqual([new Error("no space left")]);
});

test("a port that is taken is said in a sentence with a way out", () => {
  const port = Number(new URL(receiver.url).port);
  const second = () => openReceiver({ port, clock, take: () => never(), onFailure() {} });
  expect(second).toThrow(`port ${port} on 127.0.0.1 is taken: stop what listens there`);
});

function never(): never {
  throw new Error("nothing was sent");
}
