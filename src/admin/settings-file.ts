// Makes a settings file, and adds to one: nothing that stands there is ever changed.
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

/** The settings hold no secrets, but name where they are: their owner's to read and to open. */
const MODE = 0o600;

type Environment = Readonly<Record<string, string | undefined>>;

/** A new file with every setting in it, commented out; throws an AdminError. */
export function createSettingsFile(file: string): void {
  holdDraft(file, file, (draft) => {
    replaceFile(file, { draft, bytes: Buffer.from(writeTemplate()), before: undefined });
  });
}

/**
 * Adds a model's block behind what a file says, which may not be there yet; nothing is written
 * unless all of it holds afterwards. Throws an AdminError or a SettingsError.
 */
export function addModel(file: string, id: string, block: string, env: Environment): void {
  add(file, env, (text, { models }) => {
    const isThere = models.some((model) => model.id === id);
    const conflict = `${file} has a model "${id}" already: give this one another --id`;
    return { ...appendBlock(text, block), conflict: isThere ? conflict : null };
  });
}

/**
 * The same of the block of embeddings. A new file has its header, behind which it goes; where
 * something is said of them, it is for people to change.
 */
export function addEmbeddings(file: string, block: string, env: Environment): void {
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
  /** Where in the text. */
  at: number;
  added: string;
  /** What is said where the whole would not hold; null: what is wrong with it. */
  conflict: string | null;
}

function appendBlock(text: string, block: string): Pick<Addition, "at" | "added"> {
  const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  return { at: text.length, added: gap + block };
}

type PlaceAddition = (text: string, before: Settings) => Addition;

function add(file: string, env: Environment, placeAddition: PlaceAddition): void {
  const place = resolveLink(file);
  holdDraft(file, place, (draft) => {
    const { stat, bytes } = readBefore(file, place);
    const text = decode(bytes, file);
    const { at, added } = judgeAddition(text, { file, env, placeAddition });
    const isSame = readBefore(file, place).bytes.equals(bytes);
    // Whoever saves it in an editor does not know of the draft.
    if (!isSame) throw new AdminError(`${file} was changed meanwhile: try again`);
    // From its end, because a mark at the beginning of the file is no part of the text.
    const rest = Buffer.byteLength(text.slice(at));
    const cut = bytes.length - rest;
    const parts = [bytes.subarray(0, cut), Buffer.from(added), bytes.subarray(cut)];
    replaceFile(place, { draft, bytes: Buffer.concat(parts), before: stat });
  });
}

/** What stands there now; nothing, where there is no file. */
function readBefore(file: string, place: string): { stat: Stats | undefined; bytes: Buffer } {
  const stat = explainFailures(file, () => statSync(place, { throwIfNoEntry: false }));
  // A pipe would be waited for.
  if (stat && !stat.isFile()) throw new AdminError(`${file} is no file`);
  const bytes = stat ? explainFailures(file, () => readFileSync(place)) : Buffer.alloc(0);
  return { stat, bytes };
}

interface Judging {
  file: string;
  env: Environment;
  placeAddition: PlaceAddition;
}

/** What is written into this text; throws where the whole would not hold. */
function judgeAddition(text: string, { file, env, placeAddition }: Judging): Addition {
  const read = (whole: string) => readSettings(whole, file, env, {}, { wantsApiKeys: false });
  const addition = placeAddition(text, read(text));
  const { at, added, conflict } = addition;
  try {
    read(text.slice(0, at) + added + text.slice(at));
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure;
    throw new AdminError(
      conflict ?? `nothing was written, since it would not hold: ${failure.message}`,
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

/** Where a link leads: the link itself stays. */
function resolveLink(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/**
 * Makes the draft of a file for `work`, and takes it away behind it. There is only one: of two who
 * add at once, each would build on the same text, and the second one's would undo the first one's.
 */
function holdDraft(file: string, place: string, work: (draft: string) => void): void {
  const draft = `${place}.new`;
  explainFailures(file, () => {
    try {
      closeSync(openSync(draft, "wx", MODE));
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== "EEXIST") throw failure;
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
  /** What stood there; undefined: nothing may stand there. */
  before: Stats | undefined;
}

/** Whole or not at all. */
function replaceFile(file: string, { draft, bytes, before }: Replacement): void {
  explainFailures(file, () => {
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

function explainFailures<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (failure) {
    const { code = "" } = failure as NodeJS.ErrnoException;
    if (code === "EEXIST") {
      throw new AdminError(`${file} is there already, and is not overwritten`);
    }
    if (code === "ENOENT") throw new AdminError(`the directory of ${file} does not exist`);
    if (code === "") throw failure;
    throw new AdminError(`${file} cannot be written (${code})`);
  }
}
