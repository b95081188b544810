// A message that would leave no room for others, as a model is shown it: its head and its tail.
import { estimateTokens } from "../../models/index.ts";
import { countCallTokens, type ShownMessage } from "./context-blocks.ts";

/** The end tells how something came out. */
const TAIL_SHARE = 0.25;
/** So much stays of any text: with less nobody would know what it was. */
const KEPT_CHARACTERS_MIN = 256;

/** The same message of about so many tokens, or of as few as are possible. */
export function shortenMessage(message: ShownMessage, tokensMax: number): ShownMessage {
  const { content, tool_calls = [] } = message;
  const calls = countCallTokens(tool_calls);
  if (calls <= tokensMax / 2) {
    return { ...message, content: shortenText(content, tokensMax - calls) };
  }
  // No part of a JSON text is one; what the calls came to stands behind them.
  const emptied = tool_calls.map((call) => {
    return { ...call, function: { ...call.function, arguments: "{}" } };
  });
  const left = tokensMax - countCallTokens(emptied);
  return { ...message, content: shortenText(content, left), tool_calls: emptied };
}

function shortenText(text: string | null, tokensMax: number): string | null {
  if (text === null) return null;
  const tokens = estimateTokens(text);
  if (tokens <= tokensMax) return text;
  let kept = Math.floor((text.length * Math.max(0, tokensMax)) / tokens);
  for (;;) {
    kept = Math.max(kept, KEPT_CHARACTERS_MIN);
    if (kept >= text.length) return text;
    const short = cutMiddle(text, kept);
    if (kept === KEPT_CHARACTERS_MIN || estimateTokens(short) <= tokensMax) return short;
    // Not every part of a text has as many tokens as the others.
    kept = Math.floor(kept * 0.75);
  }
}

function cutMiddle(text: string, kept: number): string {
  const tail = Math.floor(kept * TAIL_SHARE);
  const head = text.slice(0, kept - tail);
  const mark = `\n\n[… About ${text.length - kept} characters are left out here. …]\n\n`;
  return (head + mark + text.slice(text.length - tail)).toWellFormed();
}
