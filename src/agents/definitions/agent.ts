// An agent as its owner sees it: a name, a status, a current version, and whether it is held.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { Version } from "./version.ts";

export const OperatorHold = Type.Object(
  {
    scope: Type.Union([Type.Literal("agent"), Type.Literal("account")], {
      description: "What is held.",
    }),
    reason: maybe(Type.String({ description: "Why, for people; null: none was given." })),
    since: Type.String({ format: "date-time", description: "When the hold began; ISO 8601, UTC." }),
  },
  { description: "The operator's hold: runs do not start." },
);
export type OperatorHold = Static<typeof OperatorHold>;

export const Metadata = Type.Record(Type.String(), Type.String(), {
  description: "At most 16 texts of 512 characters, by names of 64.",
});
export type Metadata = Record<string, string>;

const fields = {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  name: Type.String({ description: "For people, 1 to 200 characters." }),
  slug: Type.String({ description: "Unique per owner: 1 to 64 of a-z, 0-9 and -." }),
  description: maybe(Type.String({ description: "For people; null: none." })),
  status: Type.Union([Type.Literal("active"), Type.Literal("archived")], {
    description: "`archived`: no runs start.",
  }),
  operator_hold: maybe(OperatorHold),
  current_version: Type.Integer({ description: "The version that new runs use." }),
  metadata: Metadata,
  created_at: Timestamp("When the agent was created."),
  updated_at: Timestamp("When it was last changed."),
  archived_at: maybe(Timestamp("When it was archived; null: it is not.")),
};

/** agents.does.agent, agents.resources.agent */
export const Agent = Resource(
  "Agent",
  fields,
  "Something that calls models and tools on its owner's behalf.",
);
export type Agent = Static<typeof Agent>;

/** Detail form: the agent with its current version. */
export const AgentDetail = Resource(
  "AgentDetail",
  { ...fields, version: { ...Version, description: "Its current version." } },
  "An agent with its current version.",
);

const { operator_hold: _, ...stored } = fields;
/** As it is stored; what holds it stands elsewhere. */
export const AgentRow = Row(Type.Object(stored), { account_id: Type.String() });
export type AgentRow = Static<typeof AgentRow>;
