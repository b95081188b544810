// The contract between tools and the engine: risks, calls and their results.
import type { TObject, TSchema } from "@sinclair/typebox";
import type { Caller, Scope } from "../../access/index.ts";
import type { RunSource } from "../../http/index.ts";
import type { NoteEffect } from "../notes/store.ts";
import type { Parameters } from "./json-schema/parameters.ts";

/** agents.does.tool: the risk of a tool decides who may let its calls run. */
export const RISKS = ["read", "write", "irreversible"] as const;
export type Risk = (typeof RISKS)[number];

/** Outcomes of tools; the engine adds its own. `outcome_unknown` was sent, but perhaps not done. */
export const TOOL_OUTCOMES = [
  "ok",
  "error",
  "timeout",
  "invalid_arguments",
  "outcome_unknown",
] as const;
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number];

export interface StoredOutput {
  content: string;
  external: boolean;
}

/** A call that goes on at its server: every process that has the run asks for its end. */
export interface RemoteTask {
  id: string;
  /** The session with the server in which it began. */
  session?: string | undefined;
  /** Wall time at which it is given up. */
  ends_at: number;
}

export interface ToolUse {
  /** Arguments that are valid by the tool's `parameters`. */
  arguments: Record<string, unknown>;
  account_id: string;
  agent_id: string;
  /** The run of the call; null in a trial. */
  run: RunSource | null;
  /** Id that stays the same when the call is sent again. */
  tool_call_id: string;
  caller: Caller;
  request_id: string;
  readOutput(tool_call_id: string): Promise<StoredOutput | undefined>;
  /** The run, or its thread before it, has read content from outside. */
  hasExternal: boolean;
  /** Tests if the whole address occurred in the user's message or an earlier result. */
  isKnownAddress(url: string): Promise<boolean>;
  /** The task that an earlier execution of the call began. */
  task?: RemoteTask | undefined;
  /** Stores a task with the run; absent in a trial. */
  keepTask?(task: RemoteTask): Promise<void>;
  /** Wall time in milliseconds since 1970. */
  now(): number;
  /** Aborts when the run is cancelled or the tool's time is over. */
  signal: AbortSignal;
}

export interface ToolResult {
  outcome: ToolOutcome;
  content: string;
  external: boolean;
  external_url?: string;
  http_status?: number;
  effect?: NoteEffect;
}

export function success(content: string, external = false): ToolResult {
  return { outcome: "ok", content, external };
}

export function failure(content: string, outcome: "error" | "timeout" = "error"): ToolResult {
  return { outcome, content, external: false };
}

export interface Tool {
  name: string;
  description: string;
  risk: Risk;
  revision: number;
  external_content: boolean;
  parameters: TSchema | Parameters;
  timeout_ms: number;
  /** The MCP server that it comes from. */
  server_id?: string;
  /** Present on tools that change something outside; their calls are recorded before they leave. */
  sends?: {
    /** A call of unknown outcome may be sent again without an approval. */
    isIdempotent: boolean;
  };
  run(use: ToolUse): Promise<ToolResult>;
  /** Asks the server to end a task of a run that has ended. */
  cancelTask?(task: RemoteTask): Promise<void>;
}

export interface BuiltinTool extends Tool {
  parameters: TObject;
  scope?: Scope;
  /** A free tool costs nothing unless the operator prices it; the price of others is unknown. */
  isFree: boolean;
}
