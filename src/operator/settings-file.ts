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
import { readSettings, SettingsError, writeTemplate } from "../platform/settings/index.ts";
import { OperatorProblem } from "./problem.ts";

/** The settings hold no secrets, but name where they are: their owner's to read and to open. */
const MODE = 0o600;

type Environment = Readonly<Record<string, string | undefined>>;

/** A new file with every setting in it, commented out; throws an OperatorProblem. */
export function createSettingsFile(file: string): void {
  holdDraft(file, file, (draft) => {
    replaceFile(file, { draft, bytes: Buffer.from(writeTemplate()), before: undefined });
  });
}

/**
 * Adds a model's block behind what a file says, which may not be there yet; nothing is written
 * unless all of it holds afterwards. Throws an OperatorProblem or a SettingsError.
 */
export function addModel(file: string, id: string, block: string, env: Environment): void {
  const place = resolveLink(file);
  holdDraft(file, place, (draft) => {
    const { stat, bytes } = readBefore(file, place);
    const added = judgeAddition(decode(bytes, file), { file, id, block, env });
    const isSame = readBefore(file, place).bytes.equals(bytes);
    // Whoever saves it in an editor does not know of the draft.
    if (!isSame) throw new OperatorProblem(`${file} was changed meanwhile: try again`);
    replaceFile(place, { draft, bytes: Buffer.concat([bytes, Buffer.from(added)]), before: stat });
  });
}

/** What stands there now; nothing, where there is no file. */
function readBefore(file: string, place: string): { stat: Stats | undefined; bytes: Buffer } {
  const stat = explainFailures(file, () => statSync(place, { throwIfNoEntry: false }));
  // A pipe would be waited for.
  if (stat && !stat.isFile()) throw new OperatorProblem(`${file} is no file`);
  const bytes = stat ? explainFailures(file, () => readFileSync(place)) : Buffer.alloc(0);
  return { stat, bytes };
}

interface Addition {
  file: string;
  id: string;
  block: string;
  env: Environment;
}

/** What is written behind this text; throws where the whole would not hold. */
function judgeAddition(text: string, { file, id, block, env }: Addition): string {
  const read = (whole: string) => readSettings(whole, file, env, {}, { wants_api_keys: false });
  const before = read(text);
  const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  const added = gap + block;
  try {
    read(text + added);
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure;
    if (before.models.some((model) => model.id === id)) {
      throw new OperatorProblem(`${file} has a model "${id}" already: give this one another --id`);
    }
    throw new OperatorProblem(`nothing was written, since it would not hold: ${failure.message}`);
  }
  return added;
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new OperatorProblem(`${file} is not UTF-8 text`);
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
      throw new OperatorProblem(
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
      throw new OperatorProblem(`${file} is there already, and is not overwritten`);
    }
    if (code === "ENOENT") throw new OperatorProblem(`the directory of ${file} does not exist`);
    if (code === "") throw failure;
    throw new OperatorProblem(`${file} cannot be written (${code})`);
  }
}
