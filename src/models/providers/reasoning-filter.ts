// Keeps a model's reasoning out of its text, whether sent apart or in `<think>` blocks.
import type { Chunk, CompleteAttempt, OnChunk, RawComplete, ReasoningChunk } from "./contract.ts";

const OPEN = "<think>";
const CLOSE = "</think>";

export interface ReasoningTags {
  /** The model reasons: a closing tag without an opening one ends its reasoning, too. */
  reasons: boolean;
  /** Opener of the block: the reply, or the chat template if asked for reasoning or always. */
  thought_opens: "reply" | "asked" | "always";
}

/**
 * gateway.endpoints.chat_completions.reasoning: the caller gets no reasoning. Wraps each
 * attempt, so that another replica may still take over after reasoning alone.
 */
export function withoutReasoning(
  complete: RawComplete,
  { reasons, thought_opens }: ReasoningTags,
): CompleteAttempt {
  return async (request, onChunk, signal, firstTokenMs) => {
    const isOpen = thought_opens === "always" || (thought_opens === "asked" && request.reasoning);
    const filter = new ReasoningFilter(onChunk, reasons, isOpen);
    const completion = await complete(request, (chunk) => filter.take(chunk), signal, firstTokenMs);
    if (completion.ok) await filter.end(completion.finishReason === "length");
    return completion;
  };
}

/** Kind of the text that comes now; the next closing tag decides what `unsure` is. */
type Mode = "text" | "reasoning" | "unsure";

class ReasoningFilter {
  readonly #onChunk: OnChunk;
  readonly #reasons: boolean;
  #mode: Mode;
  #hasBegun = false;
  /** Reasoning has quoted the opening tag: its closing one may belong to either. */
  #isNested = false;
  /** Text of the mode `unsure`; passed on if nothing closes it. */
  #unsure = "";
  #tagStart = "";
  #hasText = false;
  #hasSent = false;
  /** Space between reasoning and the first word belongs to neither. */
  #needsTrim = false;

  constructor(onChunk: OnChunk, reasons: boolean, isOpen: boolean) {
    this.#onChunk = onChunk;
    this.#reasons = reasons;
    this.#mode = isOpen ? "reasoning" : "text";
  }

  take(chunk: Chunk | ReasoningChunk): void | Promise<void> {
    switch (chunk.kind) {
      case "text": {
        const { text } = chunk;
        this.#hasText ||= text.trim() !== "";
        const isPlain = this.#mode === "text" && this.#tagStart === "" && !text.includes("<");
        return this.#send(isPlain ? text : this.#filter(this.#tagStart + text));
      }
      case "reasoning":
        // A server that sends reasoning apart leaves none in the text.
        if (!this.#hasText) this.#mode = "text";
        return;
      case "call":
        // Keeps `#tagStart`: a tag may go on behind the call.
        this.#hasSent = true;
        return this.#onChunk(chunk);
    }
  }

  /** Sends what was held back; a completion that was cut (`isCut`) has no end of its own. */
  end(isCut: boolean): void | Promise<void> {
    if (this.#mode === "reasoning" || (this.#mode === "unsure" && isCut)) return;
    const text = this.#unsure + this.#tagStart;
    this.#mode = "text";
    return this.#send(this.#filter(text) + (this.#mode === "text" ? this.#tagStart : ""));
  }

  #send(text: string): void | Promise<void> {
    const trimmed = this.#needsTrim ? text.trimStart() : text;
    if (trimmed === "") return;
    this.#needsTrim = false;
    this.#hasSent = true;
    return this.#onChunk({ kind: "text", text: trimmed });
  }

  #filter(text: string): string {
    let passed = "";
    // Found once for many others: searching behind each would take quadratic time.
    const nextOpen = createSearch(text, OPEN);
    const nextClose = createSearch(text, CLOSE);
    for (let at = 0; ; ) {
      const open = nextOpen(at);
      const close = this.#mode === "text" && !this.#reasons ? -1 : nextClose(at);
      if (open !== -1 && (close === -1 || open < close)) {
        passed += this.#open(text.slice(at, open), passed === "");
        at = open + OPEN.length;
      } else if (close !== -1) {
        // Some templates open the block in the prompt: everything before its end is reasoning.
        if (this.#mode === "text") passed = "";
        at = close + CLOSE.length;
        this.#close();
      } else return passed + this.#takeRest(text.slice(at));
    }
  }

  #open(before: string, isFirst: boolean): string {
    const mode = this.#mode;
    if (mode === "unsure") {
      this.#unsure += before + OPEN;
      return "";
    }
    // Reasoning that the prompt has opened may have its tag all the same.
    const hasBegun = this.#hasBegun || before.trim() !== "";
    this.#isNested ||= mode === "reasoning" && hasBegun;
    this.#hasBegun = true;
    this.#mode = "reasoning";
    if (mode !== "text") return "";
    return isFirst && !this.#hasSent ? before.trimStart() : before;
  }

  #close(): void {
    this.#mode = this.#mode === "reasoning" && this.#isNested ? "unsure" : "text";
    this.#isNested = false;
    this.#unsure = "";
    this.#needsTrim ||= !this.#hasSent;
  }

  #takeRest(text: string): string {
    this.#tagStart = findTagStart(text);
    const whole = text.slice(0, text.length - this.#tagStart.length);
    if (this.#mode === "text") return whole;
    if (this.#mode === "unsure") this.#unsure += whole;
    else this.#hasBegun ||= whole.trim() !== "";
    return "";
  }
}

/** Searches a tag from positions that only grow. */
function createSearch(text: string, tag: string): (at: number) => number {
  let found = -2;
  return (at) => {
    if (found !== -1 && found < at) found = text.indexOf(tag, at);
    return found;
  };
}

function findTagStart(text: string): string {
  const start = text.lastIndexOf("<");
  const tail = start === -1 ? "" : text.slice(start);
  return CLOSE.startsWith(tail) || OPEN.startsWith(tail) ? tail : "";
}
