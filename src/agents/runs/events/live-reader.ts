// Tells one event stream of replies under way: each piece, or a snapshot where it is behind.
import { guardCallback } from "../../../platform/error-boundary.ts";
import type { AssistantData, StepRow } from "../step.ts";
import { snapshotFrame } from "./frames.ts";
import type { FollowedReply, LiveFollower } from "./live.ts";

/** Maximum unread bytes of a client that gets each piece; a slower one gets a snapshot later. */
const UNREAD_BYTES_MAX = 64 * 1024;

interface LiveStream {
  events: { countUnread(): number };
  pass(frames: string): void | Promise<void>;
}

export class LiveReader implements LiveFollower {
  readonly #stream: LiveStream;
  /** The newest reply: that of an execution which lost the run may end only after its begin. */
  #reply: FollowedReply | null = null;
  /** Number of the last step that the stream has been sent. */
  #seq: number;
  /** Round of the last frame; null before the first of this stream. */
  #round: number | null = null;
  #needsSnapshot = true;
  /** The client may not have the last pieces of this reply. */
  #partial: FollowedReply | null = null;
  /** Gets each piece, since it has all pieces before. */
  #isLive = false;

  constructor(stream: LiveStream, seq: number) {
    this.#stream = stream;
    this.#seq = seq;
  }

  /** A bug of one follower must neither reach the run nor another follower. */
  guard(onBug: (bug: unknown) => void): LiveFollower {
    return {
      onBegin: guardCallback(onBug, (reply) => this.onBegin(reply)),
      onPiece: guardCallback(onBug, (reply, frame) => this.onPiece(reply, frame)),
      onEnd: guardCallback(onBug, (reply, isWhole) => this.onEnd(reply, isWhole)),
    };
  }

  /**
   * Call it before the stream is sent these steps. A reply's pieces from another process may come
   * late or never: its step then completes the text by a snapshot.
   */
  complete(steps: readonly StepRow[]): void {
    const partial = this.#partial;
    const own =
      partial &&
      steps.find(({ kind, round, seq }) => {
        return kind === "assistant" && round === partial.round && seq > partial.after_seq;
      });
    if (own) {
      const { content, tool_calls } = own.data as AssistantData;
      const whole = { ...partial.read(), text: content ?? "", tool_calls };
      void this.#stream.pass(snapshotFrame(whole));
      this.#partial = null;
    }
    const reply = this.#reply;
    if (!reply || !steps.some(({ seq }) => seq > reply.after_seq)) return;
    this.#reply = null;
    this.#isLive = false;
  }

  /** The stream has been sent the steps up to `seq`. */
  advance(seq: number): void {
    this.#seq = seq;
    if (this.#reply && !this.#isLive) this.#catchUp();
  }

  onBegin(reply: FollowedReply): void {
    // Pieces of a reply never follow its step.
    if (this.#seq > reply.after_seq) return;
    this.#reply = reply;
    this.#isLive = false;
    // A client may hold text of a round from an earlier attempt, or from an earlier stream.
    this.#needsSnapshot = this.#round === null || this.#round === reply.round;
    this.#catchUp();
  }

  onPiece(reply: FollowedReply, frame: string): void {
    if (reply !== this.#reply) return;
    if (!this.#isLive) {
      this.#catchUp();
      return;
    }
    this.#isLive = this.#stream.events.countUnread() <= UNREAD_BYTES_MAX;
    if (this.#isLive) void this.#stream.pass(frame);
  }

  onEnd(reply: FollowedReply, isWhole: boolean): void {
    if (reply !== this.#reply) return;
    // Pieces come before the step of their reply, and never after it.
    if (isWhole && !this.#isLive) this.#catchUp(Number.POSITIVE_INFINITY);
    if (isWhole && this.#isLive) this.#partial = null;
    this.#reply = null;
    this.#isLive = false;
  }

  /** Sends what is written by now, once the steps before the reply have been sent. */
  #catchUp(unreadMax = UNREAD_BYTES_MAX): void {
    const reply = this.#reply!;
    if (this.#seq < reply.after_seq || this.#stream.events.countUnread() > unreadMax) return;
    const snapshot = reply.read();
    const isNeeded = this.#needsSnapshot || snapshot.index > 0;
    if (isNeeded) void this.#stream.pass(snapshotFrame(snapshot));
    this.#round = reply.round;
    this.#partial = reply;
    this.#needsSnapshot = false;
    this.#isLive = true;
  }
}
