// Tests the conversation of `wadi chat`: which messages go with each question.
import { expect, test } from "bun:test";
import { type ChatMessage, ChatSession } from "../../src/cli/chat-session.ts";

const LISTENER = { signal: new AbortController().signal, onText() {} };

const writeEvents = (events: readonly string[]) =>
  new Response(events.map((data) => `data: ${data}\n\n`).join(""));
const say = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] });

/** A server that gives these replies in turn, and the messages of each question. */
function open(replies: (() => Response)[]) {
  const asked: ChatMessage[][] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      asked.push(((await request.json()) as { messages: ChatMessage[] }).messages);
      return replies.shift()!();
    },
  });
  const url = `http://127.0.0.1:${server.port}`;
  const start = [{ role: "system", content: "Be brief." }] as const;
  const session = new ChatSession({ url, key: "k", model: undefined, start });
  return { asked, session, [Symbol.asyncDispose]: () => server.stop(true) };
}

test("a question goes with those that were answered, and not with those that failed", async () => {
  const answer = () => writeEvents([say("Yes"), say("."), "[DONE]"]);
  await using room = open([
    answer,
    () => Response.json({ error: { message: "No model is there." } }, { status: 503 }),
    () => writeEvents([say("Half")]),
    answer,
  ]);
  const { asked, session } = room;
  expect(await session.ask("One?", LISTENER)).toMatchObject({ content: "Yes." });
  await expect(session.ask("Two?", LISTENER)).rejects.toThrow("No model is there.");
  await expect(session.ask("Three?", LISTENER)).rejects.toThrow("the answer broke off");
  await session.ask("Four?", LISTENER);
  expect(asked.at(-1)).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "One?" },
    { role: "assistant", content: "Yes." },
    { role: "user", content: "Four?" },
  ]);
});

test("a conversation that is cleared begins anew, with the messages of its start", async () => {
  const answer = () => writeEvents([say("Yes."), "[DONE]"]);
  await using room = open([answer, answer]);
  await room.session.ask("One?", LISTENER);
  room.session.clear();
  await room.session.ask("Two?", LISTENER);
  expect(room.asked.at(-1)).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Two?" },
  ]);
});

test("a line that arrives in two parts is read whole", async () => {
  const whole = [say("Ye"), say("s."), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  const cut = whole.lastIndexOf("content");
  const rest = Promise.withResolvers<void>();
  async function* write() {
    yield whole.slice(0, cut);
    await rest.promise;
    yield whole.slice(cut);
  }
  await using room = open([() => new Response(write() as never)]);
  const onText = () => rest.resolve();
  expect(await room.session.ask("One?", { ...LISTENER, onText })).toMatchObject({
    content: "Yes.",
  });
});

test("an answer says why it ended, whatever comes behind its last text", async () => {
  const end = JSON.stringify({ choices: [{ delta: {}, finish_reason: "length" }] });
  const usage = JSON.stringify({ model: "stub-1", choices: [], usage: {} });
  await using room = open([() => writeEvents([say("Ye"), end, usage, "[DONE]"])]);
  const texts: string[] = [];
  const onText = (text: string) => void texts.push(text);
  expect(await room.session.ask("One?", { ...LISTENER, onText })).toEqual({
    ...{ model: "stub-1", content: "Ye", finish_reason: "length" },
  });
  expect(texts).toEqual(["Ye"]);
});
