// A process that opens files until descriptors run out, with some in reserve.
import { openSync } from "node:fs";
import { reserveDescriptors, withReserve } from "../../src/platform/descriptors.ts";

const countOpened = (most: number): number => {
  for (let opened = 0; opened < most; opened++) {
    try {
      openSync("/dev/null", "r");
    } catch {
      return opened;
    }
  }
  return most;
};

reserveDescriptors();
const before = countOpened(Number.POSITIVE_INFINITY);
const within = withReserve(() => countOpened(10));
const after = countOpened(10);
const rest = withReserve(() => countOpened(Number.POSITIVE_INFINITY));
console.log(JSON.stringify({ isMany: before > 10, within, after, rest }));
