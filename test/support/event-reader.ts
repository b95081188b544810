// Reads server-sent events frame by frame.
import { expect } from "bun:test";

// biome-ignore lint/suspicious/noExplicitAny: frames of every shape.
export type EventFrame = any;

function parse(frame: string): EventFrame {
  if (!frame.startsWith("data: ")) return frame;
  const data = frame.slice("data: ".length);
  return data === "[DONE]" ? data : JSON.parse(data);
}

export function readEvents(response: Response) {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const frames: EventFrame[] = [];
  const read = async (): Promise<boolean> => {
    const { value, done } = await reader.read();
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      frames.push(parse(text.slice(0, end)));
      text = text.slice(end + 2);
    }
    return !done;
  };
  return {
    /** Takes the frames up to the first that is so. */
    async until(isWanted: (frame: EventFrame) => boolean): Promise<EventFrame[]> {
      const taken: EventFrame[] = [];
      for (;;) {
        while (frames.length === 0) expect(await read()).toBeTrue();
        const frame = frames.shift();
        taken.push(frame);
        if (isWanted(frame)) return taken;
      }
    },
    /** All further frames, up to the end. */
    async rest(): Promise<EventFrame[]> {
      while (await read());
      return frames.splice(0);
    },
    leave: () => reader.cancel(),
  };
}
