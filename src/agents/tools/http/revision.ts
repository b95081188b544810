// A revision of a tool that a caller registered: as it is stored, and as the API shows it.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Timestamp } from "../../../platform/schema.ts";
import { RISKS } from "../contract.ts";
import type { ToolRevision } from "../tool.ts";

/** What a tool's name may be. */
export const TOOL_NAME = "^[a-z0-9_]{1,64}$";

/** Anything else is the name of none, and is not looked for. */
export function isToolName(name: string): boolean {
  return NAME.test(name);
}
const NAME = new RegExp(TOOL_NAME);

/** What never changes once it was registered. */
const fields = {
  account_id: Type.String(),
  name: Type.String(),
  revision: Type.Integer(),
  risk: oneOf(RISKS, "What a call can do."),
  title: maybe(Type.String()),
  description: Type.String(),
  /** JSON Schema 2020-12 of type object. */
  parameters: Type.Unsafe<Record<string, unknown>>({ type: "object" }),
  /** The URL as it was sent. */
  endpoint: Type.String(),
  connection_id: maybe(Type.String()),
  timeout_ms: Type.Integer(),
  /** true: what it answers comes from outside the platform. */
  external_content: Type.Boolean(),
  /** true: a call of which nobody knows whether it was done may be sent again. */
  idempotent: Type.Boolean(),
  created_at: Timestamp("When it was registered."),
};

export const StoredRevision = Type.Object(fields);
export type StoredRevision = Static<typeof StoredRevision>;

/** With what is true of its tool now. */
export const ToolRevisionRow = Type.Object({
  ...fields,
  status: oneOf(["enabled", "disabled"], "Of the tool, all its revisions together."),
  /** true: no later one exists. */
  latest: Type.Boolean(),
});
export type ToolRevisionRow = Static<typeof ToolRevisionRow>;

/** agents.does.cost.2: nobody prices what an account runs by itself, and that is known. */
export const HTTP_PRICE = 0;

/** agents.resources.tool */
export function describeHttpRevision({ account_id: _, ...row }: ToolRevisionRow): ToolRevision {
  return { ...row, kind: "http", price_sar: HTTP_PRICE };
}
