// The stream of changes of one page: what it was told, and what a slow reader is told later.
import type { EventStream } from "../../http/index.ts";
import type { Cancel, Clock } from "../../platform/clock.ts";
import { guardCallback } from "../../platform/error-boundary.ts";
import type { ChangeTopic } from "./topics.ts";

/** Interval of comments, by which a page knows that it is live, and of checks of its caller. */
const BEAT_MS = 3_000;
/** Maximum unread bytes; then a topic is remembered instead of its changes. */
const UNREAD_BYTES_MAX = 8 * 1024;
/** Beats without a read after which a stream ends, so that another page has its place. */
const SILENT_BEATS_MAX = 10;

export interface TopicChange {
  topic: ChangeTopic;
  id: string | null;
  changes: number;
}

export interface ChangeStreamOptions {
  events: EventStream;
  clock: Clock;
  /** Topics to tell of; null tells of all. */
  topics: ReadonlySet<ChangeTopic> | null;
  isInForce(): Promise<boolean>;
  onFailure(failure: unknown): void;
  onEnd(): void;
}

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  /** Topics with changes that the reader has not been sent, and the number of these. */
  readonly #missed = new Map<ChangeTopic, number>();
  #silentBeats = 0;
  #cancelBeat: Cancel = () => {};
  #isOpen = true;

  constructor(options: ChangeStreamOptions) {
    this.#options = options;
    const { events } = options;
    events.left.addEventListener("abort", this.end, { once: true });
    // The reply begins now, so that the page knows which changes it will be told of.
    events.comment("open");
    this.#beatLater();
  }

  pass(change: TopicChange): void {
    const { events, topics } = this.#options;
    const { topic } = change;
    if (topics !== null && !topics.has(topic)) return;
    const isBehind = this.#missed.size > 0 || events.countUnread() > UNREAD_BYTES_MAX;
    if (isBehind) this.#missed.set(topic, (this.#missed.get(topic) ?? 0) + change.changes);
    else void events.send(JSON.stringify(change));
  }

  readonly end = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cancelBeat();
    this.#options.events.close();
    this.#options.onEnd();
  };

  #beatLater(): void {
    const { clock, onFailure } = this.#options;
    const fail = (failure: unknown) => {
      onFailure(failure);
      this.end();
    };
    const beat = guardCallback(fail, () => void this.#beat().catch(fail));
    this.#cancelBeat = clock.after(BEAT_MS, beat);
  }

  async #beat(): Promise<void> {
    const { events, isInForce } = this.#options;
    const isInTime = await isInForce();
    if (!this.#isOpen) return;
    if (!isInTime) return this.end();
    const isRead = events.countUnread() === 0;
    this.#silentBeats = isRead ? 0 : this.#silentBeats + 1;
    if (this.#silentBeats > SILENT_BEATS_MAX) return this.end();
    if (isRead) {
      events.comment("keep-alive");
      for (const [topic, changes] of this.#missed) {
        void events.send(JSON.stringify({ topic, id: null, changes }));
      }
      this.#missed.clear();
    }
    this.#beatLater();
  }
}
