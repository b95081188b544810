// The operator's two switches of a model, and the state that follows from them.
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { type ModelStatus, modelStore } from "./store.ts";

export const MODEL_STATES = ["on", "off", "blocked"] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** Switch and position of each verb; repeating one changes nothing. */
const TURNS = {
  off: { switch: "is_off", to: true },
  on: { switch: "is_off", to: false },
  block: { switch: "is_blocked", to: true },
  unblock: { switch: "is_blocked", to: false },
} as const;
export type ModelSwitch = keyof typeof TURNS;

/** Blocked wins. Lifting a block must not start a model that was switched off meanwhile. */
export function stateOf({
  is_off,
  is_blocked,
}: Pick<ModelStatus, "is_off" | "is_blocked">): ModelState {
  if (is_blocked) return "blocked";
  return is_off ? "off" : "on";
}

export function createSwitches(database: Database, clock: Clock) {
  const store = database.bind(modelStore);
  return {
    list: (): Promise<ModelStatus[]> => store.list(null),
    turn: (id: string, turn: ModelSwitch): Promise<ModelStatus> =>
      store.turn(id, TURNS[turn].switch, TURNS[turn].to, clock.now()),
  };
}
