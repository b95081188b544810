// The box that secrets lie in: seals what is to be stored, and opens what was.
import type { Bound } from "../database/index.ts";
import { ApiError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { seal, unseal } from "./cipher.ts";
import type { Decoy } from "./decoy.ts";
import type { KeyRing } from "./key-ring.ts";
import type { MasterKey } from "./master-key.ts";
import {
  type SealedSecret,
  type SecretKind,
  type SecretOwner,
  type SecretPlace,
  secretError,
  type secretStore,
} from "./store.ts";

/** A rotation takes a person: two of them pass nobody's write. */
const ATTEMPTS_MAX = 3;

/**
 * A secret, or why there is none: it was never set or is gone · the key that opens it is not at
 * hand now · it is damaged, or lies where it was not put.
 */
export type OpenedSecret =
  | { ok: true; secret: string }
  | { ok: false; why: "missing" | "unavailable" | "unreadable" };

export interface SecretStore {
  /** Whether a secret can be stored now; who needs it to be so refuses what `require` throws. */
  isAvailable(): Promise<boolean>;
  /** Refuses with the `…_unavailable` of the kind where no secret can be stored now. */
  require(kind: SecretKind): Promise<void>;
  /**
   * Seals a secret and hands it to `write`, whose transaction keeps it by `putSecret`. `write` may
   * be called again: a rotation may have come in between. Refuses as `require` does.
   */
  store<T>(
    about: SecretOwner,
    secret: string,
    write: (sealed: SealedSecret) => Promise<T>,
  ): Promise<T>;
  /**
   * What was stored last for this place; of another's account it is missing. Where there is none, a
   * decoy is read and opened in its place, and is missing all the same.
   */
  open(place: SecretPlace, decoy?: Decoy): Promise<OpenedSecret>;
}

export interface SecretStoreOptions {
  store: Bound<typeof secretStore>;
  ring: KeyRing;
  log: Pick<Log, "warn" | "info">;
}

export function createSecretStore({ store, ring, log }: SecretStoreOptions): SecretStore {
  let isFaultTold = false;

  const tellFault = () => {
    if (!isFaultTold) log.warn(sayFault(ring));
    isFaultTold = true;
  };
  const findKey = (key_id: string): MasterKey | undefined => {
    const isIt = (key: MasterKey) => key.id === key_id;
    // A rotation may have written the file since it was looked at.
    return ring.list().find(isIt) ?? ring.look().find(isIt);
  };
  /** The key of the database's secrets, told of when it goes and when it is back. */
  const findTold = (key_id: string): MasterKey | undefined => {
    const key = findKey(key_id);
    if (!key) tellFault();
    else if (isFaultTold) log.info("the secrets key is back: stored secrets can be used again");
    isFaultTold = !key;
    return key;
  };
  /** undefined: nothing can be sealed now. */
  const findSealing = async (claims: boolean): Promise<MasterKey | undefined> => {
    const known = await store.findKey();
    if (known !== undefined) return findTold(known);
    const [newest] = ring.make();
    if (newest) return claims ? findTold(await store.claim(newest.id)) : newest;
    tellFault();
    return undefined;
  };
  return {
    isAvailable: async () => (await findSealing(false)) !== undefined,
    async require(kind) {
      if (!(await findSealing(false))) throw secretError(kind);
    },
    async store(about, secret, write) {
      for (let attempts = 1; ; attempts++) {
        const key = await findSealing(true);
        if (!key) throw secretError(about.kind);
        try {
          return await write(seal(key, about, secret));
        } catch (failure) {
          if (attempts === ATTEMPTS_MAX || !isPassed(failure, about.kind)) throw failure;
        }
      }
    },
    async open(place, decoy) {
      const { kind, row_id, account_id } = place;
      let tried: string | null = null;
      for (;;) {
        const found = await (decoy
          ? store.findOr(kind, row_id, decoy.sealed)
          : store.find(kind, row_id));
        if (decoy && found?.key_id === decoy.key.id) {
          unseal(decoy.key, decoy.sealed, found.sealed);
          return { ok: false, why: "missing" };
        }
        if (found?.account_id !== account_id) return { ok: false, why: "missing" };
        const key = findKey(found.key_id);
        if (key) {
          const secret = unseal(key, place, found.sealed);
          if (secret !== null) return { ok: true, secret };
          log.warn(`the secret of the ${kind} ${row_id} cannot be opened: it is damaged`);
          return { ok: false, why: "unreadable" };
        }
        // It may have been sealed again between the look at it and that at the file.
        if (found.sealed === tried) break;
        tried = found.sealed;
      }
      await findSealing(false);
      return { ok: false, why: "unavailable" };
    },
  };
}

/** Said at the start, and whenever the key goes. */
function sayFault({ file, fault }: KeyRing): string {
  const what = fault() ?? "is another than that of the stored secrets";
  const where = file === null ? "" : ` in ${file}`;
  return `the secrets key${where} ${what}: secrets can be neither used nor stored for now`;
}

function isPassed(failure: unknown, kind: SecretKind): boolean {
  return failure instanceof ApiError && failure.code === secretError(kind).code;
}
