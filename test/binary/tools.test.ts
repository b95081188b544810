// The compiled program's `wadi tools` beside a running server: its switches apply there at once.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

test("agents.endpoints.tools.p1 a running server applies a tool's switch from the command line at once", async () => {
  const { url, key } = await room.serve(["serve", "--port", "0"]);
  const headers = { authorization: `Bearer ${key}` };
  const body = JSON.stringify({
    ...{ name: "send_letter", description: "Sends\na letter.\u009b31m", risk: "irreversible" },
    ...{ parameters: { type: "object" }, endpoint: "https://api.example.com/letters" },
  });
  const made = await fetch(`${url}/v1/tools`, { method: "POST", headers, body });
  const tool = (await made.json()) as Record<string, unknown>;
  const read = async () => await (await fetch(`${url}/v1/tools/send_letter`, { headers })).json();
  const account = ["--account", "default"];

  const listed = await room.perform(["tools", "list", "--json"]);
  expect(JSON.parse(listed.stdout)).toEqual([{ account: "default", ...tool }]);
  const { stdout } = await room.perform(["tools", "list", ...account]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(stdout).toContain("https://api.example.com/letters");

  const shown = await room.perform(["tools", "show", "send_letter", ...account]);
  expect(shown.stdout).toContain('description: "Sends\\na letter.\\u009b31m"\n');

  const off = await room.perform(["tools", "disable", "send_letter", ...account, "--json"]);
  expect(JSON.parse(off.stdout)).toEqual({ account: "default", ...tool, status: "disabled" });
  expect(await read()).toEqual({ ...tool, status: "disabled" });
  expect((await room.perform(["tools", "enable", "send_letter", ...account])).code).toBe(0);
  expect(await read()).toEqual(tool);

  const unknown = await room.perform(["tools", "show", "send_leter", ...account]);
  expect([unknown.code, unknown.stderr]).toEqual([
    ...[1, 'wadi: there is no tool "send_leter"; did you mean "send_letter"?\n'],
  ]);
  const usage = await room.perform(["tools", "disable", "send_letter"]);
  expect([usage.code, usage.stderr]).toEqual([2, "wadi: tools disable takes --account NAME\n"]);
});
