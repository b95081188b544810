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
  replaceFile(file, Buffer.from(writeTemplate()), undefined);
}

/**
 * Adds a model's block behind what a file says, which may not be there yet; nothing is written
 * unless all of it holds afterwards. Throws an OperatorProblem or a SettingsError.
 */
export function addModel(file: string, id: string, block: string, env: Environment): void {
  const place = resolveLink(file);
  const stat = explainFailures(file, () => statSync(place, { throwIfNoEntry: false }));
  // A pipe would be waited for.
  if (stat && !stat.isFile()) throw new OperatorProblem(`${file} is no file`);
  const bytes = stat ? explainFailures(file, () => readFileSync(place)) : Buffer.alloc(0);
  const text = decode(bytes, file);
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
  replaceFile(place, Buffer.concat([bytes, Buffer.from(added)]), stat);
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

/** Whole or not at all; `before` is what stood there, undefined: nothing may stand there. */
function replaceFile(file: string, bytes: Uint8Array, before: Stats | undefined): void {
  explainFailures(file, () => {
    const draft = `${file}.${process.pid}`;
    rmSync(draft, { force: true });
    const descriptor = openSync(draft, "wx", MODE);
    try {
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      if (!before) return linkSync(draft, file);
      keepRights(draft, before);
      renameSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
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
