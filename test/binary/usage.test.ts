// `wadi usage` of the compiled program: beside a server, after its stop, and without one.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

const readUsage = async (line = "") => {
  const { code, stdout } = await room.perform([
    "usage",
    "--json",
    ...line.split(" ").filter(Boolean),
  ]);
  expect(code).toBe(0);
  return JSON.parse(stdout);
};

test("everything answered before a stop is counted, including a stream in progress", async () => {
  const server = await room.serve(["serve", "--port", "0"]);
  for (let n = 0; n < 3; n++) expect((await server.chat("Hello")).status).toBe(201);
  const stream = await server.chat("!say one\n!delay 300ms\n!say two", { body: { stream: true } });
  server.signal("SIGTERM");
  expect(await stream.text()).toEndWith("[DONE]\n\n");
  expect(await server.exited).toBe(0);

  const report = await readUsage();
  expect(report).toMatchObject({
    group_by: "day",
    totals: { requests: 4, failed: 0, unpriced: 0, cost: expect.stringMatching(/^0\.0000\d\d$/) },
  });
  expect(Object.keys(report)).toEqual([
    ...["from", "to", "zone", "currency", "group_by", "rows", "totals"],
  ]);
  expect((await readUsage("--by account")).rows).toMatchObject([{ account: "default" }]);
  expect((await readUsage("--by key")).rows).toMatchObject([{ key: "first", account: "default" }]);
  expect((await readUsage("--by model")).rows).toMatchObject([{ model: "stub-1", requests: 4 }]);
});

test("beside a running server it prints the rows written so far, as a table with a total", async () => {
  const server = await room.serve(["serve", "--port", "0", "--data", "beside"]);
  const ask = (key: string) => server.ask("POST", "/v1/chat/completions", { key, body: {} });
  const key = server.key;
  expect((await ask(key)).status).toBe(400);
  const read = () => room.perform(["usage", "--by", "model", "--data", "beside"]);
  let found = await read();
  // Written at the latest during the next command, or the one after it.
  while (!/^total +1 /m.test(found.stdout)) found = await read();
  const [head, row, total] = found.stdout.trimEnd().split("\n");
  expect(head).toMatch(
    /^MODEL +REQUESTS +FAILED +LEFT +PROMPT_TOKENS +COMPLETION_TOKENS +ESTIMATED +COST +UNPRICED$/,
  );
  expect(row!.split(/ +/)).toEqual(["-", "1", "1", "0", "0", "0", "0", "-", "0"]);
  expect(total!.split(/ +/)).toEqual(["total", "1", "1", "0", "0", "0", "0", "-", "0"]);
  expect(found.stderr).toMatch(/^from \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d \(UTC\); cost in SAR\n$/);
});

test("--csv has every column, for one or two groupings", async () => {
  const { code, stdout } = await room.perform(["usage", "--by", "account,model", "--csv"]);
  expect(code).toBe(0);
  const [head, row, end, ...more] = stdout.split("\r\n");
  expect(head).toBe(
    "account_id,account,model,requests,failed,left,prompt_tokens,completion_tokens,estimated," +
      "estimated_prompt_tokens,estimated_completion_tokens,cost,estimated_cost,unpriced,unpriced_estimated",
  );
  expect(row).toMatch(
    /^[0-9a-f-]{36},default,stub-1,4,0,0,\d+,\d+,0,0,0,0\.0000\d\d,0\.000000,0,0$/,
  );
  expect([end, more]).toEqual(["", []]);
});

test("a month in a zone is said on stderr", async () => {
  const line = ["usage", "--month", "2026-11", "--zone", "Asia/Riyadh"];
  const { code, stderr } = await room.perform(line);
  const says = "from 2026-11-01 to 2026-11-30 (Asia/Riyadh); cost in SAR\n";
  expect([code, stderr]).toEqual([0, says]);
});
