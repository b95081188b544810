// A clock that is wrong at a start, and a disk that is full for seconds: nothing is deleted or lost.
import { buildWadi } from "../bench/stage.ts";
import { buildFaultShim } from "./fault-shim.ts";
import { proveClock } from "./outside-clock.ts";
import { proveDisk } from "./outside-disk.ts";
import type { Finding } from "./proof.ts";

export const proveClockAndDisk = async (isLong: boolean): Promise<Finding[]> => {
  const shim = await buildFaultShim();
  if (!shim) {
    console.log("outside: the rows of clock and disk need Linux and `cc`, and are left out");
    return [];
  }
  const program = await buildWadi();
  return [...(await proveClock(program, shim)), ...(await proveDisk(program, shim, isLong))];
};
