// Sessions with MCP servers: how long they are kept, how many, and what is forgotten with one.
import { expect, test } from "bun:test";
import { SESSION_REVISIONS } from "../../../../src/agents/tools/mcp/messages.ts";
import { Sessions } from "../../../../src/agents/tools/mcp/sessions.ts";
import type { McpTarget, Wire } from "../../../../src/agents/tools/mcp/wire.ts";
import { createManualClock } from "../../../support/clock.ts";

const MINUTE_MS = 60_000;

/**
 * Servers with sessions, of which `ended` are told that they are over. With a status they refuse
 * the questions of the stateless revision.
 */
function openServers(id?: string, status?: number) {
  const clock = createManualClock();
  const asked: string[] = [];
  const ended: string[] = [];
  const wire = {
    clock,
    async request(_target: McpTarget, _budget: unknown, { method }: { method: string }) {
      asked.push(method);
      const [protocolVersion] = SESSION_REVISIONS;
      if (status !== undefined && method === "server/discover") {
        return { outcome: { ok: false, code: "refused_status", sent: true, status } };
      }
      const result = method === "initialize" ? { protocolVersion } : {};
      return {
        outcome: { ok: true, answer: { result }, header: () => id ?? `id-${asked.length}` },
      };
    },
    note: async () => null,
    end: async ({ session }: McpTarget) => void ended.push(session),
  };
  const sessions = new Sessions(wire as unknown as Wire);
  const open = async (session: string, url = "https://far.example.com/mcp") => {
    const target = { session, url } as McpTarget;
    const opened = await sessions.open(target, {} as never);
    return { ...target, opened };
  };
  return { clock, sessions, open, asked, ended };
}

test("a session is ended five minutes after its last request, not after its first", async () => {
  const { clock, open, ended } = openServers();
  await open("one");
  await clock.advance(4 * MINUTE_MS);
  await open("one");
  await clock.advance(5 * MINUTE_MS - 1);
  expect(ended).toEqual([]);
  await clock.advance(1);
  expect([ended, clock.pending()]).toEqual([["one"], 0]);
});

test("of more than 200 sessions the one that rested longest is ended", async () => {
  const { open, ended } = openServers();
  for (let n = 1; n <= 200; n++) await open(`s-${n}`);
  await open("s-1");
  expect(ended).toEqual([]);
  await open("s-201");
  expect(ended).toEqual(["s-2"]);
});

test("a server whose session was forgotten is asked for its revision anew", async () => {
  const { sessions, open, asked } = openServers();
  const target = await open("one");
  await open("two");
  sessions.forget(target);
  await open("one");
  const discovering = ["server/discover", "initialize"];
  expect(asked).toEqual([...discovering, "initialize", ...discovering]);
});

test("revisions are remembered of servers whose addresses have 200,000 characters in all", async () => {
  const { open, asked } = openServers();
  const addressOf = (n: number) => `https://far.example.com/${n}`.padEnd(2_000, "x");
  const asks = async (session: string, url: string) => {
    const before = asked.length;
    await open(session, url);
    return asked.slice(before);
  };
  for (let n = 0; n < 100; n++) await open(`s-${n}`, addressOf(n));
  expect(await asks("again", addressOf(0))).toEqual(["initialize"]);
  await open("short", "x");
  expect(await asks("oldest", addressOf(1))).toEqual(["server/discover", "initialize"]);
});

test.each([401, 403, 500, 503])(
  "a server that answers %d is asked no second time",
  async (status) => {
    const { open, asked } = openServers(undefined, status);
    expect((await open("one")).opened).toMatchObject({ ok: false, sent: false, status });
    expect(asked).toEqual(["server/discover"]);
  },
);

test.each([400, 404, 405, 499])(
  "a server that answers %d is asked for a session",
  async (status) => {
    const { open, asked } = openServers(undefined, status);
    await open("one");
    expect(asked).toEqual(["server/discover", "initialize"]);
  },
);

test("the id of a session has 512 visible characters at most", async () => {
  const longest = "x".repeat(512);
  expect((await openServers(longest).open("one")).opened).toMatchObject({ id: longest });
  for (const id of [`${longest}x`, "", "a b", "ä"]) {
    expect((await openServers(id).open("one")).opened).toMatchObject({
      ...{ ok: false, message: "The server's session id is invalid." },
    });
  }
});
