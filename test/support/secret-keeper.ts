// A store of secrets like the program's, with each part as a separate write.

import {
  dropSecret,
  putSecret,
  type SealedSecret,
  type SecretKind,
} from "../../src/crypto/store.ts";
import { sql, store } from "../../src/database/index.ts";

/** Pauses a write inside its transaction; `reached` resolves once it is paused. */
export const holding = {
  wait: async () => {},
  begin() {
    const reached = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    holding.wait = () => {
      reached.resolve();
      return over.promise;
    };
    return { reached: reached.promise, release: over.resolve };
  },
};

export const keeperStore = store(
  "keeper",
  {},
  {
    put: async (tx, secret: SealedSecret) => putSecret(tx, secret),
    /** Pauses after the statements; only if writes run in this thread. */
    async putHeld(tx, secret: SealedSecret) {
      await putSecret(tx, secret);
      await holding.wait();
    },
    drop: async (tx, kind: SecretKind, row_id: string) => dropSecret(tx, kind, row_id),
    /** Damages a sealed secret, like a direct change in the database. */
    async damage(tx, row_id: string, sealed: string) {
      await tx.run(sql`UPDATE secrets SET sealed = ${sealed} WHERE row_id = ${row_id}`);
    },
  },
);
