// A hold: the operator's word that an agent, or all agents of an account, start no runs for now.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, Resource, Timestamp } from "../../platform/schema.ts";

export type HoldKind = "agent" | "account";

export const Hold = Resource("Hold", {
  kind: Type.Unsafe<HoldKind>({ type: "string", description: "`agent` or `account`." }),
  id: Type.String({ description: "Of the agent or the account that is held." }),
  account_id: Type.String({ description: "The account, or the agent's owner." }),
  reason: maybe(Type.String({ description: "For people, its owner too; null: none was given." })),
  since: Timestamp("When it was held first; another reason leaves it as it is."),
});
export type HoldRow = Static<typeof Hold>;
