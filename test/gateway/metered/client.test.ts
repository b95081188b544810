// What a reply that never comes says of its server.
import { expect, test } from "bun:test";
import { requestServer } from "../../../src/gateway/metered/client.ts";
import { createManualClock } from "../../support/clock.ts";

/** Asks a server that says nothing for five seconds. */
async function askSilent(act: (caller: AbortController) => void) {
  const clock = createManualClock();
  const caller = new AbortController();
  const server = { post: () => ({ cut() {} }), get: () => ({ cut() {} }) };
  const asking = requestServer(server as never, {
    ...{ clock, timeout_ms: 5_000, signal: caller.signal, account: "a-1", bytesMax: 1_000 },
    body: "{}",
  });
  await clock.advance(4_999);
  expect(Bun.peek.status(asking)).toBe("pending");
  act(caller);
  await clock.advance(0);
  const timers = clock.pending();
  await clock.advance(1);
  return { reply: await asking, timers };
}

test("a server that is silent for its time may be away, and one that the caller left may not", async () => {
  const { reply: late } = await askSilent(() => {});
  expect(late).toMatchObject({ ok: false, code: "upstream_timeout", noResponse: "perhaps" });
  const { reply: left, timers } = await askSilent((caller) => caller.abort());
  expect(left).toMatchObject({ ok: false, code: "client_closed_request" });
  expect([Object.hasOwn(left, "noResponse"), timers]).toEqual([false, 0]);
});
