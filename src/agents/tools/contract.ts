// What a tool is to the engine, what it is run with, and what it can end with.
import type { TObject, TSchema } from "@sinclair/typebox";
import type { Caller, Scope } from "../../access/index.ts";
import type { NoteEffect } from "../notes/store.ts";
import type { Parameters } from "./json-schema/parameters.ts";

/** agents.does.tool: what a call can do, which decides who may let it run. */
export const RISKS = ["read", "write", "irreversible"] as const;
export type Risk = (typeof RISKS)[number];

/**
 * What a tool itself can end with; the engine knows more ways for a call to end. `outcome_unknown`:
 * it was sent, and nobody knows whether it was done.
 */
export const TOOL_OUTCOMES = [
  "ok",
  "error",
  "timeout",
  "invalid_arguments",
  "outcome_unknown",
] as const;
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number];

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
  /** Minted by the engine, and the same each time that this call is sent. */
  tool_call_id: string;
  /** The key that started the run, as it is now. */
  caller: Caller;
  request_id: string;
  trace: null;
  /** The stored whole of an earlier result of this run; undefined: this run has no such result. */
  readOutput(tool_call_id: string): Promise<StoredOutput | undefined>;
  /** true: the run, or its thread before it, has read content from outside. */
  has_external: boolean;
  /** Whether the whole address stood in what the user wrote, or in an earlier result. */
  isKnownAddress(url: string): Promise<boolean>;
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
  /** Of what answered; left out: nothing did, or it speaks no HTTP. */
  http_status?: number;
  /** What changes with it; left out: nothing. */
  effect?: NoteEffect;
}

/** A built-in tool, or one revision of a tool that a caller registered. */
export interface Tool {
  name: string;
  description: string;
  risk: Risk;
  revision: number;
  /** true: its results may bring text from outside the platform. */
  external_content: boolean;
  /** JSON Schema 2020-12 of type object; a caller's is prepared before the tool is found. */
  parameters: TSchema | Parameters;
  timeout_ms: number;
  /**
   * Of a tool that changes something outside: what is sent is written down before. Left out: it
   * only reads, or what it changes lies here.
   */
  sends?: {
    /** true: a call of which nobody knows whether it was done may be sent again by itself. */
    isIdempotent: boolean;
  };
  run(use: ToolUse): Promise<ToolResult>;
}

export interface BuiltinTool extends Tool {
  title: string;
  parameters: TObject;
  /** The scope without which the key of a run gets nothing from it; left out: none. */
  scope?: Scope;
  /** true: costs nothing unless the operator prices it; false: its price is unknown till then. */
  is_free: boolean;
}
