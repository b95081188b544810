// The writes that readiness makes: a small one, and one as large as those of callers.
import { sql } from "./sql.ts";
import { store } from "./store.ts";

/**
 * Larger than what a journal holds free by chance: on a full disk a small write may succeed where
 * those of callers fail.
 */
const FILLER = "0".repeat(262_144);

export const probeStore = store(
  "probe",
  {},
  {
    /** `at`: milliseconds since 1970. */
    touch: async (tx, at: number) =>
      void (await tx.run(sql`UPDATE wadi_probe SET at = ${at}, filler = ''`)),
    /** Takes room that the next touch gives back. */
    fill: async (tx, at: number) =>
      void (await tx.run(sql`UPDATE wadi_probe SET at = ${at}, filler = ${FILLER}`)),
  },
);
