// Counts file descriptors, and starts Workers only where they find enough.
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { devNull } from "node:os";
import { openLibc } from "./libc.ts";

const DIRECTORY = "/proc/self/fd";
/** Number of descriptors that a burst of connections may take in one turn of the event loop. */
const BURST = 1_024;
const WORKER_DESCRIPTORS = 2;
const WORKER_START_MS = 30;
/** Time in which a Worker reads its script through one more descriptor. */
const WORKER_READ_MS = 3;
const RLIMIT_NOFILE = 7;
/** Share of all descriptors that accepted connections cannot take, and its maximum. */
const RESERVED_SHARE = 1 / 8;
const RESERVED_MAX = 1_024;

interface SoftLimit {
  read(): bigint;
  /** Has no effect above the hard limit. */
  write(limit: bigint): void;
}

let reserve: { limit: SoftLimit; size: bigint } | undefined;

/** The soft limit, which Bun raises to the hard one at its start; null outside of Linux. */
export function readDescriptorLimit(): number | null {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1");
    const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Counts open descriptors; since Linux 6.2 the directory's size is the number of its entries. */
export function countDescriptors(): number {
  return statSync(DIRECTORY).size || readdirSync(DIRECTORY).length;
}

/**
 * Starts a Worker. A Worker without a descriptor ends the whole process. Where connections could
 * take them first, this thread blocks until the Worker has its own, so that nothing is accepted.
 */
export function openWorker(script: URL): Worker {
  const limit = readDescriptorLimit();
  const before = limit === null ? 0 : countDescriptors();
  const worker = new Worker(script);
  if (limit === null || limit - before > BURST) return worker;
  for (let waitedMs = 0; waitedMs < WORKER_START_MS; waitedMs++) {
    if (countDescriptors() >= before + WORKER_DESCRIPTORS) break;
    Bun.sleepSync(1);
  }
  Bun.sleepSync(WORKER_READ_MS);
  return worker;
}

/**
 * Keeps descriptors for `withReserve`, by a lower soft limit: a flood of clients refills at once
 * what is freed, so connections to model servers would rarely find a descriptor.
 */
export function reserveDescriptors(): void {
  const limit = readDescriptorLimit();
  const libc = openLibc({
    getrlimit: { args: ["i32", "ptr"], returns: "i32" },
    setrlimit: { args: ["i32", "ptr"], returns: "i32" },
  });
  if (!libc || limit === null || reserve) return;
  const limits = new BigUint64Array(2);
  const soft: SoftLimit = {
    read() {
      libc.getrlimit(RLIMIT_NOFILE, limits);
      return limits[0]!;
    },
    write(value) {
      limits[0] = value;
      libc.setrlimit(RLIMIT_NOFILE, limits);
    },
  };
  const size = BigInt(Math.min(RESERVED_MAX, Math.floor(limit * RESERVED_SHARE)));
  reserve = { limit: soft, size };
  soft.write(soft.read() - size);
}

/** Runs a function that may take reserved descriptors, but only before it returns. */
export function withReserve<Result>(run: () => Result): Result {
  if (!reserve) return run();
  // The limit may have been changed from outside.
  const lowered = reserve.limit.read();
  reserve.limit.write(lowered + reserve.size);
  try {
    return run();
  } finally {
    reserve.limit.write(lowered);
  }
}

export function hasFreeDescriptors(count: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
