// The line before the places of one model: accounts take turns, and nobody waits for ever.
import type { Clock } from "../../platform/clock.ts";
import type { Failure } from "../upstream/contract.ts";
import { explainCut } from "../upstream/openai-failure.ts";

/** More would only wait for their time-out; each keeps its request in memory. */
const WAITING_MAX = 1_000;

export interface Waiting<Found> {
  account: string;
  /** Takes a place if there is one; null: there is none for it. */
  find(): Found | null;
  /** Others may find a place where this one does not. */
  isPicky: boolean;
  timeout_ms: number;
  signal: AbortSignal;
}

export interface Line<Found> {
  /** What was found, or why it is no longer waited for. */
  wait(waiting: Waiting<Found>): Promise<Found | Failure>;
  /** A place may have become free: whoever's turn it is takes it, at once. */
  serve(): void;
}

interface Entry<Found> {
  waiting: Waiting<Found>;
  settle(outcome: Found | Failure): void;
}

export function createLine<Found>(clock: Clock): Line<Found> {
  /** Who waits for each account, in the order in which they came; the next account stands first. */
  const accounts = new Map<string, Set<Entry<Found>>>();
  let size = 0;

  const add = (entry: Entry<Found>) => {
    const { account } = entry.waiting;
    const line = accounts.get(account);
    if (line) line.add(entry);
    else accounts.set(account, new Set([entry]));
    size += 1;
  };
  const remove = (entry: Entry<Found>) => {
    const { account } = entry.waiting;
    const line = accounts.get(account);
    if (!line?.delete(entry)) return;
    size -= 1;
    if (line.size === 0) accounts.delete(account);
  };
  /** In a full line the newest of the longest account gives way, so that nobody fills it alone. */
  const makeRoom = (account: string): boolean => {
    let longest = accounts.get(account) ?? new Set();
    // With its new one, whoever comes must not be the longest itself.
    let length = longest.size + 1;
    for (const line of accounts.values()) {
      if (line.size > length) [longest, length] = [line, line.size];
    }
    const newest = [...longest].at(-1);
    if (!newest || newest.waiting.account === account) return false;
    newest.settle(explainFull());
    return true;
  };
  /** Who had the turn goes to the end; null: nobody finds a place. */
  const serveNext = (): boolean => {
    for (const [account, line] of accounts) {
      for (const entry of line) {
        const found = entry.waiting.find();
        if (found === null) {
          if (entry.waiting.isPicky) continue;
          return false;
        }
        accounts.delete(account);
        accounts.set(account, line);
        entry.settle(found);
        return true;
      }
    }
    return false;
  };

  return {
    wait(waiting) {
      const { account, signal, timeout_ms } = waiting;
      if (signal.aborted) return Promise.resolve(explainCut("left"));
      if (size >= WAITING_MAX && !makeRoom(account)) return Promise.resolve(explainFull());
      const { promise, resolve } = Promise.withResolvers<Found | Failure>();
      const entry: Entry<Found> = {
        waiting,
        settle(outcome) {
          cancel();
          signal.removeEventListener("abort", leave);
          remove(entry);
          resolve(outcome);
        },
      };
      const leave = () => entry.settle(explainCut("left"));
      const cancel = clock.after(timeout_ms, () => entry.settle(explainLate()));
      signal.addEventListener("abort", leave, { once: true });
      add(entry);
      return promise;
    },
    serve() {
      while (size > 0 && serveNext());
    },
  };
}

/** gateway.errors.upstream_rate_limited */
function explainFull(): Failure {
  const why = "too many requests wait for its model servers";
  return { ok: false, code: "upstream_rate_limited", elsewhere: false, why };
}

/** gateway.errors.upstream_timeout */
function explainLate(): Failure {
  const why = "no model server had a free place in time";
  return { ok: false, code: "upstream_timeout", elsewhere: false, why };
}
