// A key that is revoked or expires during a request: its streams end, and no others.
import { expect, test } from "bun:test";
import { storeAccount, storeKey } from "./support/access.ts";
import { startApp } from "./support/app.ts";
import { startUpstream, writeSettings } from "./support/upstream.ts";

const readFrames = async (response: Response) =>
  (await response.text()).split("\n\n").filter((frame) => frame.startsWith("data: "));

const STALL = "!say Hello\n!stall";

async function openTrial(settings = "") {
  const app = await startApp({ listens: true, settings });
  const { access, admin } = app.app;
  const account = await storeAccount(access, "acme");
  const make = (lifetimeMs: number | null = null) => {
    const expires_at = lifetimeMs === null ? null : app.clock.now() + lifetimeMs;
    return storeKey(access, { account_id: account.id, name: null, expires_at });
  };
  const stream = (key: string, text = STALL) => app.chat(text, { stream: true }, { key });
  return { ...app, keys: admin.keys, make, stream };
}

test("gateway.events.4 a stream ends with an error as soon as its key is revoked; other keys' streams go on", async () => {
  const { keys, make, stream, logged, ...app } = await openTrial();
  const [gone, kept] = [await make(), await make()];
  const [cut, other] = await Promise.all([stream(gone.secret), stream(kept.secret)]);
  expect([cut!.status, other!.status]).toEqual([201, 201]);
  await keys.revoke(gone.key.id);
  const frames = await readFrames(cut!);
  expect(frames.at(-1)).toBe("data: [DONE]");
  const { error, request_id } = JSON.parse(frames.at(-2)!.slice("data: ".length));
  expect(error).toMatchObject({ code: "upstream_error", type: "server_error" });
  expect(request_id).toBe(cut!.headers.get("x-request-id"));
  expect(frames.join("")).not.toContain('"finish_reason":"');
  expect(await logged("upstream_error")).toMatchObject({
    level: "info",
    message: "its key was revoked or has expired",
    key_id: gone.key.id,
  });
  let isOver = false;
  const rest = readFrames(other!).then((all) => {
    isOver = true;
    return all;
  });
  await app.clock.advance(5_000);
  expect(isOver).toBeFalse();
  await keys.revoke(kept.key.id);
  expect((await rest).at(-1)).toBe("data: [DONE]");
  await app.stop();
});

test("a stream ends at most five seconds after its key has expired", async () => {
  const { make, stream, ...app } = await openTrial();
  const { secret } = await make(1_000);
  const frames = readFrames(await stream(secret));
  await app.clock.advance(6_000);
  expect((await frames).at(-1)).toBe("data: [DONE]");
  await app.stop();
});

test("gateway.authentication.2 a stream that has not begun when its key is revoked is an ordinary 401", async () => {
  const arrived = Promise.withResolvers<void>();
  const upstream = startUpstream(() => {
    arrived.resolve();
    return new Promise<Response>(() => {});
  });
  const { keys, make, stream, ...app } = await openTrial(writeSettings(upstream.url));
  const { key, secret } = await make();
  const reply = stream(secret, "Hello");
  await arrived.promise;
  await keys.revoke(key.id);
  const { status } = await reply;
  expect(status).toBe(401);
  expect(await (await reply).json()).toMatchObject({ code: "invalid_api_key" });
  await upstream.stop();
  await app.stop();
});
