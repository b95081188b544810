// Reads server-sent events as model servers write them: any line end, any cut, no last blank line.

export interface SseParser {
  /** Takes the next bytes and returns the `data` of every event that they complete. */
  push(bytes: Uint8Array): string[];
  /** The `data` of an event that the stream ended in the middle of; empty: none. */
  end(): string[];
}

/** Makes a reader for one stream; comments, fields other than `data`, empty events are dropped. */
export function createSseParser(): SseParser {
  const decoder = new TextDecoder();
  const line_end = /\r\n?|\n/g;
  /** The start of a line whose end is still to come. */
  let line = "";
  let data: string | null = null;
  /** True when the last text ended with the first half of what may be \r\n. */
  let isHalved = false;

  const takeLine = (whole: string, events: string[]) => {
    if (whole === "") {
      if (data) events.push(data);
      data = null;
      return;
    }
    // llama.cpp before autumn 2025 tells an error in this field, and a [DONE] as if all were well.
    if (whole.startsWith("error:")) events.push(`{"error":${whole.slice(6)}}`);
    if (!whole.startsWith("data")) return;
    if (whole.length > 4 && whole[4] !== ":") return;
    const value = whole.slice(whole[5] === " " ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  };
  const takeText = (text: string): string[] => {
    const events: string[] = [];
    if (text === "") return events;
    let from = isHalved && text[0] === "\n" ? 1 : 0;
    isHalved = text.endsWith("\r");
    // Most servers write \n alone, which is found at half the price.
    if (!text.includes("\r")) {
      for (let end = text.indexOf("\n", from); end !== -1; end = text.indexOf("\n", from)) {
        takeLine(line + text.slice(from, end), events);
        line = "";
        from = end + 1;
      }
    }
    line_end.lastIndex = from;
    for (let end = line_end.exec(text); end; end = line_end.exec(text)) {
      takeLine(line + text.slice(from, end.index), events);
      line = "";
      from = line_end.lastIndex;
    }
    line += text.slice(from);
    return events;
  };
  return {
    push: (bytes) => takeText(decoder.decode(bytes, { stream: true })),
    // The missing blank line is added: some servers close right after their last event.
    end: () => takeText(`${decoder.decode()}\n\n`),
  };
}
