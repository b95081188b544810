// Ids as the operator types them.
import { OperatorProblem } from "./problem.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** As it is stored; throws for what is no id. `what` is `a key's id`, `verb` lists them. */
export function readId(typed: string, what: string, verb: string): string {
  if (UUID.test(typed)) return typed.toLowerCase();
  // It may be a secret, typed in the wrong place: it is not said again.
  throw new OperatorProblem(`that is no ${what}: \`${verb}\` shows them`);
}
