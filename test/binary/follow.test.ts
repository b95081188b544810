// `wadi runs start --follow` beside a running server: text comes while the model writes it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room, type Server } from "../support/binary.ts";

interface Line {
  snapshot?: { text: string };
  delta?: { text: string };
  step?: { kind: string; data: { content: string } };
  run?: { status: string };
}

let room: Room;
let server: Server;
let agent: string;
beforeAll(async () => {
  room = openRoom();
  server = await room.serve(["serve", "--port", "0"]);
  const body = { name: "Clerk", system_prompt: "x" };
  const reply = await server.ask("POST", "/v1/agents", { body });
  agent = ((await reply.json()) as { id: string }).id;
});
afterAll(() => room.close());

test("text is printed before its step, and with --json rebuilt from documents", async () => {
  // The pause is that of the model, which the test does not wait for by itself.
  const message = "!say Good \n!delay 1s\n!say day.";
  const follow = ["runs", "start", agent, message, "--follow"];
  const { code, stdout } = await room.perform([...follow, "--json"]);
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const at = lines.findIndex(({ step }) => step?.kind === "assistant");
  let text = "";
  for (const { snapshot, delta } of lines.slice(0, at)) {
    text = snapshot ? snapshot.text : text + delta!.text;
  }
  expect(at).toBeGreaterThan(1);
  expect([code, text]).toEqual([0, lines[at]!.step!.data.content]);
  expect(lines.at(-1)!.run!.status).toBe("succeeded");
  const plain = await room.perform(follow);
  expect(plain.stdout).toMatch(/^Good\nday\.\n +1 {2}\S+ {2}assistant {4}stop "Good/);
});
