// What the operator asked for cannot be done, in a sentence that says why and what to do.
import { findNearest } from "../platform/settings/index.ts";

export class OperatorProblem extends Error {}

/** A thing that is not there, with the nearest that is, or else with `advice`. */
export function refuseUnknown(
  what: string,
  name: string,
  known: readonly string[],
  advice: string,
): OperatorProblem {
  const nearest = findNearest(name, known);
  const hint = nearest === undefined ? `: ${advice}` : `; did you mean "${nearest}"?`;
  return new OperatorProblem(`there is no ${what} "${name}"${hint}`);
}

/** A model that the settings do not name. */
export function refuseUnknownModel(id: string, known: readonly string[]): OperatorProblem {
  return refuseUnknown("model", id, known, `the settings name ${known.join(", ")}`);
}
