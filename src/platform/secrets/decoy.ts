// A secret that is nobody's, to be opened where there is none: who measures learns nothing of it.
import { makeMasterKey } from "./master-key.ts";
import { seal, unseal } from "./sealing.ts";
import type { SecretPlace } from "./store.ts";

/** As long as a place of any row and owner. */
const NOBODYS_ID = "00000000-0000-0000-0000-000000000000";
const NOWHERE: SecretPlace = { kind: "trigger", row_id: NOBODYS_ID, account_id: NOBODYS_ID };

/** `text` as what is opened each time, at the cost of a stored secret that is as long. */
export function createDecoy(text: string): () => string {
  const key = makeMasterKey();
  const { sealed } = seal(key, { ...NOWHERE, set_at: 0 }, text);
  return () => unseal(key, NOWHERE, sealed)!;
}
