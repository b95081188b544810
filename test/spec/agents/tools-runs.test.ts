// Tools that callers registered, in runs: the revision that is called, and what switches it off.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { allow } from "../gateway/keys.ts";
import { startRun } from "./population.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";
import { register, revise } from "./tools-bodies.ts";

let app: TestApp;
let receiver: Receiver;
beforeAll(async () => {
  app = await startService({ listens: true });
  receiver = openReceiver();
});
afterAll(async () => {
  receiver[Symbol.dispose]();
  await app.stop();
});

const at = (path: string) => `${receiver.origin}${path}`;
const turn = async (name: string, verb: string) =>
  readJson(await app.post(`/v1/tools/${name}/${verb}`, undefined));

/** A run that calls the tool once and ends: it, and the result of its call. */
async function runOnce(agent: Json, name: string): Promise<{ run: Json; result: Json }> {
  const message = `!tool ${name} {"to":"Ada"}\n!next\n!say Done.`;
  const { id } = await startRun(app, agent.id, { input: { message } });
  // Until its end.
  await (await app.get(`/v1/runs/${id}/events`)).text();
  const { data } = await readJson(await app.get(`/v1/runs/${id}/steps`));
  const { data: result } = data.find(({ kind }: Json) => kind === "tool_result");
  return { run: await readJson(await app.get(`/v1/runs/${id}`)), result };
}

describe("agents.does.tool", () => {
  test("agents.does.version agents.resources.tool a run calls the revision that its version pins, with the arguments as JSON", async () => {
    await register(app, { name: "look_up", endpoint: at("/first"), risk: "read" });
    const agent = await createAgent(app, { tools: ["look_up"] });
    await revise(app, "look_up", { endpoint: at("/second"), risk: "read" });
    receiver.received.length = 0;
    const { run, result } = await runOnce(agent, "look_up");
    expect([run.status, result.outcome, result.content]).toEqual([
      ...["succeeded", "ok", '{"to":"Ada"}'],
    ]);
    await readJson(await app.post(`/v1/agents/${agent.id}/versions`, { tools: ["look_up"] }), 201);
    await runOnce(agent, "look_up");
    const requests = receiver.received.map(({ method, path, body }) => `${method} ${path} ${body}`);
    expect(requests).toEqual(['POST /first {"to":"Ada"}', 'POST /second {"to":"Ada"}']);
  });

  test("agents.does.cost.2 a call costs nothing, whatever price the operator set for its name", async () => {
    const settings = `
[egress]
allow = ["127.0.0.1:*"]
[agents]
tool_prices = { paid = "3.00" }
`;
    const priced = await startApp({ listens: true, settings });
    await register(priced, { name: "paid", endpoint: at("/paid"), risk: "read" });
    const agent = await createAgent(priced, { tools: ["paid", "calculator"] });
    const { cost } = await startRun(priced, agent.id, { input: { message: "Hello" } });
    expect(cost.prices.tools).toEqual({ paid: "0.000000", calculator: "0.000000" });
    await priced.stop();
  });

  test("a tool that is switched off is not called, and is called again once it is on", async () => {
    await register(app, { name: "ring", endpoint: at("/ring"), risk: "read" });
    const agent = await createAgent(app, { tools: ["ring"] });
    receiver.received.length = 0;
    await turn("ring", "disable");
    expect((await runOnce(agent, "ring")).result.outcome).toBe("disabled");
    expect(receiver.received).toEqual([]);
    await turn("ring", "enable");
    expect((await runOnce(agent, "ring")).result.outcome).toBe("ok");
    expect(receiver.received).toHaveLength(1);
  });

  test("a tool that is switched off during a run is not called in its next round", async () => {
    await register(app, { name: "under_way", endpoint: at("/under_way"), risk: "read" });
    const agent = await createAgent(app, { tools: ["under_way"] });
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    using slow = openReceiver(async () => {
      arrived.resolve();
      await released.promise;
      return new Response("Rung.");
    });
    await register(app, { name: "hold_on", endpoint: `${slow.origin}/`, risk: "read" });
    const tools = ["under_way", "hold_on"];
    await readJson(await app.post(`/v1/agents/${agent.id}/versions`, { tools }), 201);
    const script = ["hold_on", "under_way"].map((name) => `!tool ${name} {"to":"Ada"}\n!next\n`);
    const message = `${script.join("")}!say Done.`;
    const { id } = await startRun(app, agent.id, { input: { message } });
    await arrived.promise;
    receiver.received.length = 0;
    await turn("under_way", "disable");
    released.resolve();
    await (await app.get(`/v1/runs/${id}/events`)).text();
    const { data } = await readJson(await app.get(`/v1/runs/${id}/steps`));
    const results = data.filter(({ kind }: Json) => kind === "tool_result");
    expect(results.map(({ data: { name, outcome } }: Json) => `${name} ${outcome}`)).toEqual([
      ...["hold_on ok", "under_way disabled"],
    ]);
    expect(receiver.received).toEqual([]);
  });

  test("agents.authentication.1: a model whose grant is withdrawn during a call is not asked in the next round", async () => {
    const { key, grant, ungrant } = await allow(app, "borrower", { scopes: ["agents"] });
    using slow = openReceiver(async () => {
      await ungrant("rented");
      return new Response("Rung.");
    });
    await grant("rented");
    await register(app, { name: "ring", endpoint: `${slow.origin}/`, risk: "read" }, { key });
    const agent = await createAgent(app, { tools: ["ring"], model: "rented" }, { key });
    const input = { message: '!tool ring {"to":"Ada"}\n!next\n!say Done.' };
    const { id } = await startRun(app, agent.id, { input }, key);
    await (await app.get(`/v1/runs/${id}/events`, { key })).text();
    expect(await readJson(await app.get(`/v1/runs/${id}`, { key }))).toMatchObject({
      ...{ status: "failed", error: { code: "model_not_permitted" } },
      usage: { rounds: 1, tool_calls: 1 },
    });
  });
});
