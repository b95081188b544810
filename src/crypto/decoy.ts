// A secret that is nobody's, to be opened where there is none: who measures learns nothing of it.
import { NO_ID } from "../platform/ids.ts";
import { seal } from "./cipher.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import type { SealedSecret, SecretKind } from "./store.ts";

export interface Decoy {
  key: MasterKey;
  sealed: SealedSecret;
}

/** `text` sealed once, with a key of its own; it opens at the cost of a secret that is as long. */
export function createDecoy(kind: SecretKind, text: string): Decoy {
  const key = makeMasterKey();
  const about = { kind, row_id: NO_ID, account_id: NO_ID, set_at: 0 };
  return { key, sealed: seal(key, about, text) };
}
