// `wadi runs start --follow` beside a running server: text comes while the model writes it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import {
  type ScriptedUpstream,
  startUpstream,
  writeFrame,
  writeSettings,
} from "../support/upstream.ts";

interface Line {
  snapshot?: { text: string };
  delta?: { text: string };
  step?: { kind: string; data: { content: string } };
  run?: { status: string };
}

let room: Room;
let model: ScriptedUpstream;
let server: Server;
let agent: string;
/** Lets the model end its reply. */
let end = Promise.withResolvers<void>();

/** A reply in two pieces, the second of which waits for the test. */
function answerInPieces(): Response {
  const { promise } = end;
  const body = new ReadableStream({
    async start(controller) {
      const send = (text: string) => controller.enqueue(new TextEncoder().encode(text));
      send(writeFrame({ role: "assistant", content: "Good\n" }));
      await promise;
      send(`${writeFrame({ content: "day." })}${writeFrame({}, "stop")}data: [DONE]\n\n`);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

beforeAll(async () => {
  room = openRoom();
  model = startUpstream(answerInPieces);
  writeFileSync(join(room.directory, "wadi.toml"), writeSettings(model.url));
  server = await room.serve(["serve", "--port", "0"]);
  const body = { name: "Clerk", system_prompt: "x" };
  const reply = await server.ask("POST", "/v1/agents", { body });
  agent = ((await reply.json()) as { id: string }).id;
});
afterAll(async () => {
  await room.close();
  await model.stop();
});

/** Follows a run whose model goes on once this text is printed. */
async function follow(printed: string, ...options: string[]) {
  end = Promise.withResolvers();
  const follower = room.start(["runs", "start", agent, "Hello", "--follow", ...options]);
  await follower.said(printed);
  end.resolve();
  return follower.ended;
}

test("text is printed before its step, and with --json rebuilt from documents", async () => {
  const { code, stdout } = await follow('"text":"Good', "--json");
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
  const plain = await follow("Good");
  expect(plain.stdout).toMatch(/^Good\nday\.\n +1 {2}\S+ {2}assistant {4}stop "Good/);
});
