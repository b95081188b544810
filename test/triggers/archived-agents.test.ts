// Triggers of archived agents are paused, also where the database fails for a while.
import { expect, test } from "bun:test";
import {
  type ArchivedAgentsOptions,
  watchArchivedAgents,
} from "../../src/triggers/archived-agents.ts";
import { createManualClock } from "../support/clock.ts";

/** The service on a store that is played. */
function begin(archived: string[]) {
  const clock = createManualClock();
  const paused: string[] = [];
  const errors: string[] = [];
  const played = { isBroken: false };
  let hear: (id: string | null) => void = () => {};
  const store = {
    listArchived: async () => {
      if (played.isBroken) throw new Error("no database");
      return archived;
    },
    pauseArchived: async (id: string) => {
      if (played.isBroken) throw new Error("no database");
      paused.push(id);
    },
  };
  const database = {
    bind: () => store,
    listen(channel: string, run: (id: string | null) => void) {
      expect(channel).toBe("agents.archived");
      hear = run;
      return () => {
        hear = () => {};
      };
    },
  };
  const log = { error: (message: string) => errors.push(message) };
  const service = watchArchivedAgents({ database, clock, log } as unknown as ArchivedAgentsOptions);
  return { service, clock, paused, errors, played, hear: (id: string | null) => hear(id) };
}

test("agents.states.p12 triggers are paused at the start and when an agent is archived", async () => {
  const { service, clock, paused, hear } = begin(["g-1", "g-2"]);
  service.start();
  await clock.advance(0);
  expect(paused.splice(0)).toEqual(["g-1", "g-2"]);
  hear("g-2");
  await clock.advance(0);
  expect(paused.splice(0)).toEqual(["g-1", "g-2"]);
  await service.stop(0);
  hear("g-2");
  await clock.advance(60_000);
  expect(paused).toEqual([]);
});

test("a failed write is repeated after a rest, but not after the stop", async () => {
  const { service, clock, paused, errors, played, hear } = begin(["g-1"]);
  played.isBroken = true;
  service.start();
  for (const id of ["g-1", "g-2"]) hear(id);
  await clock.advance(0);
  expect(errors).toHaveLength(1);
  expect(clock.pending()).toBe(1);
  played.isBroken = false;
  await clock.advance(30_000);
  expect(paused).toEqual(["g-1"]);
  played.isBroken = true;
  hear("g-1");
  await clock.advance(0);
  await service.stop(0);
  expect(clock.pending()).toBe(0);
});
