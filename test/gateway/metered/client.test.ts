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
  await clock.advance(1);
  return asking;
}

test("a server that is silent for its time may be away, and one that the caller left may not", async () => {
  const late = await askSilent(() => {});
  expect(late).toMatchObject({ ok: false, code: "upstream_timeout", noResponse: "perhaps" });
  const left = await askSilent((caller) => caller.abort());
  expect(left).toMatchObject({ ok: false, code: "client_closed_request" });
  expect(left).not.toHaveProperty("noResponse");
});

test("an answer leaves no timer behind", async () => {
  const clock = createManualClock();
  const post = (_body: string, _headers: object, { onFailure }: { onFailure(f: string): void }) => {
    queueMicrotask(() => onFailure("unreachable"));
    return { cut() {} };
  };
  await requestServer({ post } as never, {
    ...{ clock, timeout_ms: 5_000, signal: new AbortController().signal },
    ...{ account: "a-1", bytesMax: 1_000, body: "{}" },
  });
  expect(clock.pending()).toBe(0);
});
