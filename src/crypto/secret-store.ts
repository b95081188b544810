// Stores secrets sealed, opens them, and rotates their key.
import type { Bound } from "../database/index.ts";
import { ApiError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { type Decoy, seal, unseal } from "./cipher.ts";
import type { KeyRing } from "./key-ring.ts";
import { createHash, type Hash, type MasterKey, makeMasterKey } from "./master-key.ts";
import { type RotationRequest, type RotationResult, rotateSecrets } from "./rotation.ts";
import {
  type SealedSecret,
  type SecretKind,
  type SecretOwner,
  type SecretPlace,
  secretError,
  type secretStore,
} from "./store.ts";

/** Maximum attempts of a write during rotations, which only a person starts. */
const ATTEMPTS_MAX = 3;

/**
 * `missing`: it was never set, or is gone · `unavailable`: its key is not at hand now ·
 * `unreadable`: it is damaged, or was moved.
 */
export type OpenedSecret =
  | { ok: true; secret: string }
  | { ok: false; reason: "missing" | "unavailable" | "unreadable" };

export interface SecretStoreOptions {
  store: Bound<typeof secretStore>;
  ring: KeyRing;
  log: Pick<Log, "warn" | "info">;
}

export type Secrets = Pick<SecretStore, "isAvailable" | "require" | "store" | "open">;

export class SecretStore {
  readonly #store: Bound<typeof secretStore>;
  readonly #ring: KeyRing;
  readonly #log: Pick<Log, "warn" | "info">;
  #isFaultLogged = false;

  constructor({ store, ring, log }: SecretStoreOptions) {
    this.#store = store;
    this.#ring = ring;
    this.#log = log;
  }

  async isAvailable(): Promise<boolean> {
    return (await this.#findSealingKey({ claim: false })) !== undefined;
  }

  /** Throws the `…_unavailable` of the kind where no secret can be stored now. */
  async require(kind: SecretKind): Promise<void> {
    if (!(await this.isAvailable())) throw secretError(kind);
  }

  /**
   * Seals a secret for `write`, whose transaction keeps it by `putSecret`. A rotation in between
   * repeats `write`. Throws as `require` does.
   */
  async store<T>(
    about: SecretOwner,
    secret: string,
    write: (sealed: SealedSecret) => Promise<T>,
  ): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      const key = await this.#findSealingKey({ claim: true });
      if (!key) throw secretError(about.kind);
      try {
        return await write(seal(key, about, secret));
      } catch (failure) {
        const isOvertaken =
          failure instanceof ApiError && failure.code === secretError(about.kind).code;
        if (attempts === ATTEMPTS_MAX || !isOvertaken) throw failure;
      }
    }
  }

  /**
   * Opens the secret of a place; that of another account is missing. Where there is none, a `decoy`
   * is read and opened at the same cost.
   */
  async open(place: SecretPlace, decoy?: Decoy): Promise<OpenedSecret> {
    const { kind, row_id, account_id } = place;
    let tried: string | null = null;
    for (;;) {
      const found = await (decoy
        ? this.#store.findOr(kind, row_id, decoy.sealed)
        : this.#store.find(kind, row_id));
      if (decoy && found?.key_id === decoy.key.id) {
        unseal(decoy.key, decoy.sealed, found.sealed);
        return { ok: false, reason: "missing" };
      }
      if (found?.account_id !== account_id) return { ok: false, reason: "missing" };
      const key = this.#findKey(found.key_id);
      if (key) {
        const secret = unseal(key, place, found.sealed);
        if (secret !== null) return { ok: true, secret };
        this.#log.warn(`the secret of the ${kind} ${row_id} cannot be opened: it is damaged`);
        return { ok: false, reason: "unreadable" };
      }
      // A rotation may have sealed it again since it was read.
      if (found.sealed === tried) break;
      tried = found.sealed;
    }
    // Logs the fault of the key.
    await this.#findSealingKey({ claim: false });
    return { ok: false, reason: "unavailable" };
  }

  /** Lists the ids of the keys at hand, newest first. */
  listKeyIds(): string[] {
    return this.#ring.refresh().map(({ id }) => id);
  }

  rotate(request: RotationRequest): Promise<RotationResult> {
    return rotateSecrets({ store: this.#store, ring: this.#ring, ...request });
  }

  /**
   * Opens hashes for a server's start, each purpose with its own. Makes the key where nothing was
   * sealed yet, and logs a faulty one; hashes without a key hold for this run.
   */
  async openHashes(): Promise<(purpose: string) => Hash> {
    // Makes the file, unless sealed secrets need the missing one.
    await this.isAvailable();
    const [newest] = this.#ring.list();
    if (!newest) this.#log.warn("without a secrets key, hashes in the log hold for this run only");
    const key = newest ?? makeMasterKey();
    return (purpose) => createHash(key, purpose);
  }

  #findKey(key_id: string): MasterKey | undefined {
    const isIt = (key: MasterKey) => key.id === key_id;
    // A rotation may have changed the file since the last check.
    return this.#ring.list().find(isIt) ?? this.#ring.refresh().find(isIt);
  }

  async #findSealingKey({ claim }: { claim: boolean }): Promise<MasterKey | undefined> {
    const known = await this.#store.findKey();
    if (known !== undefined) return this.#findLogged(known);
    const [newest] = this.#ring.make();
    if (newest) return claim ? this.#findLogged(await this.#store.claim(newest.id)) : newest;
    this.#logFault();
    return undefined;
  }

  /** Finds the database's key, and logs when it goes and when it is back. */
  #findLogged(key_id: string): MasterKey | undefined {
    const key = this.#findKey(key_id);
    if (!key) this.#logFault();
    else if (this.#isFaultLogged) {
      this.#log.info("the secrets key is back: stored secrets can be used again");
    }
    this.#isFaultLogged = !key;
    return key;
  }

  #logFault(): void {
    if (this.#isFaultLogged) return;
    this.#isFaultLogged = true;
    const { file } = this.#ring;
    const what = this.#ring.fault() ?? "is another than that of the stored secrets";
    const where = file === null ? "" : ` in ${file}`;
    this.#log.warn(
      `the secrets key${where} ${what}: secrets can be neither used nor stored for now`,
    );
  }
}
