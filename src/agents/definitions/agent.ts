// An agent: its resource and its row, its slug and its metadata.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { Version } from "./version.ts";

export const OperatorHold = Type.Object(
  {
    scope: oneOf(["agent", "account"] as const, "What is held."),
    reason: maybe(Type.String({ description: "Reason for people, if any." })),
    since: Type.String({ format: "date-time", description: "Begin of the hold; ISO 8601, UTC." }),
  },
  { description: "A hold by the operator, which keeps runs from starting." },
);
export type OperatorHold = Static<typeof OperatorHold>;

const ENTRIES_MAX = 16;
const KEY_CHARACTERS_MAX = 64;
const VALUE_CHARACTERS_MAX = 512;
const METADATA =
  `At most ${ENTRIES_MAX} texts of ${VALUE_CHARACTERS_MAX} characters, ` +
  `by names of ${KEY_CHARACTERS_MAX}.`;

export const Metadata = Type.Record(Type.String(), Type.String(), { description: METADATA });
export type Metadata = Record<string, string>;

/** Metadata in a request body; `validateMetadata` checks what no schema of a map can say. */
export const SentMetadata = Type.Object(
  {},
  {
    additionalProperties: Type.String({ description: "A text.", maxLength: VALUE_CHARACTERS_MAX }),
    description: METADATA,
  },
);

export function validateMetadata(metadata: object | null | undefined): string | null {
  const entries = Object.entries(metadata ?? {}) as [string, unknown][];
  if (entries.length > ENTRIES_MAX) return `must have at most ${ENTRIES_MAX} entries`;
  if (entries.some(([name]) => isLonger(name, KEY_CHARACTERS_MAX))) {
    return `must have names of at most ${KEY_CHARACTERS_MAX} characters`;
  }
  const isText = (value: unknown) =>
    typeof value === "string" && !isLonger(value, VALUE_CHARACTERS_MAX);
  if (entries.every(([, value]) => isText(value))) return null;
  return `must have texts of at most ${VALUE_CHARACTERS_MAX} characters as values`;
}

/** Counts code points, like every length of the API. */
function isLonger(text: string, characters: number): boolean {
  if (text.length <= characters) return false;
  return text.length > 2 * characters || [...text].length > characters;
}

const fields = {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  name: Type.String({ description: "For people, 1 to 200 characters." }),
  slug: Type.String({ description: "Unique per owner: 1 to 64 of a-z, 0-9 and -." }),
  description: maybe(Type.String({ description: "Description for people, if any." })),
  status: oneOf(["active", "archived"] as const, "`archived`: no runs start."),
  operator_hold: maybe(OperatorHold),
  current_version: Type.Integer({ description: "Version of new runs." }),
  metadata: Metadata,
  expose: Type.Boolean({ description: "true: clients of `/mcp` find it as a tool." }),
  created_at: Timestamp("Time of creation."),
  updated_at: Timestamp("Time of the last change."),
  archived_at: maybe(Timestamp("Time of archiving, if archived.")),
};

/** agents.does.agent, agents.resources.agent */
export const Agent = Resource(
  "Agent",
  fields,
  "Something that calls models and tools on its owner's behalf.",
);
export type Agent = Static<typeof Agent>;

export const AgentDetail = Resource(
  "AgentDetail",
  { ...fields, version: { ...Version, description: "Its current version." } },
  "An agent with its current version.",
);

const { operator_hold: _, ...stored } = fields;
export const AgentRow = Row(Type.Object(stored), { account_id: Type.String() });
export type AgentRow = Static<typeof AgentRow>;

/** agents.resources.agent */
const SLUG_CHARACTERS_MAX = 64;
const DEFAULT_SLUG = "agent";

/** Makes a slug of a name: `Café № 7` becomes `cafe-no-7`. */
export function makeSlug(name: string): string {
  const plain = name
    // Splits marks and ligatures from their letters.
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  return cut(plain.startsWith("-") ? plain.slice(1) : plain, SLUG_CHARACTERS_MAX) || DEFAULT_SLUG;
}

/** Appends a number to a slug, shortened if needed; 1 is the slug alone. */
export function numberSlug(slug: string, number: number): string {
  if (number === 1) return slug;
  const end = `-${number}`;
  return cut(slug, SLUG_CHARACTERS_MAX - end.length) + end;
}

function cut(text: string, characters: number): string {
  const start = text.slice(0, characters);
  return start.endsWith("-") ? start.slice(0, -1) : start;
}
