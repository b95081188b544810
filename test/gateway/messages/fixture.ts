// Shared by the tests of Anthropic's dialect: its setting, its errors and the events of its streams.
import { expect } from "bun:test";

export const OPEN = "[gateway]\nmessages = true\n";

export async function readError(reply: Response): Promise<[status: number, error: object]> {
  const { error } = (await reply.json()) as { error: object };
  return [reply.status, error];
}

/** The events of a stream, each of which is named twice. */
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
