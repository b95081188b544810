// What every part of an execution works with, and what can become of it.
import type { Caller } from "../../access/index.ts";
import type { Around } from "../around.ts";
import type { Journal } from "./journal.ts";
import type { FindTool } from "./planning.ts";
import type { RunState } from "./state.ts";

/** Why an execution is broken off. */
export type Break = "cancel" | "stop" | "time" | "key" | "lost";

export interface Leash {
  /** Its reason is a `Break`. */
  signal: AbortSignal;
  /** Gives the place of the run to others for so long. */
  park(wait_ms: number): Promise<"on" | "broken" | "stopped">;
}

export interface Work {
  around: Around;
  state: RunState;
  journal: Journal;
  leash: Leash;
  findTool: FindTool;
  /** Looks again which tools are switched off; undefined: none of them ever is. */
  refreshTools: (() => Promise<void>) | undefined;
  /** agents.authentication.1: asked for each round; undefined: the key has ended. */
  findCaller(key_id: string | null): Promise<Caller | undefined>;
  /** The whole of a result that was cut; undefined: there is none. */
  findOutput(run_id: string, tool_call_id: string): Promise<string | undefined>;
  /** true: no further round begins here. */
  isDraining(): boolean;
}

/** What became of an execution; `lost`: another process has the run, or will have it. */
export type Fate = "ended" | "waiting" | "released" | "lost";

/** What a part of it came to; `broken`: why stands in the signal. */
export type Turn = Fate | "next" | "broken" | "summarised" | "not_summarised" | "shortened";
