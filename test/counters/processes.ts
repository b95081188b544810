// Several processes on one database and one Valkey server, each behind a proxy of its own.
import { LimiterGroup, type LimitRule, RateLimiter } from "../../src/access/index.ts";
import { processStore } from "../../src/cluster/store.ts";
import { shareCounters } from "../../src/counters/index.ts";
import type { DatabaseLocation } from "../../src/database/index.ts";
import { Capacity } from "../../src/gateway/metered/capacity.ts";
import { CapacityGroup } from "../../src/gateway/metered/capacity-group.ts";
import { SharedSlots } from "../../src/models/replicas/shared-slots.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { openTestDatabase } from "../support/database.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

export interface Setup {
  place: Extract<DatabaseLocation, { kind: "postgres" }>;
  /** Port of Valkey. */
  port: number;
  rule: LimitRule;
  slots?: number;
  /** Other data may use the same Valkey. */
  installation: string;
}

export type TestProcess = Awaited<ReturnType<typeof openProcess>>;

export async function openProcess({ place, port, rule, installation, slots = 2 }: Setup) {
  const clock = createSystemClock();
  const { hostname, port: serverPort } = new URL(place.url);
  const databaseProxy = startTcpProxy(hostname, Number(serverPort));
  const proxied = Object.assign(new URL(place.url), { port: String(databaseProxy.port) }).href;
  const database = await openTestDatabase({ ...place, url: proxied });
  const processes = database.bind(processStore);
  const epoch = await processes.register(clock.now());
  const limiter = new RateLimiter(clock, rule);
  const limits = new LimiterGroup({ accounts: limiter });
  const capacity = new Capacity(clock, { max_concurrent: slots, max_queued: 8 });
  const sharedSlots = new SharedSlots(clock);
  const proxy = startTcpProxy("127.0.0.1", port);
  const lines: string[] = [];
  const [counters] = await shareCounters({
    ...{ url: `redis://127.0.0.1:${proxy.port}`, installation },
    ...{ database, process: { epoch }, limits, clock },
    capacities: new CapacityGroup({ embeddings: capacity }),
    modelSlots: sharedSlots,
    // A machine that runs tests may be slow.
    callMs: 1_000,
    log: createLog(clock, (line) => void lines.push(line), false),
  });
  if (!counters) throw new Error("they are not shared");
  await counters.start();
  return {
    ...{ epoch, limiter, limits, capacity, sharedSlots, proxy, counters, lines, database },
    databaseProxy,
    get isOn() {
      return counters.status().state === "on";
    },
    async stop() {
      await counters.stop();
      await processes.end(epoch, clock.now());
      proxy.stop();
      await database.close();
      databaseProxy.stop();
    },
  };
}

/** Waits for a condition of another process. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

export interface Attempt {
  /** Interval in which it was decided. */
  from: number;
  to: number;
  waitMs: number;
}

/** Claims once, and notes between which instants it was decided. */
export async function attempt({ limiter }: TestProcess, name: string): Promise<Attempt> {
  const from = performance.now();
  const waitMs = await limiter.claim(name);
  const to = performance.now();
  // A claim that nobody can decide takes no time.
  await new Promise((resolve) => setTimeout(resolve, 1));
  return { from, to, waitMs };
}

/** Counts the most admissions that surely lie in one window. */
export function countMost(attempts: readonly Attempt[], windowMs: number): number {
  const admitted = attempts.filter(({ waitMs }) => waitMs === 0);
  const counts = admitted.map(({ from }) => {
    return admitted.filter((other) => other.from >= from && other.to < from + windowMs).length;
  });
  return Math.max(0, ...counts);
}
