// Reads a recording whole before anything is played: what is wrong in it is said with its line.
import { statSync } from "node:fs";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { readLines } from "../../platform/line-file.ts";
import type { OpenBackend } from "../backend.ts";
import { FILE_BYTES_MAX, Head, RecordedReply, RecordingProblem, VERSION } from "./format.ts";
import { createReplay, createReplayLibrary } from "./replay.ts";

export interface Replay {
  requests: number;
  /** The ids of their models. */
  models: ReadonlySet<string>;
  open: OpenBackend;
}

const FOREIGN = "this is no recording of `wadi dev --record`";

/** Throws a RecordingProblem. */
export function openReplay(file: string): Replay {
  const shelf = createReplayLibrary();
  const models = new Set<string>();
  let requests = 0;
  for (const take of readTakes(file)) {
    shelf.add(take);
    models.add(take.model);
    requests += 1;
  }
  if (requests === 0) {
    throw new RecordingProblem(`${file} holds no requests: record some with --record`);
  }
  return { requests, models, open: createReplay(shelf) };
}

function* readTakes(file: string): Generator<RecordedReply> {
  const heads = TypeCompiler.Compile(Head);
  const takes = TypeCompiler.Compile(RecordedReply);
  let at = 0;
  const refuse = (says: string) => new RecordingProblem(`${file}:${at}: ${says}`);
  for (const line of openLines(file)) {
    at += 1;
    if (at > 1 && line.trim() === "") continue;
    const value = parse(line);
    if (at === 1) {
      if (!heads.Check(value)) throw refuse(FOREIGN);
      if (value.wadi_recording === VERSION) continue;
      throw refuse("this recording is of another version of wadi: record it anew");
    }
    if (!takes.Check(value) || !isSound(value)) {
      throw refuse("this line is damaged: take it out, or record anew");
    }
    yield value;
  }
  if (at === 0) throw new RecordingProblem(`${file}: ${FOREIGN}`);
}

function* openLines(file: string): Generator<string> {
  try {
    const stat = statSync(file);
    // A pipe or a device may never end.
    if (!stat.isFile()) throw new RecordingProblem(`${file} is no file: name one with --replay`);
    if (stat.size > FILE_BYTES_MAX) {
      throw new RecordingProblem(`${file} is larger than 256 MB: split it`);
    }
    yield* readLines(file);
  } catch (failure) {
    if (failure instanceof RecordingProblem) throw failure;
    const { code } = failure as NodeJS.ErrnoException;
    if (!code || code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw new RecordingProblem(`${file} is not UTF-8 text, and so no recording`);
    }
    throw new RecordingProblem(
      code === "ENOENT"
        ? `${file} does not exist: correct --replay`
        : `${file} cannot be read (${code})`,
    );
  }
}

/** As every answer's: calls are numbered from 0, and the first piece of each names it. */
function isSound({ told }: RecordedReply): boolean {
  let calls = 0;
  for (const { piece } of told) {
    if (piece.kind !== "call" || piece.index < calls) continue;
    if (piece.index > calls || piece.id === undefined || piece.name === undefined) return false;
    calls += 1;
  }
  return true;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
