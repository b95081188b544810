// `wadi sweep` of the compiled program: its report of a doubtful clock, and its deletions.
import { Database as Connection } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

const DAY_MS = 86_400_000;
const look = async () => JSON.parse((await room.perform(["sweep", "--json"])).stdout);

test("a manual sweep deletes expired rows despite a doubtful clock, and ends the doubt", async () => {
  const server = await room.serve(["serve", "--port", "0"]);
  expect((await server.chat("Hello")).status).toBe(201);
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
  const begun = await look();
  expect(begun).toMatchObject({ last_sweep_at: expect.any(String), is_clock_doubtful: false });

  const long_ago = Date.parse(begun.now) - 40 * DAY_MS;
  const connection = new Connection(join(room.directory, "wadi-data", "wadi.db"));
  connection.run("UPDATE sweeps SET swept_at = ?1, witnessed_at = ?1", [long_ago]);
  connection.run("UPDATE ledger SET at = ?", [long_ago]);
  connection.close();
  const output = await room.perform(["sweep"]);
  expect(output.stdout).toContain("is_clock_doubtful: true\n");
  expect(output.stderr).toContain("`wadi sweep --now` deletes at once");

  const { code, stdout } = await room.perform(["sweep", "--now", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual([
    { what: "finished runs", rows: 0 },
    { what: "events", rows: 0 },
    { what: "keys of run starts", rows: 0 },
    { what: "evaluations", rows: 0 },
    { what: "entries of the ledger", rows: 1 },
    { what: "half hours of usage, added up by day", rows: 0 },
    { what: "sums of budgets", rows: 0 },
    { what: "alerts of budgets", rows: 0 },
    { what: "fires", rows: 0 },
    { what: "deliveries of deleted endpoints", rows: 0 },
    { what: "deliveries", rows: 0 },
    { what: "entries of the audit log", rows: 0 },
    { what: "sessions of the console", rows: 0 },
    { what: "links to the console", rows: 0 },
    { what: "links to approvals", rows: 0 },
    { what: "rows of deleted accounts", rows: 0 },
  ]);
  const after = await look();
  expect(after.is_clock_doubtful).toBe(false);
  expect(Date.parse(after.last_sweep_at)).toBeGreaterThan(long_ago);
});
