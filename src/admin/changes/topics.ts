// Topics of changes: which rows the pages of the console show, and the writes that change them.
import { Type } from "@sinclair/typebox";
import { maybe, oneOf } from "../../platform/schema.ts";

export const TOPICS = [
  "accounts",
  "agents",
  "approvals",
  "keys",
  "models",
  "requests",
  "runs",
  "sessions",
  "triggers",
  "webhooks",
] as const;
export type ChangeTopic = (typeof TOPICS)[number];

/** An approver's stream names these only. */
export const TOPICS_OF_APPROVERS: ReadonlySet<ChangeTopic> = new Set(["approvals"]);

export const Change = Type.Object(
  {
    topic: oneOf(TOPICS, "Kind of the changed rows."),
    id: maybe(Type.String({ description: "The row; null: read all rows of the topic again." })),
    changes: Type.Integer({ description: "Number of writes that it stands for, 1 or more." }),
  },
  { $id: "Change", description: "Rows have changed. Four frames a second and topic at most." },
);

/** Channels of the database that name the row. */
export const CHANNELS: Readonly<Record<string, ChangeTopic>> = {
  run: "runs",
  approval: "approvals",
};

const NONE: readonly ChangeTopic[] = [];
const CREDENTIALS: readonly ChangeTopic[] = ["accounts", "keys"];

/** Topics of the writes of each store. A test asks for every store. */
const TOPICS_OF_STORES: Readonly<Record<string, readonly ChangeTopic[]>> = {
  accounts: CREDENTIALS,
  keys: CREDENTIALS,
  holds: ["accounts", "agents"],
  operators: ["sessions"],
  sessions: ["sessions"],
  approval_links: ["sessions"],
  audit: NONE,
  installation: ["runs"],
  secrets: NONE,
  storage: NONE,
  sweeps: NONE,
  models: ["models"],
  units: ["models"],
  ledger: ["requests"],
  budgets: CREDENTIALS,
  agents: ["agents"],
  threads: NONE,
  processes: NONE,
  counters: NONE,
  // Channels tell of all but a start.
  runs: NONE,
  evaluations: NONE,
  usage: NONE,
  outbox: NONE,
  approvals: NONE,
  tools: ["agents"],
  mcp_servers: ["agents"],
  connections: ["agents"],
  notes: NONE,
  triggers: ["triggers"],
  webhooks: ["webhooks"],
  ids: NONE,
  activity: NONE,
  account_deletions: ["accounts", "agents", "keys", "runs", "triggers", "webhooks"],
  probe: NONE,
};

/** Writes that differ from the others of their store. */
const TOPICS_OF_WRITES: Readonly<Record<string, readonly ChangeTopic[]>> = {
  "runs.start": ["runs"],
  // Sums of past days, of rows that pages have seen.
  "ledger.foldDay": NONE,
};

/** Finds the topics of a write such as `keys.create`; an unknown one may concern all. */
export function topicsOf(write: string): readonly ChangeTopic[] {
  return TOPICS_OF_WRITES[write] ?? TOPICS_OF_STORES[write.split(".", 1)[0]!] ?? TOPICS;
}
