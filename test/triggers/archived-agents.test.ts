// Tests that triggers of archived agents are paused, also after database failures.
import { expect, test } from "bun:test";
import {
  type ArchivedAgentsOptions,
  watchArchivedAgents,
} from "../../src/triggers/archived-agents.ts";
import { createManualClock } from "../support/clock.ts";

/** The service with a fake store. */
function begin(archived: string[]) {
  const clock = createManualClock();
  const paused: string[] = [];
  const errors: string[] = [];
  const played = { isBroken: false };
  let notify: (id: string | null) => void = () => {};
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
      notify = run;
      return () => {
        notify = () => {};
      };
    },
  };
  const log = { error: (message: string) => errors.push(message) };
  const service = watchArchivedAgents({ database, clock, log } as unknown as ArchivedAgentsOptions);
  return { service, clock, paused, errors, played, notify: (id: string | null) => notify(id) };
}

test("agents.states.p12 triggers are paused at the start and when an agent is archived", async () => {
  const { service, clock, paused, notify } = begin(["g-1", "g-2"]);
  service.start();
  await clock.advance(0);
  expect(paused.splice(0)).toEqual(["g-1", "g-2"]);
  notify("g-2");
  await clock.advance(0);
  expect(paused.splice(0)).toEqual(["g-1", "g-2"]);
  await service.stop(0);
  notify("g-2");
  await clock.advance(60_000);
  expect(paused).toEqual([]);
});

test("a failed write is repeated after a backoff, but not after the stop", async () => {
  const { service, clock, paused, errors, played, notify } = begin(["g-1"]);
  played.isBroken = true;
  service.start();
  for (const id of ["g-1", "g-2"]) notify(id);
  await clock.advance(0);
  expect(errors).toHaveLength(1);
  expect(clock.pending()).toBe(1);
  played.isBroken = false;
  await clock.advance(30_000);
  expect(paused).toEqual(["g-1"]);
  played.isBroken = true;
  notify("g-1");
  await clock.advance(0);
  await service.stop(0);
  expect(clock.pending()).toBe(0);
});
