import type { Ids } from "../../src/platform/ids.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The same seed makes the same ids in order; UUIDs are of version 7 and ascend. */
export function createSeededIds(seed = 1): Ids {
  const draw = createDraw(seed);
  const drawText = (length: number, letters: string) => {
    let text = "";
    for (let at = 0; at < length; at++) text += letters[Math.floor(draw() * letters.length)];
    return text;
  };
  const drawHex = (length: number) => drawText(length, "0123456789abcdef");
  let instant_ms = Date.UTC(2026, 10, 20, 12);
  return {
    uuid() {
      const time = (instant_ms++).toString(16).padStart(12, "0");
      const variant = "89ab"[Math.floor(draw() * 4)];
      const random = `7${drawHex(3)}-${variant}${drawHex(3)}-${drawHex(12)}`;
      return `${time.slice(0, 8)}-${time.slice(8)}-${random}`;
    },
    token: (length) => drawText(length, BASE62),
  };
}

/** Fractions from 0 up to 1 by a linear congruential generator, whose high bits are good. */
function createDraw(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
