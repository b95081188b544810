// Agents and versions as callers see them.
import { type TSchema, Type } from "@sinclair/typebox";
import type { HoldRow } from "../../access/index.ts";
import { maybe, oneOf, Resource, show } from "../../platform/schema.ts";
import { Agent, type OperatorHold } from "./agent.ts";
import type { FoundAgent, HeldAgent } from "./store.ts";
import { ToolPin, Version, type VersionRow } from "./version.ts";

const list = <S extends TSchema>(item: S, description: string) => Type.Array(item, { description });

export const AgentList = Resource(
  "AgentList",
  {
    data: list(Agent, "Every agent of the caller, newest first."),
  },
  "Every agent of the account.",
);

export const VersionList = Resource(
  "AgentVersionList",
  {
    data: list(Version, "Newest first."),
    next_before: maybe(
      Type.Integer({ description: "`before` of the next page; null for the last." }),
    ),
  },
  "A page of an agent's versions.",
);

const why = (description: string) =>
  list(
    Type.String({ description: "`irreversible`, `write`, `listed` or `external_content`." }),
    description,
  );

const CheckedTool = Type.Object(
  {
    ...ToolPin.properties,
    status: oneOf(
      ["enabled", "disabled"] as const,
      "`disabled`: none of its calls runs, whatever `effect` says.",
    ),
    effect: Type.Union(
      [Type.Literal("runs"), Type.Literal("asks"), Type.Literal("asks_after_external_content")],
      { description: "A call runs, or waits for an approval." },
    ),
    why: why("Rules that ask before outside content is read."),
    why_after_external_content: why("Rules that ask afterwards."),
    missing_scope: maybe(
      Type.String({ description: "Scope that the calling key lacks, so that its calls fail." }),
    ),
  },
  { description: "A tool of the version and the effect of its calls." },
);

export const AgentCheck = Resource(
  "AgentCheck",
  {
    agent_id: Type.String({ format: "uuid", description: "The agent." }),
    version: Type.Integer({ description: "Its current version." }),
    missing_scopes: list(
      Type.String({ description: "A scope." }),
      "Scopes that the calling key lacks: `reasoning` or `think` of the model, which fail every " +
        "run, and those of the tools.",
    ),
    data: list(CheckedTool, "Its tools, in the order of the version."),
  },
  "Effects of calls of the current version's tools.",
);

export function showAgent({ agent, hold }: HeldAgent) {
  return show(Agent, { ...agent, operator_hold: showHold(hold) });
}

export function showAgentDetail(found: FoundAgent, alias: string) {
  return { ...showAgent(found), version: showVersion(found.version, alias) };
}

export function showVersion(row: VersionRow, alias: string) {
  return show(Version, { ...row, model: row.model ?? alias });
}

function showHold(hold: HoldRow | null): OperatorHold | null {
  if (!hold) return null;
  const { kind, reason, since } = hold;
  return { scope: kind, reason, since: new Date(since).toISOString() };
}
