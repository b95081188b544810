// `wadi chat`: a conversation with a model of a server, in the terminal or through a pipe.
import { createInterface } from "node:readline/promises";
import { AdminError } from "../admin/index.ts";
import { type ChatMessage, ChatSession } from "./chat-session.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { escapeControls, type Output } from "./output.ts";
import { readServerUrl, warnOfClearText } from "./remote.ts";
import { readInput } from "./standard-input.ts";

const SERVER = "http://127.0.0.1:8080";
const KEY_VARIABLE = "WADI_API_KEY";
const QUESTION_BYTES_MAX = 1_048_576;

function openSession(input: CommandInput, output: Output): ChatSession {
  const typed = readText(input, "server") ?? process.env.WADI_SERVER_URL;
  const url = typed ? readServerUrl(typed) : SERVER;
  const variable = readText(input, "key-env") ?? KEY_VARIABLE;
  const key = process.env[variable];
  // Never echo the name: it may be the key itself, typed in the wrong place.
  if (!key) {
    throw new AdminError(
      `a chat needs an API key: set ${KEY_VARIABLE}, or name its variable with --key-env`,
    );
  }
  warnOfClearText(url, output);
  const system = readText(input, "system");
  const start: ChatMessage[] = system === undefined ? [] : [{ role: "system", content: system }];
  return new ChatSession({ url, key, model: readText(input, "model"), start });
}

async function readQuestion(): Promise<string> {
  const question = await readInput(QUESTION_BYTES_MAX, "a question");
  if (question.trim() !== "") return question;
  throw new UsageError("no question came on standard input");
}

/** One question, one answer. */
async function answerOnce(
  session: ChatSession,
  question: string,
  input: CommandInput,
  output: Output,
) {
  const isJson = hasFlag(input, "json");
  const answer = await session.ask(question, {
    signal: new AbortController().signal,
    onText: (text) => {
      if (!isJson) output.print(null, output.terminal ? escapeControls(text) : text);
    },
  });
  const { model, content, finish_reason } = answer;
  output.print({ model, content, finish_reason }, content.endsWith("\n") ? "" : "\n");
  if (finish_reason === "length") output.say("the answer was cut at its maximum of tokens");
  return 0;
}

const HELP = "/model ID asks another model, /clear forgets the conversation, /quit ends it";

async function converse(session: ChatSession, output: Output): Promise<number> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  let stop: () => void = () => lines.close();
  // Ctrl-C ends the answer under way, else the conversation.
  lines.on("SIGINT", () => stop());
  const closed = new Promise<null>((resolve) => lines.on("close", () => resolve(null)));
  output.say(HELP);
  for (;;) {
    const line = await Promise.race([lines.question("> "), closed]);
    const text = line?.trim();
    if (text === undefined || text === "/quit" || text === "/exit") break;
    if (text.startsWith("/")) output.say(obey(session, text));
    else if (text !== "") {
      const controller = new AbortController();
      stop = () => controller.abort();
      await answer(session, text, controller.signal, output);
      stop = () => lines.close();
    }
  }
  lines.close();
  return 0;
}

function obey(session: ChatSession, text: string): string {
  const [word, id] = text.split(/\s+/);
  if (word === "/clear") {
    session.clear();
    return "the conversation begins anew";
  }
  if (word === "/model" && id !== undefined) {
    session.model = id;
    return `${id} answers from now on`;
  }
  return HELP;
}

async function answer(
  session: ChatSession,
  question: string,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  try {
    await session.ask(question, {
      signal,
      onText: (text) => output.print(null, escapeControls(text)),
    });
    output.print(null, "\n");
  } catch (failure) {
    output.print(null, "\n");
    output.say(signal.aborted ? "stopped" : (failure as Error).message);
  }
}

export const commands: readonly Command[] = [
  {
    name: "chat",
    args: ["[TEXT]"],
    flags: {
      model: { takes: "ID", help: "model to ask (default the server's)" },
      system: { takes: "TEXT", help: "system message" },
      "key-env": { takes: "NAME", help: "environment variable of the API key (WADI_API_KEY)" },
      server: { takes: "URL", help: `server to ask (default ${SERVER})` },
      json: { help: "one JSON document: the model and its answer" },
    },
    help: "Talk to a model; a question as TEXT or through a pipe gets one answer",
    example: "wadi chat --model qwen3-32b",
    async run(input, output) {
      const session = openSession(input, output);
      const [text] = input.args;
      if (text !== undefined) return answerOnce(session, text, input, output);
      const isInteractive = process.stdin.isTTY && output.terminal !== null;
      if (isInteractive) return converse(session, output);
      return answerOnce(session, await readQuestion(), input, output);
    },
  },
];
