// Keeps the open connections to one server: a request takes one of them, or a new one.
import type { Cancel, Clock } from "../clock.ts";
import type { Connection, ReplyListener } from "./http-connection.ts";
import { dial, type Target } from "./http-dial.ts";

/** Some servers close sooner, uvicorn after 5: a request that runs into that is sent anew. */
const IDLE_MS = 30_000;
const IDLE_MAX = 1_024;
/** A connection that was closed while it was idle tells so within a round trip. */
const STALE_MS = 500;
/**
 * A dead server is dialled for two minutes, until the system gives up: so many attempts may wait.
 */
const DIALS_MAX = 8_192;

/** A request on its way; after its end, or once it was cut, nothing here does anything. */
export interface Exchange {
  /** Ends it at once; its listener hears nothing any more. */
  cut(): void;
  /** Holds the server back: reads nothing more until `resume`. */
  pause(): void;
  resume(): void;
}

export interface Pool {
  /** Sends a request; its listener hears nothing before this has returned. */
  send(request: Buffer, listener: ReplyListener, connect_timeout_ms: number): Exchange;
  /** Closes every connection: who still waits for a reply hears that it was broken off. */
  close(): void;
}

interface Idle {
  connection: Connection;
  since: number;
}

export function createPool(target: Target, clock: Clock): Pool {
  /** The longest idle first; the last one is taken first, so that a rush's surplus can go. */
  const idle: Idle[] = [];
  const open = new Set<Connection>();
  let cancelSweep: Cancel | null = null;
  let isClosed = false;
  let dials = 0;

  const keep = (connection: Connection) => {
    if (isClosed || idle.length >= IDLE_MAX) return connection.close();
    idle.push({ connection, since: clock.monotonic() });
    cancelSweep ??= clock.after(IDLE_MS, sweep);
  };
  const drop = (connection: Connection) => {
    open.delete(connection);
    const at = idle.findIndex((one) => one.connection === connection);
    if (at !== -1) idle.splice(at, 1);
  };
  const sweep = () => {
    const now = clock.monotonic();
    while (idle.length > 0 && idle[0]!.since + IDLE_MS <= now) idle[0]!.connection.close();
    const next = idle[0];
    cancelSweep = next ? clock.after(next.since + IDLE_MS - now, sweep) : null;
  };

  return {
    send(request, listener, timeout_ms) {
      let connection: Connection | null = null;
      let cancelDial: Cancel | null = null;
      const sendAnew = () => {
        connection = null;
        if (dials >= DIALS_MAX) {
          cancelDial = clock.after(0, () => listener.onFailure("timeout"));
          return;
        }
        dials += 1;
        cancelDial = dial(target, {
          clock,
          timeout_ms,
          onFree: keep,
          onGone: drop,
          onOpen(made) {
            if (isClosed) {
              made.close();
              return listener.onFailure("other");
            }
            connection = made;
            open.add(made);
            made.send(request, listener);
          },
          onFailure: (failure) => listener.onFailure(failure),
          onEnd() {
            dials -= 1;
          },
        });
      };
      const taken = idle.pop();
      if (taken) {
        connection = taken.connection;
        // The server may have closed it just as it was taken up. A connection of its own cannot
        // fail for that reason again. Later it has had the request, and may have worked on it.
        const asked_at = clock.monotonic();
        connection.send(request, listener, () => {
          if (clock.monotonic() - asked_at < STALE_MS) sendAnew();
          else listener.onFailure("reset");
        });
      } else sendAnew();
      return {
        cut() {
          cancelDial?.();
          connection?.cut(listener);
        },
        pause: () => connection?.pause(listener),
        resume: () => connection?.resume(listener),
      };
    },
    close() {
      isClosed = true;
      cancelSweep?.();
      for (const connection of [...open]) connection.end();
    },
  };
}
