// Tests that a list of requests is complete, and that each request is followed once.
import { expect, test } from "bun:test";
import { nameLocalActor, type PerformOperation, perform } from "../../src/admin/index.ts";
import { requestOperations } from "../../src/admin/operations/requests.ts";
import { followRequests, listRequests } from "../../src/cli/requests.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { runServed } from "./served-command.ts";

const performAt =
  ({ app }: TestApp): PerformOperation =>
  (operation, request) =>
    perform(app.admin, operation, request, nameLocalActor());

/** Pages of the API in turn, and what was asked of it. */
function createPages(pages: { rows: { id: string }[]; next: string | null }[]) {
  const asked: unknown[] = [];
  const call = async (_: unknown, request: unknown) => {
    asked.push(request);
    return pages.shift();
  };
  return { asked, call: call as unknown as PerformOperation };
}

test("a list asks for pages until it is full", async () => {
  const { asked, call } = createPages([
    { rows: [{ id: "3" }], next: "3" },
    { rows: [], next: "2" },
    { rows: [{ id: "1" }], next: "1" },
  ]);
  const search = { code: "x" } as never;
  expect(await listRequests(call, search, 2)).toEqual({
    rows: [{ id: "3" }, { id: "1" }],
    next: "1",
  });
  expect(asked).toEqual([
    { code: "x", limit: 2, before: undefined },
    { code: "x", limit: 1, before: "3" },
    { code: "x", limit: 1, before: "2" },
  ]);
});

test("a list ends with the last page", async () => {
  const { call } = createPages([{ rows: [{ id: "1" }], next: null }]);
  expect(await listRequests(call, {} as never, 9)).toEqual({ rows: [{ id: "1" }], next: null });
});

test("requests are followed from now on, each once, by their filter", async () => {
  const app = await startApp();
  await app.chat("Hello", {}, { headers: { "x-request-id": "before" } });
  await app.clock.advance(5_000);
  const seen: unknown[] = [];
  const search = { status: "4xx" } as never;
  const followed = followRequests(performAt(app), app.clock, search, ({ request_id }) =>
    seen.push(request_id),
  );
  const failure = followed.catch((error: Error) => error.message);
  await app.chat("Hello", {}, { headers: { "x-request-id": "good" } });
  await app.chat("Hello", { messages: [] }, { headers: { "x-request-id": "bad-1" } });
  await app.clock.advance(5_000);
  expect(seen).toEqual(["bad-1"]);
  await app.chat("Hello", { messages: [] }, { headers: { "x-request-id": "bad-2" } });
  await app.clock.advance(5_000);
  expect(seen).toEqual(["bad-1", "bad-2"]);
  await app.stop();
  await app.clock.advance(5_000);
  expect(await failure).toBeString();
});

/** Clears the screen, and turns the text behind it around. */
const HOSTILE = "a\u001b[2J\u202eb";
const HARMLESS = "a\\u001b[2J\\u202eb";

async function makeRow() {
  const app = await startApp();
  await app.chat("Hello");
  await app.clock.advance(5_000);
  const { rows } = await performAt(app)(requestOperations.list, {});
  await app.stop();
  return rows[0]!;
}

test("what callers and servers wrote is explained without control characters", async () => {
  const row = await makeRow();
  const answer = () => [{ ...row, explanation: [`model asked "${HOSTILE}"`] }];
  const { text } = await runServed("requests show", ["request-1"], { answer });
  expect(text).toEndWith(`\n  model asked "${HARMLESS}"\n`);
});

test("what callers and servers wrote is followed without control characters", async () => {
  const rows = [
    { ...(await makeRow()), code: null, finish_reason: HOSTILE, model: null, model_asked: HOSTILE },
  ];
  const answer = (_: string, { pathname }: URL) =>
    pathname.endsWith("/later") ? { rows, last: "1" } : { rows: [], next: null };
  const onPrint = (text: string) => {
    throw new Error(text);
  };
  const followed = runServed("requests follow", [], { answer, onPrint });
  const line = await followed.catch(({ message }: Error) => message);
  expect(line).toContain(`  ${HARMLESS}?  `);
  expect(line).toContain(` ${HARMLESS}  `);
  expect(line).not.toMatch(/[^\P{C}\n]/u);
});
