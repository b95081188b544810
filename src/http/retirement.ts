// Waits until a server that another one replaces has no clients left.
import { openProcessSockets } from "../net/index.ts";
import { type Clock, wait } from "../platform/clock.ts";
import type { HttpServer } from "./server.ts";

/** Time in which connections still arrive that were under way before the other server listened. */
const ARRIVAL_MS = 1_000;
const CHECK_EVERY_MS = 50;
/** Silence after which a connection counts as idle, so that closing it surprises few clients. */
const IDLE_MS = 5_000;
/** Number of descriptors beyond the open ones, which may have gaps. */
const GAPS_MAX = 256;

/**
 * `endStreams` ends what clients open again elsewhere; streams opened meanwhile are ended too. The
 * signal ends the waiting.
 */
export async function waitForClients(
  server: Pick<HttpServer, "addresses" | "pendingRequests">,
  { clock, endStreams }: { clock: Clock; endStreams(): void },
  deadlineMs: number,
  signal: AbortSignal,
): Promise<void> {
  const beganAt = clock.monotonic();
  const sockets = openProcessSockets();
  const countBusy = () =>
    server.addresses
      .flatMap(({ port }) => sockets?.list(port, 0, sockets.count() + GAPS_MAX) ?? [])
      .filter(({ receivedAgoMs, sentAgoMs }) => Math.min(receivedAgoMs, sentAgoMs) < IDLE_MS)
      .length;
  let checkedMs = 0;
  for (let pastMs = 0; pastMs < deadlineMs; pastMs = clock.monotonic() - beganAt) {
    if (signal.aborted) return;
    endStreams();
    // Requests that came while this process was stopped look idle, although none has been read.
    const wasStopped = pastMs - checkedMs >= IDLE_MS;
    checkedMs = pastMs;
    const isUsed = wasStopped || server.pendingRequests > 0 || countBusy() > 0;
    if (pastMs >= ARRIVAL_MS && !isUsed) return;
    await wait(clock, CHECK_EVERY_MS);
  }
}
