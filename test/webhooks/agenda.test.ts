// What a process knows of endpoints: whose turn it is, who is remembered, and what is believed.
import { expect, test } from "bun:test";
import { createAgenda } from "../../src/webhooks/agenda.ts";
import { createEndpoint, learn, noteStanding, rankOf } from "../../src/webhooks/endpoint-state.ts";
import { createKnownEndpoints } from "../../src/webhooks/known-endpoints.ts";
import { createManualClock } from "../support/clock.ts";

const REMEMBERED = 10_000;

test("what is looked at anew keeps its turn, and what rests loses it", () => {
  const agenda = createAgenda(createManualClock());
  const listDue = () => agenda.listDue().flatMap((lanes) => [...lanes].map(idOf));
  const idOf = ({ endpoint }: { endpoint: { id: string } }) => endpoint.id;
  for (const id of ["w-1", "w-2", "w-3"]) agenda.tell(id);
  agenda.file(agenda.laneOf({ webhook_id: "w-1", lane: 0 }).endpoint);
  expect(listDue()).toEqual(["w-1", "w-2", "w-3"]);
  agenda.rest("w-1");
  agenda.tell("w-1");
  expect(listDue()).toEqual(["w-2", "w-3"]);
  agenda.wake("w-1");
  expect(listDue()).toEqual(["w-2", "w-3", "w-1", "w-1"]);
});

test("endpoints for which nothing waits are forgotten once there are many", () => {
  const find = createKnownEndpoints();
  const [idle, held, resting, waiting] = ["idle", "held", "resting", "waiting"].map(find);
  held!.held = 1;
  resting!.is_resting = true;
  waiting!.lanes[1].due_at = 7;
  for (let n = 0; n < REMEMBERED; n++) find(`w-${n}`);
  expect(find("idle")).not.toBe(idle!);
  for (const known of [held!, resting!, waiting!]) expect(find(known.id)).toBe(known);
});

test("the database is believed until something was sent from here", () => {
  const endpoint = createEndpoint("w-1");
  const rank = () => rankOf(endpoint.lanes[0]);
  expect(rank()).toBe(1);
  noteStanding(endpoint, { failing_since: null, last_success_at: 5 });
  expect(rank()).toBe(0);
  noteStanding(endpoint, { failing_since: 7, last_success_at: 5 });
  expect(rank()).toBe(2);
  learn(endpoint, { is_success: true, took_ms: 5 });
  noteStanding(endpoint, { failing_since: 7, last_success_at: 5 });
  expect([rank(), rankOf(endpoint.lanes[1])]).toEqual([0, 2]);
});
