// What the operator asked for cannot be done, in a sentence that says why and what to do.
import { Refusal } from "../platform/refusal.ts";
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

/** What the API would refuse is a problem of who typed it. */
export async function explainRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (failure) {
    if (failure instanceof Refusal) throw new OperatorProblem(failure.message);
    throw failure;
  }
}

/** A model that the settings do not name. */
export function refuseUnknownModel(id: string, known: readonly string[]): OperatorProblem {
  return refuseUnknown("model", id, known, `the settings name ${known.join(", ")}`);
}
