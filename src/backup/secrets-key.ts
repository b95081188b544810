// The secrets key beside data: into a backup, out of it, and along with a move.
import {
  copyKeyFile,
  explainKeyFile,
  type MasterKey,
  parseKeys,
  readKeyFile,
  writeKeys,
} from "../crypto/index.ts";
import { BackupError, type BackupManifest } from "./format.ts";

/** Reads a key file for a backup; the returned function throws unless it opens the secrets. */
export function openBackupKey(file: string): (key_id: string | null) => string {
  const keys = readKeys(file);
  if (!keys) throw new BackupError(`there is no secrets key ${file} to put into the backup`);
  return (key_id) => {
    if (opens(keys, key_id)) return writeKeys(keys);
    throw new BackupError(`${file} is another key than that of the secrets (${key_id})`);
  };
}

/** Finds the key of a backup's secrets in it; undefined where it holds none that opens them. */
export function findBackupKey({ secrets_key, key_id }: BackupManifest) {
  if (secrets_key === null) return undefined;
  const keys = parseKeys(secrets_key);
  return keys && opens(keys, key_id) ? keys : undefined;
}

/** Reads the keys of a file; undefined without one, and a sentence for one that is no key. */
export function readKeys(file: string): readonly MasterKey[] | undefined {
  try {
    return readKeyFile(file, () => {});
  } catch (failure) {
    throw new BackupError(`the secrets key ${file} cannot be used (${explainKeyFile(failure)})`);
  }
}

/** Returns what writes the keys to a file; throws at once where it holds others. */
export function prepareKeyFile(keys: readonly MasterKey[], file: string): () => void {
  const found = readKeys(file);
  if (found && !keys.some(({ id }) => opens(found, id))) {
    throw new BackupError(`${file} is another secrets key: move it away, or name another place`);
  }
  return () => {
    if (!readKeys(file)) copyKeyFile(file, keys);
  };
}

const opens = (keys: readonly MasterKey[], key_id: string | null): boolean =>
  key_id === null || keys.some(({ id }) => id === key_id);
