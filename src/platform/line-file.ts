// Files of lines: writes a new one in the background, and reads any.
import { closeSync, openSync, readSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { type Clock, wait, yieldToEventLoop } from "./clock.ts";

/** Why writing ended: a limit of ours, or the system's code, such as ENOSPC. */
export type LineFileEnd = "too large" | "too slow" | (string & {});

export interface LineFileOptions {
  clock: Clock;
  /** The first line. A file without any other is removed when it is closed. */
  head: string;
  bytesMax: number;
  /** Called at most once, when no more can be written; the lines before are whole. */
  onEnd(reason: LineFileEnd): void;
}

const LINES_WAITING_MAX = 4_096;
const CLOSE_MS = 5_000;
const CHUNK_BYTES = 1_048_576;

/** Creates a file that only its owner may read; throws the system's error, also if it exists. */
export async function createLineFile(file: string, options: LineFileOptions): Promise<LineFile> {
  const handle = await open(file, "wx", 0o600);
  const head = `${options.head}\n`;
  try {
    await handle.writeFile(head);
  } catch (failure) {
    await handle.close();
    await rm(file, { force: true });
    throw failure;
  }
  return new LineFile(file, handle, Buffer.byteLength(head), options);
}

export class LineFile {
  readonly #file: string;
  readonly #handle: FileHandle;
  readonly #headBytes: number;
  readonly #options: LineFileOptions;
  #bytes: number;
  #waiting: (() => string)[] = [];
  #writing: Promise<void> | null = null;
  #isOver = false;

  constructor(file: string, handle: FileHandle, headBytes: number, options: LineFileOptions) {
    this.#file = file;
    this.#handle = handle;
    this.#headBytes = headBytes;
    this.#bytes = headBytes;
    this.#options = options;
  }

  /** Queues a line; its text is made in a later turn of the event loop. */
  append(write: () => string): void {
    if (this.#isOver) return;
    if (this.#waiting.length >= LINES_WAITING_MAX) {
      this.#end("too slow");
      return;
    }
    this.#waiting.push(write);
    this.#writing ??= this.#drain();
  }

  /** Writes what is queued, but does not wait for a disk that hangs. */
  async close(): Promise<void> {
    await Promise.race([this.#finish(), wait(this.#options.clock, CLOSE_MS)]);
  }

  async #finish(): Promise<void> {
    await this.#writing;
    this.#isOver = true;
    await this.#handle.close();
    if (this.#bytes === this.#headBytes) await rm(this.#file, { force: true });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lets the code that appended the line continue first.
      await yieldToEventLoop();
      const write = this.#waiting.shift();
      if (write) await this.#put(`${write()}\n`);
    }
    this.#writing = null;
  }

  async #put(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > this.#options.bytesMax) return this.#end("too large");
    try {
      await this.#handle.writeFile(text);
      this.#bytes += bytes;
    } catch (failure) {
      this.#end((failure as NodeJS.ErrnoException).code ?? "unknown error");
      // Half a line would spoil the whole file.
      await this.#handle.truncate(this.#bytes).catch(() => undefined);
    }
  }

  #end(reason: LineFileEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting = [];
    this.#options.onEnd(reason);
  }
}

/** Yields the lines of a file; throws the system's error, or one for text that is not UTF-8. */
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
