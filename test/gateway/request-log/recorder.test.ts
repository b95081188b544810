// Tests the recorder with impossible lengths.
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { GatewayRecorder } from "../../../src/gateway/request-log/recorder.ts";
import { createManualClock } from "../../support/clock.ts";

test("an announced length is bounded, so that its sums stay exact", () => {
  const clock = createManualClock();
  const entries: LogEntry[] = [];
  const take = (entry: LogEntry) => void entries.push(entry);
  const caller = { account_id: null, key_id: "key-1" } as Caller;
  const recorder = new GatewayRecorder(
    { route: "chat", drawId: () => "e-1", clock, take },
    { caller, request_id: "request-1", trace: null, started_at: clock.monotonic() },
  );
  recorder.request_bytes = 1e300;
  recorder.close(413, "request_too_large", 0);
  expect(entries).toMatchObject([{ request_bytes: 1e12 }]);
});
