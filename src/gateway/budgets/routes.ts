// GET /v1/usage: a key's own limits and those of its account.
import { Type } from "@sinclair/typebox";
import { LimitUse } from "../../access/index.ts";
import type { Router } from "../../http/index.ts";
import { always, maybe, Resource } from "../../platform/schema.ts";
import type { CallerBudgets } from "./caller-budgets.ts";

const limits = Type.Array(LimitUse, { description: "Limits with their use; empty: none." });
const id = (description: string) => Type.String({ format: "uuid", description });

const CallerUsage = Resource(
  "CallerUsage",
  {
    object: always("usage"),
    key: Type.Object({ id: id("Id of the key."), limits }, { description: "The caller's key." }),
    account: maybe(
      Type.Object(
        { id: id("Id of the account."), limits },
        { description: "Its account, with the use of all of its keys; null: it has none." },
      ),
    ),
  },
  "Limits of a key and of its account, with their use.",
);

export function openUsageRoute(router: Router, budgets: Pick<CallerBudgets, "list">): void {
  router.get(
    "/v1/usage",
    {
      summary: "Show limits and their use",
      description:
        "The limits that the operator has set for this key and for its account, and what is used " +
        "of them. Use counts while there is a limit.",
      replies: { 200: { description: "Limits with their use.", schema: CallerUsage } },
      refusals: [],
    },
    async ({ caller }) => {
      const { key, account } = await budgets.list(caller);
      const { key_id, account_id } = caller;
      const owner = account_id === null ? null : { id: account_id, limits: account };
      return [200, { object: "usage", key: { id: key_id, limits: key }, account: owner }];
    },
  );
}
