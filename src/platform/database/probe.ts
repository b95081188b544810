// The smallest write there is: by it readiness knows that the database can be written to.
import { sql } from "./sql.ts";
import { store } from "./store.ts";

export const probeStore = store(
  "probe",
  {},
  {
    /** `at`: milliseconds since 1970. */
    touch: async (tx, at: number) => void (await tx.run(sql`UPDATE wadi_probe SET at = ${at}`)),
  },
);
