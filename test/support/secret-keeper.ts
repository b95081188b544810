// A store that has secrets, as other cellars have: the parts, each as a write of its own.
import { sql, store } from "../../src/platform/database/index.ts";
import {
  dropSecret,
  putSecret,
  type SealedSecret,
  type SecretKind,
} from "../../src/platform/secrets/store.ts";

export const keeperStore = store(
  "keeper",
  {},
  {
    put: async (tx, secret: SealedSecret) => putSecret(tx, secret),
    drop: async (tx, kind: SecretKind, row_id: string) => dropSecret(tx, kind, row_id),
    /** What a hand at the database can do. */
    async damage(tx, row_id: string, sealed: string) {
      await tx.run(sql`UPDATE secrets SET sealed = ${sealed} WHERE row_id = ${row_id}`);
    },
  },
);
