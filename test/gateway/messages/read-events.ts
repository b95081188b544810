// Reads the events of a stream in Anthropic's dialect, each named twice.
import { expect } from "bun:test";

export function readEvents(stream: string): Record<string, unknown>[] {
  return stream
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame)!;
      const event = JSON.parse(data!);
      expect(event.type).toBe(name);
      return event;
    });
}
