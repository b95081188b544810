// The operator who answers for a link: of the console, or to approvals.
import { isActive, type Operator } from "../access/index.ts";
import type { Actor } from "./audit.ts";
import { AdminError, unknownName } from "./errors.ts";
import type { OperatorAdmin } from "./operators.ts";

/**
 * A user of the server's system may name any operator, and is by default one of the own name. An
 * operator is itself.
 */
export async function chooseOperator(
  operators: OperatorAdmin,
  as: string | undefined,
  { kind, name }: Pick<Actor, "kind" | "name">,
  now: number,
): Promise<Operator> {
  let found = await operators.find(as ?? name);
  if (as !== undefined && !found) throw await unknownOperator(operators, as);
  if (kind === "operator" && found?.name !== name) {
    throw new AdminError("from another machine an operator may sign in as itself only");
  }
  found ??= (await operators.create({ name, role: "operator" })).operator;
  if (isActive(found, now)) return found;
  const message = `the operator "${found.name}" is revoked or expired`;
  throw new AdminError(`${message}: name another one with --as`, "conflict");
}

async function unknownOperator(operators: OperatorAdmin, name: string): Promise<AdminError> {
  const names = (await operators.list()).map((one) => one.name);
  return unknownName("operator", name, names, "see `wadi operators list`");
}
