// Background checks of a SQLite database's pages, and their reports.
import { afterAll, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { findDamage } from "../../src/database/index.ts";
import { PageChecks } from "../../src/database/page-checks.ts";
import { createManualClock } from "../support/clock.ts";
import { openFiles, openTestDatabase, WRITER } from "../support/database.ts";
import { makeTrial, trialStore } from "../support/trial.ts";

const files = openFiles();
afterAll(() => files.release());

const DAY_MS = 86_400_000;
const PAGE_BYTES = 4_096;

/** Creates a closed database of many pages. */
async function makeFile(): Promise<string> {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const database = await openTestDatabase(place);
  const rows = Array.from({ length: 30 }, (_, n) =>
    makeTrial(`t-${n}`, { text: "x".repeat(2_000) }),
  );
  for (const row of rows) await database.bind(trialStore).create(row);
  await database.close();
  return place.file;
}

/** Offset of a row's text in a closed file. */
const findText = (file: string): number => readFileSync(file).indexOf("x".repeat(1_000));

function spoil(file: string, at: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, "y", at);
  closeSync(descriptor);
}

function openChecks(file: string) {
  const clock = createManualClock();
  const lines: { message: string; error?: unknown }[] = [];
  let received = Promise.withResolvers<void>();
  const write = (message: string, fields: object = {}) => {
    lines.push({ message, ...fields });
    received.resolve();
  };
  const log = { info: write, warn: write, error: write };
  const checks = new PageChecks({ place: { kind: "sqlite", file, writer: WRITER }, clock, log });
  return {
    checks,
    clock,
    lines,
    async next() {
      await received.promise;
      received = Promise.withResolvers();
      return lines.at(-1)!;
    },
  };
}

test("intact pages are reported after the start and a day later, also beside a writer", async () => {
  const file = await makeFile();
  const server = await openTestDatabase({ kind: "sqlite", file, writer: WRITER }, true);
  const { checks, clock, next, lines } = openChecks(file);
  await checks.start();
  await clock.advance(9_999);
  expect(lines).toEqual([]);
  await clock.advance(1);
  expect((await next()).message).toBe("database: pages are sound");
  await server.bind(trialStore).create(makeTrial("later"));
  await clock.advance(DAY_MS);
  expect((await next()).message).toBe("database: pages are sound");
  expect(checks.listStatuses()).toEqual([]);
  await checks.stop();
  expect(clock.pending()).toBe(0);
  await server.close();
});

test("damage is logged as an error and shown in readiness, until a check finds none", async () => {
  const file = await makeFile();
  // The first byte of a page is its kind.
  spoil(file, Math.floor(findText(file) / PAGE_BYTES) * PAGE_BYTES);
  const { checks, clock, next } = openChecks(file);
  await checks.start();
  await clock.advance(10_000);
  const line = await next();
  expect(line.message).toBe("database: pages are damaged");
  expect(line.error).toStartWith(`${file} is damaged: restore a backup`);
  expect(checks.listStatuses()).toEqual([{ name: "data", state: "damaged" }]);
  await checks.stop();
});

test("a stop aborts a running check and schedules no other", async () => {
  const { checks, clock, lines } = openChecks(await makeFile());
  await checks.start();
  await clock.advance(10_000);
  await checks.stop();
  await clock.advance(2 * DAY_MS);
  expect(lines).toEqual([]);
  expect(checks.listStatuses()).toEqual([]);
  expect(clock.pending()).toBe(0);
});

test("damage inside a text is not noticed, since texts have no checksum", async () => {
  const file = await makeFile();
  spoil(file, findText(file) + 500);
  expect(findDamage(file)).toBeNull();
});

test("an unreadable file gives no result, and is checked again after a minute", async () => {
  const file = await makeFile();
  const { checks, clock, next, lines } = openChecks(file);
  renameSync(file, `${file}.away`);
  expect(() => findDamage(file)).toThrow("cannot be written to");
  await checks.start();
  await clock.advance(10_000);
  const line = await next();
  expect(line.message).toBe("database: pages could not be checked");
  expect(line.error).toBeString();
  expect(checks.listStatuses()).toEqual([]);
  renameSync(`${file}.away`, file);
  await clock.advance(60_000);
  expect((await next()).message).toBe("database: pages are sound");
  expect(lines).toHaveLength(2);
  await checks.stop();
});
