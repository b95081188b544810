// Tests requests with both secrets of a rotated key.
import { expect, test } from "bun:test";
import { KEY, startApp } from "../support/app.ts";
import { keyRequest } from "./fixture.ts";

const HOUR_MS = 3_600_000;
const SETTINGS = `
[limits]
requests_per_minute = 3
`;

for (const account of ["dev", null]) {
  const whose = account === null ? "a key without an owner" : "an account's key";
  test(`gateway.limits.rate both secrets of ${whose} share a counter, before and after`, async () => {
    const app = await startApp({ settings: SETTINGS });
    const { keys } = app.app.admin;
    const first = await keys.create(keyRequest({ account }));
    const ask = async (key: string) => (await app.get("/v1/models", { key })).status;
    expect(await ask(first.secret)).toBe(200);
    const { secret } = await keys.rotate(first.key.id, HOUR_MS);
    expect([await ask(secret), await ask(first.secret)]).toEqual([200, 200]);
    expect([await ask(secret), await ask(first.secret)]).toEqual([429, 429]);
    await app.stop();
  });
}

test("gateway.authentication.2 gateway.errors.invalid_api_key the old secret is refused after the overlap, like any unknown key", async () => {
  const app = await startApp();
  const { keys } = app.app.admin;
  const first = await keys.create(keyRequest({ account: "dev" }));
  const { secret } = await keys.rotate(first.key.id, HOUR_MS);
  const ask = async (key: string) => {
    const reply = await app.chat("Hello", {}, { key, headers: { "x-request-id": "r" } });
    return reply.ok ? reply.status : await reply.text();
  };
  app.clock.shiftWall(HOUR_MS - 1);
  expect([await ask(first.secret), await ask(secret)]).toEqual([201, 201]);
  app.clock.shiftWall(1);
  expect([await ask(first.secret), await ask(secret)]).toEqual([await ask(`${KEY}x`), 201]);
  await app.stop();
});
