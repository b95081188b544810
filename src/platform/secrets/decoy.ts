// A secret that is nobody's, to be opened where there is none: who measures learns nothing of it.
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import { seal } from "./sealing.ts";
import type { SealedSecret, SecretKind } from "./store.ts";

export interface Decoy {
  key: MasterKey;
  sealed: SealedSecret;
}

/** As long as the id of any row or owner. */
const NOBODYS_ID = "00000000-0000-0000-0000-000000000000";

/** `text` sealed once, with a key of its own; it opens at the cost of a secret that is as long. */
export function createDecoy(kind: SecretKind, text: string): Decoy {
  const key = makeMasterKey();
  const about = { kind, row_id: NOBODYS_ID, account_id: NOBODYS_ID, set_at: 0 };
  return { key, sealed: seal(key, about, text) };
}
