// Clients in front of two processes behind a balancer, one of which is killed while they go on.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect as connectAnthropic, say as sayAnthropic } from "../clients/anthropic-client.ts";
import { connect as connectOpenAi, say } from "../clients/openai-client.ts";
import { type Balancer, startBalancer } from "../support/balancer.ts";
import type { Server } from "../support/binary.ts";
import { MISSING, openCluster, type TestCluster } from "../support/cluster.ts";
import { followRun } from "../support/follow-run.ts";

if (MISSING === null) describe("behind a balancer", testBalanced);
else test.skip(`balanced clients: skipped, since ${MISSING}`, () => {});

const SETTINGS = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
concurrent_runs = 2
[gateway]
messages = true
[agents]
open = true
[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
`;
/** Each asks one chat after the other; half use one package, half the other. */
const CALLERS = 8;
const CHATS = 12;
const RUNS = 6;
/** The default of both packages. */
const DEFAULT = { maxRetries: 2 };

function testBalanced(): void {
  let cluster: TestCluster;
  let one: Server;
  let other: Server;
  let balancer: Balancer;
  /** The balancer as a server, which has the key that both know. */
  let front: Server;
  beforeAll(async () => {
    cluster = await openCluster();
    one = await cluster.serve("one", SETTINGS);
    other = await cluster.serve("other", SETTINGS);
    balancer = startBalancer([one.url, other.url]);
    front = { ...one, url: balancer.url };
  });
  afterAll(async () => {
    balancer?.stop();
    await cluster?.close();
  });

  /** As the packages do: a request that found no server is sent again, with the same key. */
  async function post(path: string, body: object, key: string): Promise<string> {
    for (;;) {
      try {
        const reply = await fetch(`${balancer.url}${path}`, {
          method: "POST",
          headers: {
            ...{ authorization: `Bearer ${one.key}`, "content-type": "application/json" },
            ...{ "idempotency-key": key, connection: "close" },
          },
          body: JSON.stringify(body),
        });
        const text = await reply.text();
        if (reply.ok) return JSON.parse(text).id;
        if (reply.status !== 429 && reply.status < 500) throw new Error(text);
      } catch (failure) {
        if (!(failure as { code?: string }).code) throw failure;
      }
    }
  }

  test("no client sees an error that it does not repeat, and every run ends", async () => {
    const agent = await post("/v1/agents", { name: "A", system_prompt: "S", model: "stub" }, "a");
    const starting = Array.from({ length: RUNS }, (_, n) => {
      const input = { message: `Run ${n}\n!delay 1s\n!say Done ${n}` };
      return post(`/v1/agents/${agent}/runs`, { input }, `run-${n}`);
    });
    const runs = await Promise.all(starting);
    let replies = 0;
    const openAi = connectOpenAi(front, "", DEFAULT);
    const anthropic = connectAnthropic(front, "", DEFAULT);
    const note = () => {
      if (++replies === (CALLERS * CHATS) / 4) other.signal("SIGKILL");
    };
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      const said: string[] = [];
      for (let n = 0; n < CHATS; n++) {
        const text = `Caller ${caller}, chat ${n}`;
        if (caller % 2) {
          const reply = await openAi.chat.completions.create(say(text));
          said.push(reply.choices[0]!.message.content!);
        } else {
          const [block] = (await anthropic.messages.create(sayAnthropic(text))).content;
          said.push(block!.type === "text" ? block!.text : "");
        }
        note();
      }
      return said;
    });
    for (const [caller, said] of (await Promise.all(callers)).entries()) {
      expect(said).toEqual(said.map((_, n) => `You said: Caller ${caller}, chat ${n}`));
      expect(said).toHaveLength(CHATS);
    }
    expect(new Set(runs).size).toBe(RUNS);
    expect(await other.exited).toBeNull();
    // The killed process had some under way: they are taken over when its lease has ended.
    await Promise.all(runs.map((id) => followRun(one, id, '"succeeded"')));
    const taken: string[] = [];
    for (const id of runs) {
      const run = (await (await one.ask("GET", `/v1/runs/${id}`)).json()) as { recoveries: number };
      if (run.recoveries > 0) taken.push(id);
    }
    expect(taken.length).toBeGreaterThan(0);
    for (const count of balancer.counts) expect(count).toBeGreaterThan(0);
  });
}
