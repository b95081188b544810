// What a built-in tool is, what it is run with, and what it can end with.
import type { TObject } from "@sinclair/typebox";
import type { Caller } from "../../access/index.ts";
import type { NoteEffect } from "../notes/note.ts";

/** agents.does.tool: what a call can do, which decides who may let it run. */
export const RISKS = ["read", "write", "irreversible"] as const;
export type Risk = (typeof RISKS)[number];

/** What a tool itself can end with; the engine knows more ways for a call to end. */
export type ToolOutcome = "ok" | "error" | "timeout" | "invalid_arguments";

/** An earlier result of the same run. */
export interface StoredOutput {
  content: string;
  /** true: text from outside the platform stands in it. */
  external: boolean;
}

export interface ToolUse {
  /** Parsed, and valid by the tool's `parameters`. */
  arguments: Record<string, unknown>;
  account_id: string;
  agent_id: string;
  run_id: string;
  tool_call_id: string;
  /** The key that started the run, as it is now. */
  caller: Caller;
  request_id: string;
  trace: null;
  /** The stored whole of an earlier result of this run; undefined: this run has no such result. */
  readOutput(tool_call_id: string): Promise<StoredOutput | undefined>;
  /** The run, or its thread before it, has read content from outside. */
  has_external: boolean;
  /** Whether that address stood, whole, in the user's input or in an earlier result. */
  isKnownAddress(url: string): boolean | Promise<boolean>;
  /** Wall time in milliseconds since 1970. */
  now(): number;
  /** Aborts when the run is cancelled, or the tool's time is over. */
  signal: AbortSignal;
}

export interface ToolResult {
  outcome: ToolOutcome;
  /** What the model is told. */
  content: string;
  /** true: text from outside the platform stands in it. */
  external: boolean;
  /** Where that text came from, when it came from one place. */
  external_url?: string;
  /** What somebody else's server answered with; left out: nobody's did. */
  http_status?: number;
  /** Written in the transaction of the result, or not at all. */
  effect?: NoteEffect;
}

export interface BuiltinTool {
  name: string;
  title: string;
  description: string;
  risk: Risk;
  revision: number;
  /** true: its results may bring text from outside the platform. */
  external_content: boolean;
  /** JSON Schema 2020-12 of type object. */
  parameters: TObject;
  timeout_ms: number;
  /** true: costs nothing unless the operator prices it; false: its price is unknown till then. */
  is_free: boolean;
  run(use: ToolUse): Promise<ToolResult>;
}
