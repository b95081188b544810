// Creates a settings file or adds to one; existing text is never changed.
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import {
  placeTable,
  readSettings,
  type Settings,
  SettingsError,
  writeTemplate,
} from "../settings/index.ts";
import { AdminError } from "./errors.ts";

/** File mode: owner only, since settings name the places of secrets. */
const MODE = 0o600;

export function createSettingsFile(file: string): void {
  holdDraft(file, file, (draft) => {
    replaceFile(file, { draft, bytes: Buffer.from(writeTemplate()), before: undefined });
  });
}

/** Appends a model's block to a file, or creates it; writes nothing unless the result is valid. */
export function addModel(file: string, id: string, block: string, env: NodeJS.ProcessEnv): void {
  add(file, env, (text, { models }) => {
    const isThere = models.some((model) => model.id === id);
    const conflict = `${file} has a model "${id}" already: give this one another --id`;
    return { ...appendBlock(text, block), conflict: isThere ? conflict : null };
  });
}

/** Adds the block of embeddings behind its empty header, or at the end. */
export function addEmbeddings(file: string, block: string, env: NodeJS.ProcessEnv): void {
  add(file, env, (text) => {
    const place = placeTable(text, "embeddings");
    if (place.kind === "absent") return { ...appendBlock(text, block), conflict: null };
    if (place.kind === "filled") {
      throw new AdminError(
        `${file}:${place.line}: it says something of [embeddings] already: change it there`,
      );
    }
    const { at } = place;
    const gap = text[at - 1] === "\n" ? "" : "\n";
    const added = gap + block.replace(/^\[embeddings\]\n/m, "");
    return { at, added, conflict: null };
  });
}

interface Addition {
  at: number;
  added: string;
  /** Error for an invalid result; null reports the fault itself. */
  conflict: string | null;
}

function appendBlock(text: string, block: string): Pick<Addition, "at" | "added"> {
  const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  return { at: text.length, added: gap + block };
}

type PlaceAddition = (text: string, before: Settings) => Addition;

function add(file: string, env: NodeJS.ProcessEnv, placeAddition: PlaceAddition): void {
  const place = resolveLink(file);
  holdDraft(file, place, (draft) => {
    const { stat, bytes } = readBefore(file, place);
    const text = decode(bytes, file);
    const { at, added } = validateAddition(text, { file, env, placeAddition });
    const isSame = readBefore(file, place).bytes.equals(bytes);
    // The draft locks out other additions, but not editors.
    if (!isSame) throw new AdminError(`${file} was changed meanwhile: try again`);
    // Counted from the end, since the text lacks a byte order mark.
    const rest = Buffer.byteLength(text.slice(at));
    const cut = bytes.length - rest;
    const parts = [bytes.subarray(0, cut), Buffer.from(added), bytes.subarray(cut)];
    replaceFile(place, { draft, bytes: Buffer.concat(parts), before: stat });
  });
}

function readBefore(file: string, place: string): { stat: Stats | undefined; bytes: Buffer } {
  const stat = explainErrors(file, () => statSync(place, { throwIfNoEntry: false }));
  // Reading a pipe would block.
  if (stat && !stat.isFile()) throw new AdminError(`${file} is no file`);
  const bytes = stat ? explainErrors(file, () => readFileSync(place)) : Buffer.alloc(0);
  return { stat, bytes };
}

interface ValidationInput {
  file: string;
  env: NodeJS.ProcessEnv;
  placeAddition: PlaceAddition;
}

function validateAddition(text: string, { file, env, placeAddition }: ValidationInput): Addition {
  const read = (whole: string) => readSettings(whole, file, env, {}, { wantsApiKeys: false });
  const addition = placeAddition(text, read(text));
  const { at, added, conflict } = addition;
  try {
    read(text.slice(0, at) + added + text.slice(at));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new AdminError(
      conflict ?? `nothing was written, since it would not hold: ${error.message}`,
    );
  }
  return addition;
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new AdminError(`${file} is not UTF-8 text`);
  }
}

/** Follows a link, so that the link itself stays. */
function resolveLink(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** Calls `work` with a draft file, which locks out a concurrent addition. */
function holdDraft(file: string, place: string, work: (draft: string) => void): void {
  const draft = `${place}.new`;
  explainErrors(file, () => {
    try {
      closeSync(openSync(draft, "wx", MODE));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new AdminError(
        `${draft} is there: another program is writing ${file}; try again, ` +
          "or remove it if there is none",
      );
    }
  });
  try {
    work(draft);
  } finally {
    rmSync(draft, { force: true });
  }
}

interface Replacement {
  draft: string;
  bytes: Uint8Array;
  before: Stats | undefined;
}

function replaceFile(file: string, { draft, bytes, before }: Replacement): void {
  explainErrors(file, () => {
    const descriptor = openSync(draft, "r+");
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (!before) return linkSync(draft, file);
    keepRights(draft, before);
    renameSync(draft, file);
  });
}

/** A server that could read the old file must be able to read the new one. */
function keepRights(draft: string, before: Stats): void {
  const { uid, gid } = statSync(draft);
  if (uid !== before.uid || gid !== before.gid) chownSync(draft, before.uid, before.gid);
  chmodSync(draft, before.mode & 0o7777);
}

function explainErrors<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") {
      throw new AdminError(`${file} is there already, and is not overwritten`);
    }
    if (code === "ENOENT") throw new AdminError(`the directory of ${file} does not exist`);
    if (code === "") throw error;
    throw new AdminError(`${file} cannot be written (${code})`);
  }
}
