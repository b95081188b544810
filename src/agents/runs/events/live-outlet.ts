// The replies of this process that one other process asked for. Pieces gather until the message
// before is sent; too many are replaced by a snapshot.
import type { LivePiece } from "./frames.ts";
import type { FollowedReply, LiveFollower, LiveRuns } from "./live.ts";
import type { ReplyNews } from "./live-mirror.ts";

/** Maximum characters of pieces that wait, for one run. */
const WAITING_MAX = 64 * 1024;
/** Size from which a message takes no further run. */
const MESSAGE_CHARACTERS = 256 * 1024;
/** Maximum runs for one process. */
const RUNS_MAX = 10_000;

let replies = 0;

class Outlet implements LiveFollower {
  leave = () => {};
  readonly #run: string;
  readonly #onNews: (outlet: Outlet) => void;
  #reply: FollowedReply | null = null;
  #number = 0;
  #needsSnapshot = false;
  /** Number of the next piece to be told. */
  #index = 0;
  #pieces: LivePiece[] = [];
  #characters = 0;
  #end: boolean | undefined;

  constructor(run: string, onNews: (outlet: Outlet) => void) {
    this.#run = run;
    this.#onNews = onNews;
  }

  onBegin(reply: FollowedReply): void {
    this.#reply = reply;
    this.#number = ++replies;
    this.#end = undefined;
    this.restart();
  }

  /** Tells all of the reply under way once more. */
  restart(): void {
    if (!this.#reply) return;
    this.#needsSnapshot = true;
    this.#pieces = [];
    this.#characters = 0;
    this.#onNews(this);
  }

  onPiece(reply: FollowedReply, _frame: string, piece: LivePiece): void {
    if (reply !== this.#reply || this.#needsSnapshot) return;
    const last = this.#pieces.at(-1);
    if (last && "text" in last && "text" in piece) {
      // One longer piece for all of a message.
      this.#pieces[this.#pieces.length - 1] = { index: piece.index, text: last.text + piece.text };
    } else this.#pieces.push(piece);
    this.#characters += "text" in piece ? piece.text.length : piece.tool_call.arguments.length + 64;
    if (this.#characters > WAITING_MAX) this.restart();
    else this.#onNews(this);
  }

  onEnd(reply: FollowedReply, isWhole: boolean): void {
    if (reply !== this.#reply) return;
    this.#end = isWhole;
    this.#onNews(this);
  }

  /** Takes what is to be told now. */
  take(): ReplyNews | null {
    const reply = this.#reply;
    if (!reply) return null;
    const news: ReplyNews = { run: this.#run, reply: this.#number };
    if (this.#needsSnapshot) {
      news.snapshot = { ...reply.read(), after_seq: reply.after_seq };
      this.#index = news.snapshot.index;
    } else if (this.#pieces.length > 0) {
      Object.assign(news, { from: this.#index, pieces: this.#pieces });
      this.#index = this.#pieces.at(-1)!.index + 1;
    }
    if (this.#end !== undefined) {
      news.end = this.#end;
      this.#reply = null;
    }
    this.#needsSnapshot = false;
    this.#pieces = [];
    this.#characters = 0;
    return news;
  }
}

/** The runs that one process asked for. */
export class Outlets {
  heardAt = Number.NEGATIVE_INFINITY;
  readonly #live: Pick<LiveRuns, "attach">;
  readonly #outlets = new Map<string, Outlet>();
  readonly #changed = new Set<Outlet>();
  readonly #onNews: () => void;

  constructor(live: Pick<LiveRuns, "attach">, onNews: () => void) {
    this.#live = live;
    this.#onNews = onNews;
  }

  get hasNews(): boolean {
    return this.#changed.size > 0;
  }

  /** `isNew`: the process has nothing of these runs. */
  add(runs: readonly string[], isNew: boolean): void {
    for (const run of runs) {
      const existing = this.#outlets.get(run);
      if (existing && isNew) existing.restart();
      if (existing || this.#outlets.size >= RUNS_MAX) continue;
      const outlet = new Outlet(run, (changed) => {
        this.#changed.add(changed);
        this.#onNews();
      });
      this.#outlets.set(run, outlet);
      outlet.leave = this.#live.attach(run, outlet);
    }
  }

  /** Leaves all runs but these. */
  keep(runs: ReadonlySet<string>): void {
    for (const [run, outlet] of this.#outlets) {
      if (runs.has(run)) continue;
      this.#outlets.delete(run);
      this.#changed.delete(outlet);
      outlet.leave();
    }
  }

  /** Takes the next message. */
  take(): string {
    const parts: string[] = [];
    let characters = 0;
    for (const outlet of this.#changed) {
      this.#changed.delete(outlet);
      const news = outlet.take();
      if (!news) continue;
      const part = JSON.stringify(news);
      parts.push(part);
      characters += part.length;
      if (characters > MESSAGE_CHARACTERS) break;
    }
    return parts.join(",");
  }
}
