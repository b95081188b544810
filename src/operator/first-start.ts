// What `wadi serve` does before it serves anybody: one account and one key, where there is none.
import { type Access, SCOPES } from "../access/index.ts";
import { DEV, isDevKey } from "./dev-keys.ts";
import { OperatorProblem } from "./problem.ts";

/** The secret of the one key that a first start makes; undefined: accounts were there already. */
export async function welcome(access: Access): Promise<string | undefined> {
  const dev = await access.accounts.find(DEV);
  if (dev && (await access.keys.list(dev.id)).some(isDevKey)) {
    throw new OperatorProblem(
      "this data belongs to `wadi dev`, whose keys everybody knows: give serve another directory " +
        "with --data",
    );
  }
  return access.accounts.createFirst("default", {
    name: "first",
    // A key that could approve its own runs' calls would make approvals worthless.
    scopes: SCOPES.filter((scope) => scope !== "agents.approve"),
  });
}
