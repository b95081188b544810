// The breaker of one replica: which fails too often is passed over, and then tried again.
import type { Clock } from "../../platform/clock.ts";
import type { UpstreamError, UpstreamResult } from "../providers/contract.ts";

/** So many failures within the window open it. */
const FAILURES_MAX = 5;
const WINDOW_MS = 60_000;
/** For so long it stays open; then single requests try whether the replica has recovered. */
const OPEN_MS = 30_000;
/** So many of them, one after another, close it. */
const SUCCESSES_NEEDED = 2;

/** One request to the replica, as the breaker sees it. */
export interface BreakerTrial {
  /** It is the one that tries whether the replica has recovered. */
  isTrial: boolean;
  /** How much had been heard of the replica when it began. */
  heard: number;
}

export interface Breaker {
  /** False: others are asked while there are any. */
  mayAsk(): boolean;
  /** The failure that stands for its silence; null: it has been heard since, whatever it said. */
  findSilence(): UpstreamError | null;
  begin(): BreakerTrial;
  /** null: nothing that says anything of it, such as a bug of ours. */
  end(trial: BreakerTrial, ending: UpstreamResult | null): void;
  /** It was heard: it is there, whatever becomes of the requests; the trial of which it was. */
  hear(trial?: BreakerTrial): void;
  /** How much has been heard of it so far. */
  countHeard(): number;
  close(): void;
}

export interface BreakerOptions {
  clock: Clock;
  /** It was closed until now, or open. */
  onTurn(isOpen: boolean): void;
  /** It begins to try the replica in so many milliseconds. */
  onOpen(openMs: number): void;
  /** The one that tries the replica was heard: another may. */
  onHeard(): void;
}

/** What an ending says of the replica. */
type ReplicaSign = "good" | "bad" | "answered" | "nothing";

export function createBreaker({ clock, onTurn, onOpen, onHeard }: BreakerOptions): Breaker {
  /** When it failed lately; the oldest first. */
  let failures: number[] = [];
  /** null: it is closed. */
  let openUntil: number | null = null;
  /** null: none is under way of which nothing was heard yet. */
  let tried: BreakerTrial | null = null;
  let successes = 0;
  let heard = 0;
  /** Failures in a row without anything heard of the replica. */
  let silences = 0;
  let silence: UpstreamError | null = null;

  /** It is open, and it is time to try the replica. */
  const isTrying = () => openUntil !== null && clock.monotonic() >= openUntil;
  const hear = (trial?: BreakerTrial) => {
    heard += 1;
    silences = 0;
    // It answers. However long the answer may be, the next one may try as well.
    if (trial && tried === trial) {
      tried = null;
      onHeard();
    }
  };
  const open = () => {
    const isTurn = openUntil === null;
    openUntil = clock.monotonic() + OPEN_MS;
    failures = [];
    successes = 0;
    if (isTurn) onTurn(true);
    onOpen(OPEN_MS);
  };
  const close = () => {
    const isTurn = openUntil !== null;
    openUntil = null;
    failures = [];
    tried = null;
    silences = 0;
    if (isTurn) onTurn(false);
  };
  const noteFailure = (isTrial: boolean) => {
    if (openUntil !== null) {
      // What began before it opened, or was asked for want of others, changes nothing.
      if (isTrial) open();
      return;
    }
    const now = clock.monotonic();
    failures = failures.filter((failedAt) => now - failedAt < WINDOW_MS);
    failures.push(now);
    if (failures.length >= FAILURES_MAX) open();
  };

  return {
    mayAsk: () => openUntil === null || (!tried && isTrying()),
    findSilence: () => (silences >= FAILURES_MAX ? silence : null),
    begin() {
      const isTrial = !tried && isTrying();
      const trial = { isTrial, heard };
      if (isTrial) tried = trial;
      return trial;
    },
    end(trial, ending) {
      const { isTrial, heard: heardBefore } = trial;
      if (tried === trial) tried = null;
      const sign = ending && readSign(ending);
      if (!ending || sign === "nothing") return;
      if (ending.ok || !ending.noResponse) hear();
      // Where others were answered meanwhile, it is there.
      else if (ending.noResponse === "surely" && heard === heardBefore) {
        silences += 1;
        silence = ending;
      }
      if (sign === "bad") noteFailure(isTrial);
      // Another trial may have failed meanwhile: what began before that proves nothing any more.
      else if (sign === "good" && isTrial && isTrying() && ++successes >= SUCCESSES_NEEDED) close();
    },
    hear,
    countHeard: () => heard,
    close,
  };
}

function readSign(ending: UpstreamResult): ReplicaSign {
  if (ending.ok) return "good";
  const { code, retryable: elsewhere } = ending;
  // The caller left, which tells nothing of the replica.
  if (code === "client_closed_request") return "nothing";
  // Overload goes by itself; what is the request's own fault would fail anywhere.
  if (code === "upstream_rate_limited") return "answered";
  return elsewhere || code === "upstream_timeout" ? "bad" : "answered";
}
