import { expect, test } from "bun:test";
import { createLog, type LogFields } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";

function openLog(people: boolean) {
  const lines: string[] = [];
  return { lines, log: createLog(createManualClock(), (line) => lines.push(line), people) };
}

test("a line for programs is one JSON document", () => {
  const { lines, log } = openLog(false);
  log.warn("the model server failed", { request_id: "r-1", status: 502, account_id: null });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toEqual({
    time: "2026-11-20T12:00:00.000Z",
    level: "warn",
    message: "the model server failed",
    request_id: "r-1",
    status: 502,
    account_id: null,
  });
});

test("a line for people begins with the time of day", () => {
  const { lines, log } = openLog(true);
  log.info("started", { route: "GET /v1/models" });
  expect(lines).toEqual(['12:00:00 info  started route="GET /v1/models"\n']);
});

test("a field that is not on the list is omitted, whatever its source", () => {
  const { lines, log } = openLog(false);
  const fields = { code: "x", authorization: "Bearer secret", prompt: "secret" } as LogFields;
  log.error("failed", fields);
  expect(lines[0]).not.toContain("secret");
  expect(JSON.parse(lines[0]!)).toHaveProperty("code", "x");
});

test("a value cannot break out of its line or fill the disk", () => {
  for (const people of [true, false]) {
    const { lines, log } = openLog(people);
    log.info("x", { code: `a\nb\r${"c".repeat(100_000)}` });
    expect(lines[0]!.trimEnd().split(/[\r\n]/)).toHaveLength(1);
    expect(lines[0]!.length).toBeLessThan(5_000);
  }
});

test("an error is written with its stack", () => {
  const { lines, log } = openLog(false);
  log.error("a bug", { error: new Error("broken") });
  expect(JSON.parse(lines[0]!).error).toContain("Error: broken");
  const people = openLog(true);
  people.log.error("a bug", { error: new Error("broken") });
  expect(people.lines[0]).toMatch(/^12:00:00 error a bug error=\n {2}Error: broken\n {2,}at /);
});
