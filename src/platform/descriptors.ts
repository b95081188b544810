// File descriptors: whether enough of them are free for what must not fail half-way.
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { devNull } from "node:os";

const DIRECTORY = "/proc/self/fd";
/** A burst of connections may take so many before the event loop comes round again. */
const BURST = 1_024;
/** Those that a Worker opens at its start and keeps, within so long. */
const WORKER_DESCRIPTORS = 2;
const WORKER_START_MS = 30;
/** And what it reads its script with. */
const WORKER_READ_MS = 3;

/** The soft limit, which Bun raises to the hard one at its start; null: the system tells none. */
export function readDescriptorLimit(): number | null {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1");
    const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** How many are open, on Linux; since 6.2 the directory's size is the number of its entries. */
export function countDescriptors(): number {
  return statSync(DIRECTORY).size || readdirSync(DIRECTORY).length;
}

/**
 * Starts a Worker. One that finds no descriptor ends the whole process: where connections could
 * take them first, nothing is accepted until it has its own, since this thread waits for it.
 */
export function openWorker(script: URL): Worker {
  const limit = readDescriptorLimit();
  const before = limit === null ? 0 : countDescriptors();
  const worker = new Worker(script);
  if (limit === null || limit - before > BURST) return worker;
  for (let waited_ms = 0; waited_ms < WORKER_START_MS; waited_ms++) {
    if (countDescriptors() >= before + WORKER_DESCRIPTORS) break;
    Bun.sleepSync(1);
  }
  Bun.sleepSync(WORKER_READ_MS);
  return worker;
}

/** Says whether so many files could be opened now; it opens them and closes them again. */
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
