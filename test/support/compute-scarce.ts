// A process without free descriptors that computes, and tries again when some are free.
import { closeSync, openSync } from "node:fs";
import { ComputePool } from "../../src/compute/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { ECHO } from "./compute-worker.ts";

const clock = createSystemClock();
const log = createLog(clock, () => undefined, false);
const script = new URL("./compute-worker.ts", import.meta.url);
const pool = new ComputePool({ script, clock, log });
const turn = { account: "a-1" };
const opened: number[] = [];
try {
  for (;;) opened.push(openSync("/dev/null", "r"));
} catch {}
const scarce = await pool.run(ECHO, "scarce", turn);
for (const descriptor of opened) closeSync(descriptor);
const free = await pool.run(ECHO, "free", turn);
pool.stop();
console.log(JSON.stringify([scarce, free]));
