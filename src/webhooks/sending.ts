// Sends what is claimed, as soon as there is a place for it.
import type { Attempted, Attempting } from "./attempt.ts";
import type { Places, Seat } from "./places.ts";
import type { AttemptEnd } from "./verdict.ts";

export interface DispatcherSight {
  /** Deliveries that are being sent. */
  sending: number;
  /** Since the start of the process. */
  attempts: Readonly<Record<AttemptEnd, number>>;
}

export interface SendingOptions {
  places: Places;
  attempt: Attempting;
  /** Its place is free already. */
  onOver(attempted: Attempted): void;
  /** A delivery broke off by a bug: the others are sent all the same. */
  onBug(error: unknown): void;
}

export interface Sending {
  /** Begins whatever has a place. */
  begin(): void;
  /** Gives up what is under way, as if it had not been tried. */
  breakOff(): void;
  see(): DispatcherSight;
}

export function createSending({ places, attempt, onOver, onBug }: SendingOptions): Sending {
  const underway = new Map<Seat, AbortController>();
  const attempts = { delivered: 0, rejected: 0, timeout: 0, unreachable: 0 };

  const send = async (seat: Seat) => {
    const controller = new AbortController();
    underway.set(seat, controller);
    const attempted = await attempt(seat.claimed, controller.signal);
    const { end, duration_ms } = attempted;
    underway.delete(seat);
    if (end !== null) attempts[end] += 1;
    const came = end === null ? null : { is_success: end === "delivered", took_ms: duration_ms };
    places.leave(seat, came);
    onOver(attempted);
  };
  return {
    begin() {
      for (let seat = places.take(); seat; seat = places.take()) send(seat).catch(onBug);
    },
    breakOff() {
      for (const controller of underway.values()) controller.abort();
    },
    see: () => ({ sending: underway.size, attempts }),
  };
}
