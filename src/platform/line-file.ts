// Files of lines: one that is made, and grows behind its writer's back; and any that is read.
import { closeSync, openSync, readSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { type Clock, nextTurn, wait } from "./clock.ts";

/** Why no more is kept: the system's code, such as ENOSPC, or a limit of ours. */
export type LineFileEnd = "too large" | "too slow" | (string & {});

export interface LineFile {
  /** Notes a line, which is written out as text only in a later turn. */
  append(write: () => string): void;
  /** Waits for what was noted; a disk that hangs is not waited for. */
  close(): Promise<void>;
}

export interface LineFileOptions {
  clock: Clock;
  /** The first line. A file that holds nothing else when it is closed is removed again. */
  head: string;
  bytes_max: number;
  /** Called once at most, when no more can be kept; the file holds the lines before, all whole. */
  onEnd(why: LineFileEnd): void;
}

/** A disk that takes longer than so many lines does not come after. */
const LINES_WAITING_MAX = 4_096;
const CLOSE_MS = 5_000;
const CHUNK_BYTES = 1_048_576;

/** Makes a file that only its owner may read; throws the system's error, also where it exists. */
export async function createLineFile(file: string, options: LineFileOptions): Promise<LineFile> {
  const handle = await open(file, "wx", 0o600);
  const head = `${options.head}\n`;
  let keptBytes = 0;
  let waiting: (() => string)[] = [];
  let writing: Promise<void> | null = null;
  let isOver = false;

  const end = (why: LineFileEnd) => {
    if (isOver) return;
    isOver = true;
    waiting = [];
    options.onEnd(why);
  };
  const put = async (text: string) => {
    const bytes = Buffer.byteLength(text);
    if (keptBytes + bytes > options.bytes_max) return end("too large");
    try {
      await handle.writeFile(text);
      keptBytes += bytes;
    } catch (failure) {
      end((failure as NodeJS.ErrnoException).code ?? "unknown error");
      // Half a line would spoil the whole file.
      await handle.truncate(keptBytes).catch(() => undefined);
    }
  };
  const drain = async () => {
    while (waiting.length > 0) {
      // Whoever noted the line goes on first.
      await nextTurn();
      const write = waiting.shift();
      if (write) await put(`${write()}\n`);
    }
    writing = null;
  };
  try {
    await handle.writeFile(head);
    keptBytes = Buffer.byteLength(head);
  } catch (failure) {
    await handle.close();
    await rm(file, { force: true });
    throw failure;
  }
  return {
    append(write) {
      if (isOver) return;
      if (waiting.length >= LINES_WAITING_MAX) return end("too slow");
      waiting.push(write);
      writing ??= drain();
    },
    async close() {
      const finish = async () => {
        await writing;
        isOver = true;
        await handle.close();
        if (keptBytes === Buffer.byteLength(head)) await rm(file, { force: true });
      };
      await Promise.race([finish(), wait(options.clock, CLOSE_MS)]);
    },
  };
}

/** The lines of a file without their ends; throws the system's error, or one for no UTF-8. */
export function* readLines(file: string): Generator<string> {
  const descriptor = openSync(file, "r");
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let rest = "";
    for (let length = -1; length !== 0; ) {
      length = readSync(descriptor, chunk);
      rest += decoder.decode(chunk.subarray(0, length), { stream: length > 0 });
      const lines = rest.split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
    if (rest !== "") yield rest;
  } finally {
    closeSync(descriptor);
  }
}
