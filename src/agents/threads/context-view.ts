// What a model sees of a long thread: old results cleared, what is far too long shortened, older
// turns as a summary. What is stored is never rewritten.

import {
  type Block,
  type BlockEntry,
  countMessageTokens,
  listBlocks,
  type ShownMessage,
  type ThreadMessage,
} from "./context-blocks.ts";
import { shortenMessage } from "./truncation.ts";

/** From here on a thread is long; what is left is for the error of the estimate. */
const LONG_SHARE = 0.8;
/** A new summary makes room for long, so that not every round needs one. */
const SUMMARISED_SHARE = 0.5;
/** Blocks that take more of the room each are shortened to so much together. */
const BLOCK_SHARE = 0.5;
/** Before a summary so much of the run's own question stands, beside what it tells of. */
const QUESTION_SHARE = 0.25;
/** The newest results are what the model works with. */
const RESULTS_KEPT = 3;
/** So many are cleared together: what stands before stays the same, and in a server's cache. */
const RESULTS_CLEARED = 4;
const SUMMARY_TOKENS_MAX = 1_024;
const SUMMARY_SHARE = 0.125;
const SUMMARY_HEADING = "Summary of the conversation so far:";

export interface Summary {
  text: string;
  /** The first message that it does not tell of: the `to` of a `needsSummary`. */
  until: number;
}

export interface ContextInput {
  /** The stored thread in its order. */
  messages: readonly ThreadMessage[];
  /** Where the messages of the present run begin. */
  present_from: number;
  windowTokens: number;
  /** What else stands in the window: system prompt, tools, and the longest reply. */
  reserveTokens: number;
  /** Should the model have refused more than this; null: it has refused nothing. */
  room_tokens: number | null;
  summary: Summary | null;
  /** The agent has `read_output`, and so can read cleared results of its run. */
  mayReadOutput: boolean;
}

export interface SummaryNeed {
  /** These messages of the thread, and what an earlier summary tells, are to be one summary. */
  from: number;
  to: number;
  /** They as the view has them, of which none is too long to be read. */
  messages: ShownMessage[];
  /** The longest that the summary may be. */
  tokensMax: number;
}

export interface ContextView {
  messages: ShownMessage[];
  /** What they cost, about, without the reserve. */
  tokens: number;
  /** How many results were cleared. */
  cleared: number;
  /** Not null: the view is too long until that summary is made. */
  needsSummary: SummaryNeed | null;
  /** What they may cost. */
  room_tokens: number;
  /** false: they cost more. Without a need, nothing more can be left out. */
  fits: boolean;
}

export function buildContextView(sight: ContextInput): ContextView {
  return new Viewing(sight).view();
}

class Viewing {
  readonly #sight: ContextInput;
  readonly #limit: number;
  readonly #from: number;
  /** The present run's last user message: it stands in every view as it was sent. */
  readonly #pinned: number;
  readonly #blocks: Block[];
  readonly #shown: BlockEntry[];
  #tokens = 0;
  #cleared = 0;

  constructor(sight: ContextInput) {
    const { messages, summary, windowTokens, reserveTokens, room_tokens } = sight;
    this.#sight = sight;
    const room = Math.floor(windowTokens * LONG_SHARE) - reserveTokens;
    this.#limit = Math.min(room, room_tokens ?? room);
    this.#from = summary?.until ?? 0;
    this.#pinned = findPinned(sight);
    this.#blocks = listBlocks(messages, this.#from);
    this.#shown = this.#blocks.flatMap((block) => block.entries);
    const isPinnedAway = this.#pinned !== -1 && this.#pinned < this.#from;
    if (isPinnedAway) this.#shown.unshift(...listPinned(messages, this.#pinned));
    if (summary) this.#shown.unshift(writeSummary(summary.text));
    for (const { tokens } of this.#shown) this.#tokens += tokens;
  }

  view(): ContextView {
    let needsSummary: SummaryNeed | null = null;
    if (this.#isLong()) {
      const results = this.#shown.filter(({ message }) => message.role === "tool");
      const old = results.slice(0, Math.max(0, results.length - RESULTS_KEPT));
      this.#clear(old, RESULTS_CLEARED);
      this.#shortenBlocks();
      if (this.#isLong()) needsSummary = this.#findNeed();
      // Better than to fail: the model is told what is gone, and can read it in parts.
      if (this.#isLong() && !needsSummary) this.#clear(results.slice(old.length), 1);
    }
    return {
      messages: this.#shown.map((entry) => entry.message),
      tokens: this.#tokens,
      cleared: this.#cleared,
      needsSummary,
      room_tokens: this.#limit,
      fits: !this.#isLong(),
    };
  }

  #isLong(): boolean {
    return this.#tokens > this.#limit;
  }

  /** Clears results from the oldest on, so many at once, until the view is no longer too long. */
  #clear(results: readonly BlockEntry[], at_once: number): void {
    for (let next = 0; next < results.length && this.#isLong(); next += at_once) {
      for (const entry of results.slice(next, next + at_once)) this.#clearOne(entry);
    }
  }

  #clearOne(entry: BlockEntry): void {
    const { tool_call_id } = entry.message;
    const isPresent = entry.index !== null && entry.index >= this.#sight.present_from;
    const content = explainCleared(tool_call_id!, isPresent && this.#sight.mayReadOutput);
    const message: ShownMessage = { role: "tool", content, tool_call_id: tool_call_id! };
    const tokens = countMessageTokens(message);
    // A short result costs no more than the sentence that would stand for it.
    if (tokens >= entry.tokens) return;
    this.#cleared++;
    this.#show(entry, message, tokens);
  }

  #show(entry: BlockEntry, message: ShownMessage, tokens: number): void {
    this.#tokens += tokens - entry.tokens;
    entry.message = message;
    entry.tokens = tokens;
  }

  /**
   * From the oldest on, and never what the run was asked, nor what its model has just got. No model
   * could read a block that is too long, be it for a summary: its thread would be dead for good.
   */
  #shortenBlocks(): void {
    const share = Math.floor(this.#limit * BLOCK_SHARE);
    const long = this.#blocks
      .slice(0, -1)
      .filter(({ from, entries }) => from !== this.#pinned && countTokens(entries) > share);
    const tokensMax = Math.floor(share / long.length);
    for (const { entries } of long) {
      if (!this.#isLong()) return;
      const [first, ...results] = entries;
      for (const result of results) this.#clearOne(result);
      const message = shortenMessage(first!.message, tokensMax - countTokens(results));
      const tokens = countMessageTokens(message);
      if (tokens < first!.tokens) this.#show(first!, message, tokens);
    }
  }

  /** What to summarise so that half of the room is free; null: nothing would be won. */
  #findNeed(): SummaryNeed | null {
    const share = Math.floor(this.#limit * SUMMARY_SHARE);
    const tokensMax = Math.min(SUMMARY_TOKENS_MAX, share);
    const messages: ShownMessage[] = [];
    let won = 0;
    let read = 0;
    let need: SummaryNeed | null = null;
    for (const [place, block] of this.#blocks.entries()) {
      // A first turn that is longer than half of the room is parted between its rounds.
      const isHuge = !need && read > this.#limit * SUMMARISED_SHARE;
      if (place > 0 && won > tokensMax && (isHuge || this.#mayPart(block))) {
        // What is to be summarised must itself fit in the window.
        if (need && read > this.#limit) return need;
        need = { from: this.#from, to: block.from, messages: [...messages], tokensMax };
        if (this.#tokens - won + tokensMax <= this.#limit * SUMMARISED_SHARE) return need;
      }
      if (block.from === this.#pinned) {
        const question = this.#shortenQuestion(block);
        messages.push(question);
        read += countMessageTokens(question);
        continue;
      }
      messages.push(...block.entries.map((entry) => entry.message));
      const tokens = countTokens(block.entries);
      won += tokens;
      read += tokens;
    }
    return need;
  }

  /** Only before a summary: in a view it stands as it was sent, whatever is told of it. */
  #shortenQuestion({ entries: [question] }: Block): ShownMessage {
    const tokensMax = Math.floor(this.#limit * QUESTION_SHARE);
    const { message, tokens } = question!;
    return tokens <= tokensMax ? message : shortenMessage(message, tokensMax);
  }

  /** Turns of earlier runs are summarised whole; in the present run, round by round. */
  #mayPart(block: Block): boolean {
    if (this.#sight.messages[block.from]!.role === "user") return true;
    return this.#pinned !== -1 && block.from > this.#pinned;
  }
}

function findPinned({ messages, present_from }: ContextInput): number {
  for (let index = messages.length - 1; index >= present_from; index--) {
    if (messages[index]!.role === "user") return index;
  }
  return -1;
}

function listPinned(messages: readonly ThreadMessage[], pinned: number): BlockEntry[] {
  return listBlocks(messages.slice(0, pinned + 1), pinned).flatMap((block) => block.entries);
}

/** What stands for messages that a model is not shown. */
export function summaryMessage(text: string): ShownMessage {
  return { role: "user", content: `${SUMMARY_HEADING}\n\n${text}` };
}

function countTokens(entries: readonly BlockEntry[]): number {
  return entries.reduce((sum, { tokens }) => sum + tokens, 0);
}

function writeSummary(text: string): BlockEntry {
  const message = summaryMessage(text);
  return { index: null, message, tokens: countMessageTokens(message) };
}

function explainCleared(tool_call_id: string, mayRead: boolean): string {
  const cleared = `The result of ${tool_call_id} was cleared to save room.`;
  return mayRead ? `${cleared} read_output with this tool_call_id reads it again.` : cleared;
}
