// The part of a thread that a model sees: old results cleared, huge blocks truncated, older turns
// summarised. Stored messages are never rewritten.
import {
  type Block,
  type BlockEntry,
  countMessageTokens,
  listBlocks,
  MESSAGE_TOKENS,
  type ShownMessage,
  type ThreadMessage,
  truncateMessage,
} from "./context-blocks.ts";

/** Share of the window that a thread may fill; the rest covers errors of the estimate. */
const LONG_SHARE = 0.8;
/** Share of the room that a summary aims for, so that not every round needs one. */
const SUMMARISED_SHARE = 0.5;
/** Share of the room above which a block is huge, and to which all huge blocks are truncated. */
const BLOCK_SHARE = 0.5;
/** Maximum share of the room for the run's question in the prompt for a summary. */
const QUESTION_SHARE = 0.25;
/** Number of newest results that are cleared last. */
const RESULTS_KEPT = 3;
/** Number of results cleared together, so that the prefix stays in a model server's cache. */
const RESULTS_CLEARED = 4;
const SUMMARY_TOKENS_MAX = 1_024;
const SUMMARY_SHARE = 0.125;
const SUMMARY_HEADING = "Summary of the conversation so far:";

export interface Summary {
  text: string;
  /** Index of the first message after the summary: `to` of its `SummaryNeed`. */
  until: number;
}

export interface ContextInput {
  messages: readonly ThreadMessage[];
  runFrom: number;
  windowTokens: number;
  /** Tokens of the system prompt, the tools and the longest reply. */
  reserveTokens: number;
  /** Reduced limit after the model rejected a view as too long; null without a rejection. */
  roomTokens: number | null;
  summary: Summary | null;
  /** The agent has `read_output`, which reads cleared results of the run. */
  mayReadOutput: boolean;
  /** Without it the model is asked for a reply next, whatever a summary would save. */
  maySummarise: boolean;
}

export interface SummaryNeed {
  from: number;
  to: number;
  messages: ShownMessage[];
  tokensMax: number;
}

/** A message that is shown shorter than it is stored. */
export interface Reduction {
  /** `cleared`: the whole result of a call. */
  kind: "cleared" | "truncated";
  /** Index in the view. */
  at: number;
  tokensBefore: number;
  tokens: number;
}

export interface ContextView {
  messages: ShownMessage[];
  tokens: number;
  /** Tokens before the reductions. */
  wholeTokens: number;
  reductions: Reduction[];
  needsSummary: SummaryNeed | null;
  roomTokens: number;
}

export function buildContextView(input: ContextInput): ContextView {
  return new ViewBuilder(input).build();
}

class ViewBuilder {
  readonly #input: ContextInput;
  readonly #limit: number;
  readonly #from: number;
  /** Index of the present run's last user message, which every view shows unchanged, or -1. */
  readonly #pinned: number;
  readonly #blocks: Block[];
  readonly #shown: BlockEntry[];
  readonly #reductions = new Map<BlockEntry, Pick<Reduction, "kind" | "tokensBefore">>();
  #tokens = 0;

  constructor(input: ContextInput) {
    const { messages, summary, windowTokens, reserveTokens, roomTokens } = input;
    this.#input = input;
    const room = Math.floor(windowTokens * LONG_SHARE) - reserveTokens;
    this.#limit = Math.min(room, roomTokens ?? room);
    this.#from = summary?.until ?? 0;
    this.#pinned = findPinned(input);
    this.#blocks = listBlocks(messages, this.#from);
    this.#shown = this.#blocks.flatMap((block) => block.entries);
    const isPinnedAway = this.#pinned !== -1 && this.#pinned < this.#from;
    if (isPinnedAway) this.#shown.unshift(...listPinned(messages, this.#pinned));
    if (summary) this.#shown.unshift(writeSummary(summary.text));
    for (const { tokens } of this.#shown) this.#tokens += tokens;
  }

  build(): ContextView {
    let needsSummary: SummaryNeed | null = null;
    const wholeTokens = this.#tokens;
    if (this.#isTooLong()) {
      const results = this.#shown.filter(({ message }) => message.role === "tool");
      const unread = this.#listUnread();
      const kept = Math.max(RESULTS_KEPT, unread.length);
      const old = results.slice(0, Math.max(0, results.length - kept));
      this.#clear(old, RESULTS_CLEARED);
      this.#truncateBlocks();
      const read = results.slice(old.length, results.length - unread.length);
      const share = Math.floor(this.#limit * BLOCK_SHARE);
      // Huge results leave no room that a summary of the rest could free.
      if (countTokens(unread) > share) this.#makeRoom(read, unread, share);
      if (this.#isTooLong() && this.#input.maySummarise) needsSummary = this.#findNeed();
      // The last resort before failing; the model can read cleared results in parts.
      if (!needsSummary) this.#makeRoom(read, unread, 0);
    }
    return {
      messages: this.#shown.map((entry) => entry.message),
      tokens: this.#tokens,
      wholeTokens,
      reductions: this.#shown.flatMap((entry, at) => {
        const reduced = this.#reductions.get(entry);
        return reduced ? { ...reduced, at, tokens: entry.tokens } : [];
      }),
      needsSummary,
      roomTokens: this.#limit,
    };
  }

  #isTooLong(): boolean {
    return this.#tokens > this.#limit;
  }

  /** Results that no reply has followed: without them the model would only make the calls again. */
  #listUnread(): BlockEntry[] {
    return this.#blocks.at(-1)?.entries.filter(({ message }) => message.role === "tool") ?? [];
  }

  /** Clears results that the model has read, then truncates the others to the room that is left. */
  #makeRoom(read: readonly BlockEntry[], unread: readonly BlockEntry[], roomMin: number): void {
    this.#clear(read, 1);
    if (!this.#isTooLong()) return;
    const byLength = unread.toSorted((one, other) => one.tokens - other.tokens);
    let room = Math.max(this.#limit - this.#tokens + countTokens(unread), roomMin);
    for (const [place, entry] of byLength.entries()) {
      // Shorter results leave their part of the room to longer ones.
      const tokensMax = Math.floor(room / (byLength.length - place));
      if (entry.tokens > tokensMax) {
        const message = truncateMessage(entry.message, tokensMax - MESSAGE_TOKENS);
        const tokens = countMessageTokens(message);
        if (tokens < entry.tokens) this.#replace(entry, message, tokens, "truncated");
      }
      room -= entry.tokens;
    }
  }

  #clear(results: readonly BlockEntry[], stepSize: number): void {
    for (let next = 0; next < results.length && this.#isTooLong(); next += stepSize) {
      for (const entry of results.slice(next, next + stepSize)) this.#clearOne(entry);
    }
  }

  #clearOne(entry: BlockEntry): void {
    const { tool_call_id } = entry.message;
    const isPresent = entry.index !== null && entry.index >= this.#input.runFrom;
    const content = explainCleared(tool_call_id!, isPresent && this.#input.mayReadOutput);
    const message: ShownMessage = { role: "tool", content, tool_call_id: tool_call_id! };
    const tokens = countMessageTokens(message);
    // Short results cost no more than their replacement.
    if (tokens >= entry.tokens) return;
    this.#replace(entry, message, tokens, "cleared");
  }

  #replace(
    entry: BlockEntry,
    message: ShownMessage,
    tokens: number,
    kind: Reduction["kind"],
  ): void {
    const tokensBefore = this.#reductions.get(entry)?.tokensBefore ?? entry.tokens;
    this.#reductions.set(entry, { kind, tokensBefore });
    this.#tokens += tokens - entry.tokens;
    entry.message = message;
    entry.tokens = tokens;
  }

  /**
   * Truncates huge blocks from the oldest on, except for the run's question and the newest block. A
   * block too long even for a summary would block its thread for good.
   */
  #truncateBlocks(): void {
    const share = Math.floor(this.#limit * BLOCK_SHARE);
    const long = this.#blocks
      .slice(0, -1)
      .filter(({ from, entries }) => from !== this.#pinned && countTokens(entries) > share);
    const tokensMax = Math.floor(share / long.length);
    for (const { entries } of long) {
      if (!this.#isTooLong()) return;
      const [first, ...results] = entries;
      for (const result of results) this.#clearOne(result);
      const message = truncateMessage(first!.message, tokensMax - countTokens(results));
      const tokens = countMessageTokens(message);
      if (tokens < first!.tokens) this.#replace(first!, message, tokens, "truncated");
    }
  }

  /** Finds the messages to summarise so that half of the room is free; null saves nothing. */
  #findNeed(): SummaryNeed | null {
    const share = Math.floor(this.#limit * SUMMARY_SHARE);
    const tokensMax = Math.min(SUMMARY_TOKENS_MAX, share);
    const messages: ShownMessage[] = [];
    let saved = 0;
    let read = 0;
    let need: SummaryNeed | null = null;
    for (const [place, block] of this.#blocks.entries()) {
      // A first turn longer than half of the room is split between its rounds.
      const isHuge = !need && read > this.#limit * SUMMARISED_SHARE;
      if (place > 0 && saved > tokensMax && (isHuge || this.#maySplitAt(block))) {
        // The prompt for the summary must fit in the window too.
        if (need && read > this.#limit) return need;
        need = { from: this.#from, to: block.from, messages: [...messages], tokensMax };
        if (this.#tokens - saved + tokensMax <= this.#limit * SUMMARISED_SHARE) return need;
      }
      if (block.from === this.#pinned) {
        const question = this.#truncateQuestion(block);
        messages.push(question);
        read += countMessageTokens(question);
        continue;
      }
      messages.push(...block.entries.map((entry) => entry.message));
      const tokens = countTokens(block.entries);
      saved += tokens;
      read += tokens;
    }
    return need;
  }

  #truncateQuestion({ entries: [question] }: Block): ShownMessage {
    const tokensMax = Math.floor(this.#limit * QUESTION_SHARE);
    const { message, tokens } = question!;
    return tokens <= tokensMax ? message : truncateMessage(message, tokensMax);
  }

  /** Earlier runs are summarised turn by turn, the present run round by round. */
  #maySplitAt(block: Block): boolean {
    if (this.#input.messages[block.from]!.role === "user") return true;
    return this.#pinned !== -1 && block.from > this.#pinned;
  }
}

function findPinned({ messages, runFrom: presentFrom }: ContextInput): number {
  for (let index = messages.length - 1; index >= presentFrom; index--) {
    if (messages[index]!.role === "user") return index;
  }
  return -1;
}

function listPinned(messages: readonly ThreadMessage[], pinned: number): BlockEntry[] {
  return listBlocks(messages.slice(0, pinned + 1), pinned).flatMap((block) => block.entries);
}

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
