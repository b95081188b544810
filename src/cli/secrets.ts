// The verbs of `wadi secrets`.
import { administer } from "./administration.ts";
import type { Output } from "./output.ts";
import { type Given, hasFlag } from "./verb.ts";

/** Everything stored is sealed again under a new key, while a server may be running. */
export async function rotateSecrets(given: Given, output: Output): Promise<number> {
  const gives_up = hasFlag(given, "give-up");
  const rotated = await administer(given, ({ secrets }) => secrets.rotate(gives_up));
  const { is_resumed, resealed, given_up } = rotated;
  if (is_resumed) output.say("a rotation that was cut off is ended: its key is the new one");
  if (given_up > 0) output.say(`${count(given_up)} that no key opens were deleted: set them anew`);
  output.say("backups from before hold secrets that only the old key opens");
  output.print(rotated, `${count(resealed)} sealed again\n`);
  return 0;
}

const count = (number: number): string => (number === 1 ? "1 secret" : `${number} secrets`);
