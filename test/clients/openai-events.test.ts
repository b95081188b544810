// A run's events, read by the reader of server-sent events that the npm package `openai` brings.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Stream } from "openai/streaming";
import { openRoom, type Room, type Server } from "../support/binary.ts";

interface Frame {
  type: string;
  step?: { seq: number };
  run?: { status: string };
}

let room: Room;
let server: Server;
beforeAll(async () => {
  room = openRoom();
  server = await room.serve(["dev", "--port", "0"]);
});
afterAll(() => room.close());

const make = async (path: string, body: object) => {
  const reply = await server.ask("POST", path, { body });
  return (await reply.json()) as { id: string };
};

test("agents.events.stream.p1 every frame is read in order, and the reader ends with [DONE]", async () => {
  const agent = await make("/v1/agents", {
    name: "Helper",
    system_prompt: "x",
    tools: ["calculator"],
  });
  const message = '!tool calculator {"expression":"6 * 7"}\n!next\n!delay 200ms\n!say 42';
  const { id } = await make(`/v1/agents/${agent.id}/runs`, { input: { message } });
  // Once while it runs, and once of what has been.
  for (const _ of ["live", "again"]) {
    const reply = await server.ask("GET", `/v1/runs/${id}/events`);
    const frames: Frame[] = [];
    const stream = Stream.fromSSEResponse<Frame>(reply, new AbortController());
    for await (const frame of stream) frames.push(frame);
    expect(frames[0]!.type).toBe("run.status");
    expect(frames.flatMap(({ step }) => step?.seq ?? [])).toEqual([1, 2, 3, 4]);
    expect(frames.at(-1)).toMatchObject({ type: "run.completed", run: { status: "succeeded" } });
  }
});
