// The replies of runs while their models write them, for those who follow. Nothing is stored.
import { Halves, type PartialReply, type ReplyWatch, TEXT } from "../../../gateway/index.ts";
import type { Chunk } from "../../../models/index.ts";
import { cleanText } from "../../tools/output.ts";
import type { RunRow } from "../run.ts";
import { deltaFrame, type LivePiece, type LiveSnapshot } from "./frames.ts";

/** Unfollowed runs in a row after which the replies for a key are asked for whole. */
const UNFOLLOWED_MAX = 3;
/** Maximum keys whose unfollowed runs are counted. */
const KEYS_MAX = 10_000;

/** A reply of this process, or of another one. */
export interface FollowedReply {
  readonly round: number;
  /** Number of the last step before it. */
  readonly after_seq: number;
  read(): LiveSnapshot;
}

export interface LiveFollower {
  onBegin(reply: FollowedReply): void;
  onPiece(reply: FollowedReply, frame: string, piece: LivePiece): void;
  /** `isWhole`: the reply is complete; otherwise the round may be tried again. */
  onEnd(reply: FollowedReply, isWhole: boolean): void;
}

/** The replies of other processes. */
export interface OtherReplies {
  follow(run_id: string, follower: LiveFollower): () => void;
  /** Asks for the run for some seconds, and returns what is known of its reply by now. */
  read(run_id: string): LiveSnapshot | undefined;
}

interface LiveRun {
  followers: Set<LiveFollower>;
  wasFollowed: boolean;
  /** Key that started it by hand, once it is executed; null: none did. */
  key_id: string | null;
  reply: LiveReply | null;
  isExecuting: boolean;
}

/** The runs of this process, and those that are followed here. */
export class LiveRuns {
  readonly #runs = new Map<string, LiveRun>();
  /** Counts ended runs that were unfollowed, by their key, since the last one that was followed. */
  readonly #unfollowed = new Map<string, number>();
  /** Absent where this process is the only one. */
  others: OtherReplies | undefined;

  /** Begins a reply of the run; the caller ends it. */
  begin(row: RunRow): LiveReply {
    const run = this.#open(row.id);
    run.isExecuting = true;
    run.key_id = row.trigger_kind === "manual" ? row.started_by_key_id : null;
    // One who follows from another process may have come first.
    if (run.followers.size > 0) this.expect(run.key_id);
    run.reply = new LiveReply(row, run.wasFollowed || this.#mayBeFollowed(run), run.followers);
    for (const follower of run.followers) follower.onBegin(run.reply);
    return run.reply;
  }

  /** Forgets a run that this process executes no longer. */
  leave(run_id: string): void {
    const run = this.#runs.get(run_id);
    if (!run) return;
    if (!run.wasFollowed && run.key_id !== null) this.#countUnfollowed(run.key_id);
    Object.assign(run, { reply: null, isExecuting: false });
    this.#forgetUnused(run_id, run);
  }

  isExecuting(run_id: string): boolean {
    return this.#runs.get(run_id)?.isExecuting === true;
  }

  /** Tells of every reply of the run; the returned function ends that. */
  follow(run_id: string, follower: LiveFollower): () => void {
    const leave = this.attach(run_id, follower);
    const leaveOthers = this.others?.follow(run_id, follower);
    return () => {
      leave();
      leaveOthers?.();
    };
  }

  /** Tells of every reply of the run in this process. */
  attach(run_id: string, follower: LiveFollower): () => void {
    const run = this.#open(run_id);
    run.wasFollowed = true;
    this.expect(run.key_id);
    run.followers.add(follower);
    if (run.reply && !run.reply.isOver) {
      run.reply.tellFollowers();
      follower.onBegin(run.reply);
    }
    return () => {
      run.followers.delete(follower);
      if (run.followers.size === 0) run.reply?.tellNobody();
      this.#forgetUnused(run_id, run);
    };
  }

  /**
   * Reads the reply under way; undefined where no model is known to be asked for the run. Who reads
   * follows, too: later replies come in pieces.
   */
  read(run_id: string): LiveSnapshot | undefined {
    const run = this.#runs.get(run_id);
    if (!run?.isExecuting) return this.others?.read(run_id);
    run.wasFollowed = true;
    this.expect(run.key_id);
    return run.reply && !run.reply.isOver ? run.reply.read() : undefined;
  }

  /** Runs of the key are followed, and its next ones may be, too. */
  expect(key_id: string | null): void {
    if (key_id !== null) this.#unfollowed.delete(key_id);
  }

  #open(run_id: string): LiveRun {
    const existing = this.#runs.get(run_id);
    if (existing) return existing;
    const run: LiveRun = {
      key_id: null,
      followers: new Set(),
      wasFollowed: false,
      reply: null,
      isExecuting: false,
    };
    this.#runs.set(run_id, run);
    return run;
  }

  #forgetUnused(run_id: string, run: LiveRun): void {
    const isUsed = run.isExecuting || run.followers.size > 0;
    if (!isUsed && this.#runs.get(run_id) === run) this.#runs.delete(run_id);
  }

  /** A client follows a run only after its start, when its first model may be asked already. */
  #mayBeFollowed({ key_id }: LiveRun): boolean {
    return key_id !== null && (this.#unfollowed.get(key_id) ?? 0) < UNFOLLOWED_MAX;
  }

  #countUnfollowed(key_id: string): void {
    const count = this.#unfollowed.get(key_id) ?? 0;
    if (this.#unfollowed.size >= KEYS_MAX) this.#unfollowed.clear();
    this.#unfollowed.set(key_id, Math.min(count + 1, UNFOLLOWED_MAX));
  }
}

/** One reply of a model; without followers a piece costs no more than the look at `onPiece`. */
export class LiveReply implements ReplyWatch, FollowedReply {
  readonly round: number;
  readonly after_seq: number;
  readonly wantsPieces: boolean;
  onPiece: ReplyWatch["onPiece"] = null;
  isOver = false;
  readonly #followers: ReadonlySet<LiveFollower>;
  #read: () => PartialReply = () => ({ text: "", tool_calls: [], pieces: 0 });
  #halves = new Halves();
  #index = 0;

  constructor(
    { usage, last_seq }: RunRow,
    wantsPieces: boolean,
    followers: ReadonlySet<LiveFollower>,
  ) {
    this.round = usage.rounds + 1;
    this.after_seq = last_seq;
    this.wantsPieces = wantsPieces;
    this.#followers = followers;
    if (followers.size > 0) this.tellFollowers();
  }

  begin(read: () => PartialReply): void {
    this.#read = read;
  }

  read(halves = new Halves()): LiveSnapshot {
    const { text, tool_calls, pieces } = this.#read();
    return {
      round: this.round,
      index: pieces,
      text: cleanText(this.isOver ? text : halves.join(TEXT, text)),
      tool_calls: tool_calls.map(({ id, function: { name, arguments: written } }, at) => {
        return { id, name, arguments: cleanText(halves.join(at, written)) };
      }),
    };
  }

  /** Sends the next pieces to followers, who have those before from a snapshot. */
  tellFollowers(): void {
    if (this.onPiece) return;
    this.#halves = new Halves();
    this.#index = this.read(this.#halves).index;
    this.onPiece = (piece) => this.#tell(piece);
  }

  tellNobody(): void {
    this.onPiece = null;
  }

  end(isWhole: boolean): void {
    this.isOver = true;
    const text = isWhole ? this.#halves.end(TEXT) : "";
    if (this.onPiece && text !== "") this.#send({ index: this.#index, text });
    this.onPiece = null;
    for (const follower of this.#followers) follower.onEnd(this, isWhole);
  }

  #tell(piece: Chunk): void {
    const index = this.#index++;
    if (piece.kind === "text") {
      const text = cleanText(this.#halves.join(TEXT, piece.text));
      if (text !== "") this.#send({ index, text });
      return;
    }
    const { kind: _, ...call } = piece;
    const text = cleanText(this.#halves.join(call.index, call.arguments));
    this.#send({ index, tool_call: { ...call, arguments: text } });
  }

  #send(piece: LivePiece): void {
    const frame = deltaFrame(this.round, piece);
    for (const follower of this.#followers) follower.onPiece(this, frame, piece);
  }
}
