// States of models as an account meets them: its grants, and the switches of the operator.
import { type Static, Type } from "@sinclair/typebox";
import { maybe } from "../platform/schema.ts";

/** Ids of models, with spaces between them. */
const Ids = maybe(Type.String());

export const ModelStatesRow = Type.Object({
  off_models: Ids,
  blocked_models: Ids,
  granted_models: Ids,
});
export type ModelStatesRow = Static<typeof ModelStatesRow>;

/** Older states are read again: a request may have waited for its body. */
const AGE_MS_MAX = 100;

export interface ModelStates extends ModelStatesRow {
  /** Monotonic time before they were read. */
  read_at: number;
}

/** Takes the states out of a row that has more columns. */
export function pickModelStates(row: ModelStatesRow, read_at: number): ModelStates {
  const { off_models, blocked_models, granted_models } = row;
  return { off_models, blocked_models, granted_models, read_at };
}

/** Finds the state of a model. It is undefined without states, and where they are too old. */
export function findModelState(states: ModelStates | undefined, id: string, now: number) {
  if (!states || now - states.read_at > AGE_MS_MAX) return undefined;
  const { off_models, blocked_models, granted_models } = states;
  const names = (ids: string | null) => ids?.split(" ").includes(id) ?? false;
  return {
    is_off: names(off_models),
    is_blocked: names(blocked_models),
    is_granted: names(granted_models),
  };
}
