// Keeps what a model thinks out of what it says: its `<think>` blocks, however they are cut.
import type { Answer, Ear } from "./contract.ts";

const OPEN = "<think>";
const CLOSE = "</think>";

/**
 * gateway.endpoints.chat_completions.reasoning: no reasoning text reaches the caller. It stands
 * around each attempt, so that thoughts alone do not keep another replica from taking over.
 */
export function withoutReasoning(answer: Answer): Answer {
  return async (ask, ear, signal) => {
    const filter = createFilter(ear);
    const ending = await answer(ask, filter.hear, signal);
    if (ending.ok) await filter.end();
    return ending;
  };
}

/** An ear in front of another, which hears the text outside of the blocks only. */
function createFilter(ear: Ear): { hear: Ear; end(): void | Promise<void> } {
  let isInside = false;
  /** The end of what came, where it may be the start of a tag. */
  let held = "";
  let hasTold = false;
  /** What stands between the thoughts and the first word belongs to neither. */
  let needsTrim = false;

  const tell = (text: string): void | Promise<void> => {
    const said = needsTrim ? text.trimStart() : text;
    if (said === "") return;
    needsTrim = false;
    hasTold = true;
    return ear({ kind: "text", text: said });
  };
  const release = (): void | Promise<void> => {
    const text = held;
    held = "";
    if (!isInside && text !== "") return tell(text);
  };
  /** What of a text may be told. */
  const sift = (text: string): string => {
    let told = "";
    let at = 0;
    // Found once for many ends: to look for it behind each would cost the square of the length.
    let open = text.indexOf(OPEN);
    for (;;) {
      const close = text.indexOf(CLOSE, at);
      if (open !== -1 && open < at) open = text.indexOf(OPEN, at);
      if (!isInside && open !== -1 && (close === -1 || open < close)) {
        const before = text.slice(at, open);
        told += hasTold || told !== "" ? before : before.trimStart();
        at = open + OPEN.length;
        isInside = true;
      } else if (close !== -1) {
        // Some templates open the block in the prompt: then everything before its end is thought.
        if (!isInside) told = "";
        at = close + CLOSE.length;
        isInside = false;
        needsTrim ||= !hasTold && told === "";
      } else {
        const rest = text.slice(at);
        held = findTagStart(rest, isInside);
        return isInside ? told : told + rest.slice(0, rest.length - held.length);
      }
    }
  };
  return {
    hear(piece) {
      if (piece.kind !== "text") {
        const before = release();
        hasTold = true;
        return before ? before.then(() => ear(piece)) : ear(piece);
      }
      if (!isInside && held === "" && !piece.text.includes("<")) return tell(piece.text);
      return tell(sift(held + piece.text));
    },
    end: release,
  };
}

/** The longest end of a text with which a tag may begin. */
function findTagStart(text: string, isInside: boolean): string {
  const start = text.lastIndexOf("<");
  const tail = start === -1 ? "" : text.slice(start);
  const isStart = CLOSE.startsWith(tail) || (!isInside && OPEN.startsWith(tail));
  return isStart ? tail : "";
}
