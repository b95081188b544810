// Tests the operator's two switches of a model and the resulting state.
import { expect, test } from "bun:test";
import { createSwitches, type ModelSwitch } from "../../src/models/index.ts";
import { stateOf } from "../../src/models/switches.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";

// A sequence from "on", and the state after each step.
const WALKS: [turns: ModelSwitch[], states: string[]][] = [
  [
    ["off", "off", "on", "on"],
    ["off", "off", "on", "on"],
  ],
  [
    ["block", "block", "unblock", "unblock"],
    ["blocked", "blocked", "on", "on"],
  ],
  // Undoing one switch does not undo the other.
  [
    ["block", "off", "unblock", "on"],
    ["blocked", "blocked", "off", "on"],
  ],
  [
    ["block", "off", "on", "unblock"],
    ["blocked", "blocked", "blocked", "on"],
  ],
  [
    ["off", "block", "unblock", "on"],
    ["off", "blocked", "off", "on"],
  ],
  [
    ["off", "unblock", "block", "on", "unblock"],
    ["off", "off", "blocked", "blocked", "on"],
  ],
];

for (const [turns, states] of WALKS) {
  test(`${turns.join(", ")} is ${states.join(", ")}`, async () => {
    const database = await openTestDatabase({ kind: "memory" });
    const switches = createSwitches(database, createManualClock());
    const notified: (string | null)[] = [];
    database.listen("model", (id) => void notified.push(id));
    const seen = [];
    for (const turn of turns) seen.push(stateOf(await switches.turn("stub-1", turn)));
    expect(seen).toEqual(states as never);
    expect(notified).toEqual(turns.map(() => "stub-1"));
    const [standing, ...others] = await switches.list();
    expect([standing!.id, stateOf(standing!), others.length]).toEqual([
      ...["stub-1", states.at(-1)!, 0],
    ] as never);
    await database.close();
  });
}
