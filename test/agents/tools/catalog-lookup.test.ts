// Lookup of tools: the account's own come before the platform's.
import { expect, test } from "bun:test";
import { createToolLookup, type LookupOptions } from "../../../src/agents/tools/catalog.ts";

const STANDINGS = [
  { name: "send", revision: 3, risk: "irreversible", status: "enabled" },
  { name: "calculator", revision: 1, risk: "write", status: "enabled" },
  { name: "resting", revision: 2, risk: "read", status: "disabled" },
] as const;

function open() {
  const requests: (readonly string[])[] = [];
  const agents = { http_tools: true };
  const builtins = ["calculator", "current_time"];
  const lookUp = createToolLookup({
    tools: {
      async listStandings(_: string, names: readonly string[]) {
        requests.push(names);
        const found = STANDINGS.filter(({ name }) => names.includes(name));
        return found.map((one) => ({ ...one, server_id: null, is_changed: false }));
      },
    },
    catalog: {
      find: (name) =>
        builtins.includes(name) ? ({ name, revision: 7, risk: "read" } as never) : undefined,
    },
    settings: () => ({ agents }) as ReturnType<LookupOptions["settings"]>,
  });
  return { lookUp, requests, agents };
}

test("agents.does.tool an account's registered tool keeps its name, whatever the platform has under it", async () => {
  const { lookUp } = open();
  const find = await lookUp("a-1", ["calculator", "current_time", "send"]);
  const [own, builtin, sent] = ["calculator", "current_time", "send"].map(find);
  expect(own).toEqual({
    pin: { name: "calculator", revision: 1, kind: "http", risk: "write" },
    isOff: false,
    isChanged: false,
  });
  expect(builtin?.pin).toEqual({
    ...{ name: "current_time", revision: 7, kind: "builtin", risk: "read" },
  });
  expect(sent?.pin.risk).toBe("irreversible");
});

test("looks names up all at once, each once, and only valid ones", async () => {
  const { lookUp, requests } = open();
  const names = ["send", "a\u0000b", "\ud800", "SEND", "x".repeat(65), "", "send", "calculator"];
  const find = await lookUp("a-1", names);
  expect(requests).toEqual([["send", "calculator"]]);
  expect(names.filter((name) => find(name))).toEqual(["send", "send", "calculator"]);
  await lookUp("a-1", []);
  await lookUp("a-1", ["SEND"]);
  expect(requests).toHaveLength(1);
});

test("a tool is disabled by its own switch, or by that of all registered tools", async () => {
  const { lookUp, agents } = open();
  const find = await lookUp("a-1", ["send", "resting", "current_time"]);
  const listOff = () => ["send", "resting", "current_time"].filter((name) => find(name)!.isOff);
  expect(listOff()).toEqual(["resting"]);
  agents.http_tools = false;
  expect(listOff()).toEqual(["send", "resting"]);
});
