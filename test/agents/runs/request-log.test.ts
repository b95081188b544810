// Tests that model rounds and searches of a run have rows in the request log that name the run.
import { expect, test } from "bun:test";
import { ended, startAsking } from "../../spec/agents/approvals-front.ts";

test("rounds and searches of a run are found by its id", async () => {
  await using front = await startAsking();
  const message = '!tool web_search {"query":"wadi"}\n!next\n!say Done.';
  const { id } = await front.begin({ input: { message } }, front.asking);
  expect((await ended(front, id)).status).toBe("succeeded");
  await front.chat("Hello");
  await front.clock.advance(25);
  const { rows } = await front.app.admin.requests.list({ run: id }, 20, null);
  expect(rows.map(({ route, run_id, status }) => [route, run_id, status])).toEqual([
    ["chat", id, 201],
    ["search", id, 200],
    ["chat", id, 201],
  ]);
  expect(rows[0]).toMatchObject({ agent_id: front.asking.id, agent_version: 1 });
  const usage = await front.app.admin.usage({ by: "agent,version" });
  expect(usage.rows).toMatchObject([
    { agent_id: null, agent: null, version: null, requests: 1 },
    { agent_id: front.asking.id, agent: "Clerk", version: 1, requests: 3 },
  ]);
  const all = await front.app.admin.requests.list({}, 20, null);
  expect(all.rows.map(({ run_id }) => run_id)).toEqual([null, id, id, id]);
});
