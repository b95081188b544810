// Reads one resource of the operator API again and again: one read at a time, and not too often.
import { ApiFailure, getText } from "./api.ts";

/** Four reads of a resource a second at most. */
const EVERY_MS = 250;
const RETRY_MS = 2_000;
const RETRY_MS_MAX = 16_000;

/** Reads of all resources: an operator has 600 a minute, also for acts. */
const READS_MAX = 20;
const READS_PER_MS = 8 / 1_000;
let spare = READS_MAX;
let countedAt = 0;

/** Takes one read, and returns how long it has to wait for it. */
function takeRead(): number {
  const at = performance.now();
  spare = Math.min(READS_MAX, spare + (at - countedAt) * READS_PER_MS) - 1;
  countedAt = at;
  return spare >= 0 ? 0 : -spare / READS_PER_MS;
}

interface ReaderOptions {
  path: string;
  /** Reads of a hidden or paused page wait. */
  mayRead(): boolean;
  /** Called for a text that differs from the one before. */
  onText(text: string): void;
  onRead(): void;
  onFailure(failure: ApiFailure): void;
}

export class ResourceReader {
  readonly #options: ReaderOptions;
  readonly #leaving = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isDue = false;
  #mustRead = true;
  #begunAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #text: string | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Reads soon; at once after an act, whose result a person waits for. */
  wake(isAct = false): void {
    this.#isDue = true;
    this.#mustRead ||= isAct;
    if (isAct) this.#stopTimer();
    this.#plan(isAct ? 0 : this.#begunAt + EVERY_MS - performance.now());
  }

  /** Reads what was due while reads had to wait. */
  resume(): void {
    if (this.#isDue) this.wake();
  }

  close(): void {
    this.#leaving.abort();
    this.#stopTimer();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #plan(delayMs: number): void {
    if (this.#isReading || this.#timer !== undefined || !this.#mayRead()) return;
    this.#timer = setTimeout(() => void this.#read(), Math.max(delayMs, takeRead(), 0));
  }

  #mayRead(): boolean {
    return this.#mustRead ? !document.hidden : this.#options.mayRead();
  }

  async #read(): Promise<void> {
    const { path, onText, onRead, onFailure } = this.#options;
    const { signal } = this.#leaving;
    this.#timer = undefined;
    // The page may have been hidden or paused since the read was planned.
    this.#isDue = !this.#mayRead();
    if (this.#isDue) return;
    this.#isReading = true;
    this.#mustRead = false;
    this.#begunAt = performance.now();
    try {
      const text = await getText(path, signal);
      this.#failures = 0;
      // Equal rows need no drawing.
      if (!signal.aborted && text !== this.#text) onText(text);
      this.#text = text;
      if (!signal.aborted) onRead();
    } catch (failure) {
      if (!(failure instanceof ApiFailure)) throw failure;
      if (!signal.aborted) onFailure(this.#planRetry(failure));
    }
    this.#isReading = false;
    if (this.#isDue && !signal.aborted) this.wake();
  }

  /** A refusal stays one until rows change; other failures may be over soon. */
  #planRetry(failure: ApiFailure): ApiFailure {
    this.#text = undefined;
    if (!failure.isPassing) return failure;
    const retryMs = Math.min(RETRY_MS * 2 ** this.#failures, RETRY_MS_MAX);
    failure.againInS = Math.max(retryMs / 1_000, failure.retryAfterS);
    this.#failures += 1;
    this.#mustRead = true;
    this.#timer = setTimeout(() => void this.#read(), failure.againInS * 1_000);
    return failure;
  }
}
