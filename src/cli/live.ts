// The text that a run's model writes: read from the server on the same data, printed as it comes.
import { resolve } from "node:path";
import type { LiveSnapshot } from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { connectToControl, placeControlSocket } from "../takeover/index.ts";
import { escapeControls, type Output } from "./output.ts";

type ControlChannel = Awaited<ReturnType<typeof connectToControl>>;

/** Text that a model has written of a round by now. */
export interface WrittenText {
  round: number;
  text: string;
}

/** Asks the server of a data directory; undefined without one, or from an earlier version. */
export function createLiveReader(directory: string) {
  const path = placeControlSocket(resolve(directory));
  let channel: ControlChannel = null;
  return {
    async read(run_id: string): Promise<LiveSnapshot | undefined> {
      try {
        channel ??= await connectToControl(path, async () => null);
        const clock = createSystemClock();
        return await channel?.requestSoon<LiveSnapshot | undefined>(clock, "live", { run_id });
      } catch {
        channel = null;
        return undefined;
      }
    },
    close: () => channel?.close(),
  };
}

/** Prints what is new of a text; a reply that is asked for again starts on a new line. */
export class LivePrinter {
  readonly #output: Output;
  #shown: WrittenText = { round: 0, text: "" };

  constructor(output: Output) {
    this.#output = output;
  }

  /** Text that ends the line which is being written. */
  get lineEnd(): string {
    const { text } = this.#shown;
    return text === "" || text.endsWith("\n") ? "" : "\n";
  }

  print({ round, text }: WrittenText): void {
    const shown = this.#shown;
    const goesOn = shown.round === round && text.startsWith(shown.text);
    const before = goesOn ? "" : this.lineEnd;
    const more = goesOn ? text.slice(shown.text.length) : text;
    this.#shown = { round, text };
    if (more === "" && goesOn) return;
    const value = goesOn ? { delta: { round, text: more } } : { snapshot: { round, text } };
    this.#output.print(value, before + escapeControls(more));
  }

  /**
   * Prints the rest of a reply that has been shown in part, before a step; null: it is no reply.
   * Returns what ends the line.
   */
  finish(round: number, reply: string | null): string {
    const { text } = this.#shown;
    if (reply !== null && this.#shown.round === round && text !== "") {
      this.print({ round, text: reply });
    }
    const end = this.lineEnd;
    this.#shown = { round: 0, text: "" };
    return end;
  }
}
