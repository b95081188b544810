// Keeps what a model thinks out of what it says, be it told apart or in `<think>` blocks.
import type { Chunk, CompleteAttempt, OnChunk, RawComplete, ReasoningChunk } from "./contract.ts";

const OPEN = "<think>";
const CLOSE = "</think>";

/** How a model thinks aloud. */
export interface ReasoningTags {
  /** It is said to reason: then a closing tag alone ends a thought, too. */
  reasons: boolean;
  /** Who opens the block: the reply, or the chat template in the prompt, if asked for or always. */
  thought_opens: "reply" | "asked" | "always";
}

/**
 * gateway.endpoints.chat_completions.reasoning: no reasoning text reaches the caller. It stands
 * around each attempt, so that thoughts alone do not keep another replica from taking over.
 */
export function withoutReasoning(
  answer: RawComplete,
  { reasons, thought_opens }: ReasoningTags,
): CompleteAttempt {
  return async (ask, onChunk, signal, first_token_ms) => {
    const isOpen = thought_opens === "always" || (thought_opens === "asked" && ask.reasoning);
    const filter = new Filter(onChunk, reasons, isOpen);
    const hear = (piece: Chunk | ReasoningChunk) => filter.hear(piece);
    const ending = await answer(ask, hear, signal, first_token_ms);
    if (ending.ok) await filter.end(ending.finishReason === "length");
    return ending;
  };
}

/** What comes now: words, thoughts, or what only the next closing tag, or none, will tell. */
type Mode = "said" | "thought" | "unsure";

/** Stands in front of an ear, which hears what is said and nothing of what is thought. */
class Filter {
  readonly onChunk: OnChunk;
  readonly #reasons: boolean;
  #mode: Mode;
  /** The thought has its tag, or a word. */
  #hasBegun = false;
  /** A thought has spoken of the opening tag: its closing one may be of either. */
  #isNested = false;
  /** What came while it was unsure; it is said if nothing closes it. */
  #kept = "";
  /** The end of what came, where it may be the start of a tag. */
  #held = "";
  #hasHeard = false;
  #hasSaid = false;
  /** What stands between the thoughts and the first word belongs to neither. */
  #needsTrim = false;

  constructor(onChunk: OnChunk, reasons: boolean, isOpen: boolean) {
    this.onChunk = onChunk;
    this.#reasons = reasons;
    this.#mode = isOpen ? "thought" : "said";
  }

  hear(piece: Chunk | ReasoningChunk): void | Promise<void> {
    switch (piece.kind) {
      case "text": {
        this.#hasHeard ||= piece.text.trim() !== "";
        const isPlain = this.#mode === "said" && this.#held === "" && !piece.text.includes("<");
        return this.#tell(isPlain ? piece.text : this.#sift(this.#held + piece.text));
      }
      case "thought":
        // A server that tells thoughts apart leaves none in the text, whatever opened them.
        if (!this.#hasHeard) this.#mode = "said";
        return;
      case "call":
        // The start of a tag may go on behind it.
        this.#hasSaid = true;
        return this.onChunk(piece);
    }
  }

  /** Tells what was held back; `isCut`: the answer has no end of its own. */
  end(isCut: boolean): void | Promise<void> {
    if (this.#mode === "thought" || (this.#mode === "unsure" && isCut)) return;
    const text = this.#kept + this.#held;
    this.#mode = "said";
    return this.#tell(this.#sift(text) + (this.#mode === "said" ? this.#held : ""));
  }

  #tell(text: string): void | Promise<void> {
    const said = this.#needsTrim ? text.trimStart() : text;
    if (said === "") return;
    this.#needsTrim = false;
    this.#hasSaid = true;
    return this.onChunk({ kind: "text", text: said });
  }

  /** What of a text is said. */
  #sift(text: string): string {
    let said = "";
    // Found once for many others: to look for it behind each would cost the square of the length.
    const nextOpen = createSearch(text, OPEN);
    const nextClose = createSearch(text, CLOSE);
    for (let at = 0; ; ) {
      const open = nextOpen(at);
      const close = this.#mode === "said" && !this.#reasons ? -1 : nextClose(at);
      if (open !== -1 && (close === -1 || open < close)) {
        said += this.#open(text.slice(at, open), said === "");
        at = open + OPEN.length;
      } else if (close !== -1) {
        // Some templates open the block in the prompt: then everything before its end is thought.
        if (this.#mode === "said") said = "";
        at = close + CLOSE.length;
        this.#close();
      } else return said + this.#rest(text.slice(at));
    }
  }

  /** An opening tag with what stands before it; returns what of that is said. */
  #open(before: string, isFirst: boolean): string {
    const mode = this.#mode;
    if (mode === "unsure") {
      this.#kept += before + OPEN;
      return "";
    }
    // A thought that the prompt has opened may have its tag all the same.
    const hasBegun = this.#hasBegun || before.trim() !== "";
    this.#isNested ||= mode === "thought" && hasBegun;
    this.#hasBegun = true;
    this.#mode = "thought";
    if (mode !== "said") return "";
    return isFirst && !this.#hasSaid ? before.trimStart() : before;
  }

  #close(): void {
    this.#mode = this.#mode === "thought" && this.#isNested ? "unsure" : "said";
    this.#isNested = false;
    this.#hasBegun = false;
    this.#kept = "";
    this.#needsTrim ||= !this.#hasSaid;
  }

  /** The end of a text without whole tags; returns what of it is said. */
  #rest(text: string): string {
    this.#held = findTagStart(text);
    const whole = text.slice(0, text.length - this.#held.length);
    if (this.#mode === "said") return whole;
    if (this.#mode === "unsure") this.#kept += whole;
    else this.#hasBegun ||= whole.trim() !== "";
    return "";
  }
}

/** Finds a tag from a place on, in places that only grow. */
function createSearch(text: string, tag: string): (at: number) => number {
  let found = -2;
  return (at) => {
    if (found !== -1 && found < at) found = text.indexOf(tag, at);
    return found;
  };
}

/** The longest end of a text with which a tag may begin. */
function findTagStart(text: string): string {
  const start = text.lastIndexOf("<");
  const tail = start === -1 ? "" : text.slice(start);
  return CLOSE.startsWith(tail) || OPEN.startsWith(tail) ? tail : "";
}
