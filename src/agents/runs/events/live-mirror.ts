// The copy of a reply that another process writes, for the followers at this one.
import type { LivePiece, LiveSnapshot } from "./frames.ts";
import type { FollowedReply, LiveFollower } from "./live.ts";

/** News of one reply, whose number its process gives. */
export interface ReplyNews {
  run: string;
  reply: number;
  /** The whole reply so far, which replaces all earlier pieces. */
  snapshot?: LiveSnapshot & { after_seq: number };
  /** The next pieces, and the number of the first one. */
  from?: number;
  pieces?: LivePiece[];
  /** Present at its end: whether it is complete. */
  end?: boolean;
}

type WriteDelta = (round: number, piece: LivePiece) => string;

class MirroredReply implements FollowedReply {
  readonly round: number;
  readonly after_seq: number;
  readonly #snapshot: LiveSnapshot;

  constructor(
    readonly teller: string,
    readonly number: number,
    { after_seq, ...snapshot }: NonNullable<ReplyNews["snapshot"]>,
  ) {
    this.round = snapshot.round;
    this.after_seq = after_seq;
    this.#snapshot = snapshot;
  }

  get index(): number {
    return this.#snapshot.index;
  }

  read(): LiveSnapshot {
    const { tool_calls } = this.#snapshot;
    return { ...this.#snapshot, tool_calls: tool_calls.map((call) => ({ ...call })) };
  }

  add(piece: LivePiece): void {
    const { tool_calls } = this.#snapshot;
    this.#snapshot.index = piece.index + 1;
    if ("text" in piece) this.#snapshot.text += piece.text;
    else {
      const { index, id = "", name = "", arguments: written } = piece.tool_call;
      tool_calls[index] ??= { id, name, arguments: "" };
      tool_calls[index].arguments += written;
    }
  }
}

export class LiveMirror {
  readonly followers = new Set<LiveFollower>();
  /** End of the time for which a read asks for it. */
  readUntil = Number.NEGATIVE_INFINITY;
  #reply: MirroredReply | null = null;

  get reply(): FollowedReply | null {
    return this.#reply;
  }

  /** Takes what a process tells; false: something is missing, and it has to tell all. */
  take(
    teller: string,
    { reply: number, snapshot, from, pieces, end }: ReplyNews,
    write: WriteDelta,
  ) {
    // An execution that has lost the run may still write.
    if (snapshot && snapshot.after_seq >= (this.#reply?.after_seq ?? 0)) {
      this.#reply = new MirroredReply(teller, number, snapshot);
      for (const follower of this.followers) follower.onBegin(this.#reply);
    }
    const reply = this.#reply;
    if (reply?.teller !== teller || reply.number !== number) return true;
    if (pieces && from !== reply.index) {
      this.end();
      return false;
    }
    for (const piece of pieces ?? []) {
      reply.add(piece);
      if (this.followers.size === 0) continue;
      const frame = write(reply.round, piece);
      for (const follower of this.followers) follower.onPiece(reply, frame, piece);
    }
    if (end !== undefined) this.end(end);
    return true;
  }

  /** Ends the reply; with `teller` only that of this process. */
  end(isWhole = false, teller?: string): void {
    const reply = this.#reply;
    if (!reply || (teller !== undefined && teller !== reply.teller)) return;
    this.#reply = null;
    for (const follower of this.followers) follower.onEnd(reply, isWhole);
  }
}
