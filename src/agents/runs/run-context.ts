// What every part of an execution works with, and what can become of it.
import type { Caller } from "../../access/index.ts";
import type { AgentsDeps } from "../deps.ts";
import type { FindTool } from "./reply-plan.ts";
import type { RunLog } from "./run-log.ts";
import type { RunState } from "./state.ts";

/** Why an execution is broken off. */
export type InterruptReason = "cancel" | "stop" | "time" | "key" | "lost";

export interface RunControl {
  /** Its reason is a `Break`. */
  signal: AbortSignal;
  /** Gives the place of the run to others for so long. */
  park(wait_ms: number): Promise<"on" | "broken" | "stopped">;
}

export interface RunContext {
  deps: AgentsDeps;
  state: RunState;
  runLog: RunLog;
  control: RunControl;
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
export type RunOutcome = "ended" | "waiting" | "released" | "lost";

/** What a part of it came to; `broken`: why stands in the signal. */
export type StepResult =
  | RunOutcome
  | "next"
  | "broken"
  | "summarised"
  | "not_summarised"
  | "shortened";
