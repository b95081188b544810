// Tests when the breaker of a replica opens and closes.
import { expect, test } from "bun:test";
import type { Completion, UpstreamError } from "../../../src/models/providers/contract.ts";
import { Breaker } from "../../../src/models/replicas/breaker.ts";
import { createManualClock } from "../../support/clock.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const GOOD: Completion = { ok: true, finishReason: "stop", usage: USAGE };
const fail = (some: Partial<UpstreamError> = {}): UpstreamError => ({
  ok: false,
  code: "upstream_error",
  retryable: true,
  reason: "it failed",
  ...some,
});
const SILENT = fail({ noResponse: "surely" });

function open() {
  const clock = createManualClock();
  const turns: boolean[] = [];
  /** Whether it admits a request, at each change of that. */
  const changes: boolean[] = [];
  const breaker: Breaker = new Breaker({
    clock,
    onTurn: (isOpen) => turns.push(isOpen),
    onChange: () => changes.push(breaker.admits()),
  });
  const note = (completion: Completion | null, times = 1) => {
    for (let n = 0; n < times; n++) breaker.end(breaker.begin(), completion);
  };
  return Object.assign(breaker, { clock, turns, changes, note });
}

test("five failures within a minute open it, five over a longer time do not", async () => {
  const breaker = open();
  for (let n = 0; n < 20; n++) {
    breaker.note(fail());
    await breaker.clock.advance(15_000);
  }
  expect(breaker.admits()).toBe(true);
  await breaker.clock.advance(45_000);
  for (let n = 0; n < 4; n++) {
    breaker.note(fail());
    await breaker.clock.advance(14_999);
  }
  expect(breaker.admits()).toBe(true);
  breaker.note(fail());
  expect(breaker.admits()).toBe(false);
  expect(breaker.turns).toEqual([true]);
});

const NEITHER: [what: string, completion: Completion | null][] = [
  ["a good answer", GOOD],
  ["a request refused", fail({ retryable: false, upstreamStatus: 400 })],
  ["a prompt too long", fail({ code: "context_length_exceeded", retryable: false })],
  ["overload", fail({ code: "upstream_rate_limited", upstreamStatus: 429 })],
  ["a caller who left", fail({ code: "client_closed_request", retryable: false })],
  ["a bug of ours", null],
];
for (const [what, completion] of NEITHER) {
  test(`${what} does not open it`, () => {
    const breaker = open();
    breaker.note(completion, 50);
    expect(breaker.admits()).toBe(true);
  });
}

test("a reply that comes too late counts, although the request is not retried elsewhere", () => {
  const breaker = open();
  breaker.note(fail({ code: "upstream_timeout", retryable: false }), 5);
  expect(breaker.admits()).toBe(false);
});

test("after thirty seconds it admits one trial at a time, and the second success closes it", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  await breaker.clock.advance(29_999);
  expect(breaker.admits()).toBe(false);
  await breaker.clock.advance(1);
  for (let n = 0; n < 2; n++) {
    expect(breaker.admits()).toBe(true);
    const trial = breaker.begin();
    expect(trial.isTrial).toBe(true);
    expect(breaker.admits()).toBe(false);
    expect(breaker.begin().isTrial).toBe(false);
    breaker.end(trial, GOOD);
  }
  expect(breaker.turns).toEqual([true, false]);
  breaker.note(fail(), 4);
  expect(breaker.admits()).toBe(true);
});

test("a failed trial opens it again, even after a successful one", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  await breaker.clock.advance(30_000);
  breaker.note(GOOD);
  breaker.note(fail());
  expect(breaker.admits()).toBe(false);
  await breaker.clock.advance(30_000);
  breaker.note(GOOD);
  expect(breaker.turns).toEqual([true]);
  breaker.note(GOOD);
  expect(breaker.turns).toEqual([true, false]);
});

test("it tells that the next trial is admitted once it admits it", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  breaker.changes.length = 0;
  await breaker.clock.advance(30_000);
  expect(breaker.changes).toEqual([true]);
  const trial = breaker.begin();
  breaker.noteLife(trial);
  expect(breaker.changes).toEqual([true, true]);
  // Another request answers for itself, not for the trial.
  breaker.begin();
  breaker.noteLife(trial);
  expect([breaker.changes.length, breaker.admits()]).toEqual([2, false]);
});

test("a trial whose caller leaves passes to the next request", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  await breaker.clock.advance(30_000);
  breaker.note(fail({ code: "client_closed_request", retryable: false }));
  expect(breaker.begin().isTrial).toBe(true);
});

test("requests that began before it opened, or despite it, change nothing", async () => {
  const breaker = open();
  const before = breaker.begin();
  breaker.note(fail(), 5);
  breaker.note(GOOD, 5);
  await breaker.clock.advance(20_000);
  breaker.note(fail(), 5);
  await breaker.clock.advance(10_000);
  expect(breaker.admits()).toBe(true);
  breaker.end(before, fail());
  expect(breaker.admits()).toBe(true);
});

test("it is silent after five failures in a row without any reply", () => {
  const breaker = open();
  breaker.note(SILENT, 4);
  expect(breaker.findSilence()).toBeNull();
  breaker.note(SILENT);
  expect(breaker.findSilence()).toBe(SILENT);
});

const HEARD: [what: string, completion: Completion][] = [
  ["a good answer", GOOD],
  ["an error with a status", fail({ upstreamStatus: 500 })],
  ["a broken reply", fail()],
  ["a refusal", fail({ retryable: false, upstreamStatus: 400 })],
];
for (const [what, completion] of HEARD) {
  test(`${what} between them is a sign of life`, () => {
    const breaker = open();
    breaker.note(SILENT, 4);
    breaker.note(completion);
    breaker.note(SILENT, 4);
    expect(breaker.admits()).toBe(false);
    expect(breaker.findSilence()).toBeNull();
  });
}

test("a whole reply that does not come in time is neither a sign of life nor a silence", () => {
  const breaker = open();
  const late = fail({ code: "upstream_timeout", retryable: false, noResponse: "perhaps" });
  breaker.note(SILENT, 4);
  breaker.note(late, 5);
  expect([breaker.signsOfLife, breaker.admits(), breaker.findSilence()]).toEqual([0, false, null]);
  breaker.note(SILENT);
  expect(breaker.findSilence()).toBe(SILENT);
});

test("silent requests that overlap an answered one are no silence", () => {
  const breaker = open();
  const together = Array.from({ length: 6 }, () => breaker.begin());
  breaker.note(GOOD);
  for (const trial of together) breaker.end(trial, SILENT);
  expect(breaker.admits()).toBe(false);
  expect(breaker.findSilence()).toBeNull();
});

test("any sign of life ends the silence, and closing resets everything", () => {
  const breaker = open();
  breaker.note(SILENT, 5);
  breaker.noteLife();
  expect([breaker.findSilence(), breaker.admits()]).toEqual([null, false]);
  breaker.note(SILENT, 5);
  breaker.close();
  expect([breaker.findSilence(), breaker.admits()]).toEqual([null, true]);
  breaker.close();
  expect(breaker.turns).toEqual([true, false]);
});

test("after a close the trial from before holds up no other", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  await breaker.clock.advance(30_000);
  breaker.begin();
  expect(breaker.admits()).toBe(false);
  breaker.close();
  breaker.note(fail(), 5);
  await breaker.clock.advance(30_000);
  expect(breaker.admits()).toBe(true);
});

test("each opening lasts thirty seconds, and tells its own end alone", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  await breaker.clock.advance(20_000);
  breaker.close();
  breaker.note(fail(), 5);
  expect(breaker.clock.pending()).toBe(1);
  await breaker.clock.advance(29_999);
  expect(breaker.changes).toEqual([]);
  await breaker.clock.advance(1);
  expect(breaker.changes).toEqual([true]);
});

test("a failure among several trials opens it again, whatever the results of the others", async () => {
  const breaker = open();
  breaker.note(fail(), 5);
  await breaker.clock.advance(30_000);
  const trials = Array.from({ length: 3 }, () => {
    const trial = breaker.begin();
    expect([trial.isTrial, breaker.admits()]).toEqual([true, false]);
    breaker.noteLife(trial);
    expect(breaker.admits()).toBe(true);
    return trial;
  });
  breaker.end(trials[0]!, fail());
  for (const trial of trials.slice(1)) breaker.end(trial, GOOD);
  expect([breaker.admits(), breaker.turns]).toEqual([false, [true]]);
  await breaker.clock.advance(30_000);
  breaker.note(GOOD, 2);
  expect(breaker.turns).toEqual([true, false]);
});

test("the end of another request neither ends the trial nor counts as its success", async () => {
  const breaker = open();
  const [one, other] = [breaker.begin(), breaker.begin()];
  breaker.note(fail(), 5);
  await breaker.clock.advance(30_000);
  const trial = breaker.begin();
  for (const request of [one, other]) breaker.end(request, GOOD);
  expect([breaker.admits(), breaker.turns]).toEqual([false, [true]]);
  breaker.end(trial, GOOD);
  expect([breaker.admits(), breaker.turns]).toEqual([true, [true]]);
});

test("a close forgets failures that were too few to open it", () => {
  const breaker = open();
  breaker.note(fail(), 4);
  breaker.close();
  breaker.note(fail(), 4);
  expect([breaker.admits(), breaker.turns]).toEqual([true, []]);
});

test("a caller who leaves is no sign of life", () => {
  const breaker = open();
  breaker.note(SILENT, 4);
  breaker.note(fail({ code: "client_closed_request", retryable: false }));
  breaker.note(SILENT);
  expect([breaker.signsOfLife, breaker.findSilence()]).toEqual([0, SILENT]);
});
