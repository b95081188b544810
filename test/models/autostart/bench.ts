// A managed server on a manual clock, with a scripted server and numbered callers.

import { type Database, openDatabase } from "../../../src/database/index.ts";
import { ManagedServer } from "../../../src/models/autostart/managed-server.ts";
import type { StartPlan } from "../../../src/models/autostart/start-plan.ts";
import { managedServerStore } from "../../../src/models/autostart/store.ts";
import { createLog } from "../../../src/platform/log.ts";
import { stores } from "../../../src/stores.ts";
import { createManualClock } from "../../support/clock.ts";
import { placeInMemory } from "../../support/memory.ts";

export interface Bench extends AsyncDisposable {
  managed: ManagedServer;
  clock: ReturnType<typeof createManualClock>;
  /** The behaviour of its server, which a test changes. */
  server: {
    isHealthy: boolean;
    /** The result of the start action, now or later. */
    start(signal: AbortSignal): Promise<string | null>;
    stop(signal: AbortSignal): Promise<string | null>;
    looks: number;
    starts: number;
    stops: number;
  };
  /** What the next write of its state waits for; null: nothing. */
  writes: { hold: Promise<void> | null };
  lines: string[];
  database: Database;
  /** Sends a request and adds its outcome to `ended`, such as `1 up` or `2 model_offline`. */
  call(name: string | number, signal?: AbortSignal, account?: string): Promise<void>;
  ended: string[];
  /** Lets work on the server wait for this. */
  wait(other: Promise<void>): void;
  /** The reason of its last failure. */
  why(): string;
  state(): Promise<string>;
}

export interface BenchOptions {
  plan?: Partial<StartPlan>;
  /** The database of an earlier process. */
  database?: Database;
  /** Whether the managed server has a holder. */
  isHeld?: boolean;
  /** What work on the server waits for first. */
  lease?: Promise<void>;
  /** Whether the lease is still this process's. */
  mayAct?(): Promise<boolean>;
}

/** A holder without reactions. */
export const NOBODY = { onUp() {}, onDown() {} };

export async function openBench({
  plan = {},
  isHeld = true,
  lease,
  mayAct = async () => true,
  ...given
}: BenchOptions = {}) {
  const clock = createManualClock();
  const lines: string[] = [];
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database =
    given.database ??
    (await openDatabase({ place: await placeInMemory(), stores, clock, onFailure }));
  const server: Bench["server"] = {
    isHealthy: false,
    start: async () => null,
    stop: async () => null,
    looks: 0,
    starts: 0,
    stops: 0,
  };
  const writes: Bench["writes"] = { hold: null };
  const notes = database.bind(managedServerStore);
  const note: typeof notes.note = async (...row) => {
    const { hold } = writes;
    writes.hold = null;
    await hold;
    return notes.note(...row);
  };
  const managed = new ManagedServer({
    id: "unit-1",
    name: { upstream: "gpu:8000" },
    clock,
    log: createLog(clock, (line) => void lines.push(line.slice(9).trimEnd()), true),
    notes: { ...notes, note },
    process: {
      async withLease(_, work) {
        await lease;
        await work(mayAct);
        return true;
      },
    },
    isShared: false,
    plan: {
      async isUp() {
        server.looks++;
        return server.isHealthy;
      },
      start(signal) {
        server.starts++;
        return server.start(signal);
      },
      stop(signal) {
        server.stops++;
        return server.stop(signal);
      },
      timeoutMs: 600_000,
      idleStopMs: 0,
      minUpMs: 0,
      ...plan,
    },
  });
  if (isHeld) managed.hold(NOBODY);
  await clock.advance(0);
  const ended: string[] = [];
  let said = "";
  const bench: Bench = {
    managed,
    clock,
    server,
    writes,
    lines,
    database,
    ended,
    async call(name, signal = new AbortController().signal, account = "account-1") {
      const refused = await managed.enter(account, signal);
      ended.push(`${name} ${refused?.code ?? "up"}`);
      if (refused) said = refused.reason;
    },
    wait(other) {
      lease = other;
    },
    why: () => said,
    state: async () => {
      await clock.advance(0);
      return (await notes.find("unit-1"))?.state ?? "unknown";
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
  return bench;
}
