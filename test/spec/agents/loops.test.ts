// An agent whose tool fires its own trigger: the loop ends under any settings.
import { afterEach, describe, expect, test } from "bun:test";
import type { TestApp } from "../../support/app.ts";
import { createAgent, createConnection, type Json, readJson, startService } from "./service.ts";

const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.stop();
});

const SCRIPT = "!tool ping {}\n!next\n!say done";
const HOOKS_A_MINUTE = 5;

interface Loop {
  /** Fires it by hand; resolves when no run of it is under way. */
  begin(): Promise<void>;
  outcomes(): Promise<string[]>;
}

interface LoopOptions {
  overlap: "skip" | "allow";
  active_runs?: number;
}

/** A trigger whose runs call a tool that is the trigger's own hook. */
async function openLoop({ overlap, active_runs = 20 }: LoopOptions): Promise<Loop> {
  const settings = `
    [egress]
    allow = ["127.0.0.1:*"]
    [limits]
    active_runs = ${active_runs}
    address_requests_per_minute = 1_000_000
    requests_per_minute = 1_000_000
    hook_requests_per_minute = ${HOOKS_A_MINUTE}`;
  const app = await startService({ settings, listens: true });
  apps.push(app);
  const name = "Itself";
  const agent = await createAgent(app, { tools: [] });
  const fields = { agent_id: agent.id, kind: "webhook", overlap, input: { message: SCRIPT } };
  const trigger = await readJson(await app.post("/v1/triggers", { name, ...fields }), 201);
  const secret = { name, kind: "bearer", secret: trigger.secret };
  const connection = await createConnection(app, secret);
  const tool = {
    ...{ name: "ping", description: "Fires the trigger.", parameters: { type: "object" } },
    ...{ endpoint: app.url + trigger.hook_path, connection_id: connection.id, risk: "read" },
  };
  await readJson(await app.post("/v1/tools", tool), 201);
  await readJson(await app.post(`/v1/agents/${agent.id}/versions`, { tools: ["ping"] }), 201);
  const outcomes = async () => {
    const page = await readJson(await app.get(`/v1/triggers/${trigger.id}/fires?limit=200`));
    return page.data.map(({ outcome }: Json) => outcome).reverse();
  };
  return {
    outcomes,
    async begin() {
      await readJson(await app.post(`/v1/triggers/${trigger.id}/fires`, {}), 202);
      for (;;) {
        const { data } = await readJson(await app.get("/v1/runs?limit=200"));
        if (data.every(({ finished_at }: Json) => finished_at !== null)) return;
        await app.clock.advance(0);
      }
    },
  };
}

describe("a loop of trigger, run, tool and the trigger's own hook", () => {
  test("does not begin where the egress guard does not allow the address", async () => {
    const app = await startService({ settings: "", listens: true });
    apps.push(app);
    const tool = {
      ...{ name: "ping", description: "Fires a trigger.", parameters: { type: "object" } },
      endpoint: `${app.url}/v1/hooks/01920000-0000-7000-8000-000000000001`,
    };
    const refused = await readJson(await app.post("/v1/tools", tool), 400);
    expect(refused.error).toMatchObject({ code: "url_refused", param: "endpoint" });
  });

  test("starts nothing until the previous run is over, unless overlaps are allowed", async () => {
    const { begin, outcomes } = await openLoop({ overlap: "skip" });
    await begin();
    expect(await outcomes()).toEqual(["started", "skipped"]);
  });

  test("ends at the account's maximum of runs", async () => {
    const { begin, outcomes } = await openLoop({ overlap: "allow", active_runs: 1 });
    await begin();
    expect(await outcomes()).toEqual(["started", "limited"]);
  });

  test("ends at the trigger's requests per minute (agents.errors.rate_limited)", async () => {
    const { begin, outcomes } = await openLoop({ overlap: "allow", active_runs: 100 });
    await begin();
    expect(await outcomes()).toEqual(Array.from({ length: 1 + HOOKS_A_MINUTE }, () => "started"));
  });
});
