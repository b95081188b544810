// Finds out with a handful of tiny chats what a server does not tell: one token each, one by one.
import { parseObject } from "../providers/body.ts";
import { isGood, type ProbeClient, type ProbeJson, type ProbeReply } from "./client.ts";
import { readCount, readList, readTable } from "./json-fields.ts";
import type { ServerFacts } from "./server-kind.ts";

type KnownCapabilities = Pick<
  ServerFacts,
  "tools" | "vision" | "reasoning" | "reasoning_on" | "reasoning_off" | "structured_outputs"
>;

export interface CapabilityResults extends KnownCapabilities {
  /** How long one token took; null: it was not answered, and `why` says what came. */
  answered_ms: number | null;
  why: string | null;
  streaming: boolean | null;
  /** Where usage is told, so that nobody has to estimate it. */
  usage: "always" | "whole replies" | "never" | null;
}

interface Chat {
  heard: ProbeReply;
  /** null: it was not told. */
  prompt_tokens: number | null;
  message: ProbeJson;
}

type Send = (fields: object) => Promise<Chat>;

const MESSAGES = [{ role: "user", content: "Hi" }];

const TOOL = {
  type: "function",
  function: {
    name: "lookup",
    description: "Looks a word up in the dictionary.",
    parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  },
};

const SCHEMA = {
  type: "json_schema",
  json_schema: {
    name: "word",
    schema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  },
};

/** 32 grey pixels by 32; and the same with a comment in the file, which nobody can see. */
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mNoIAAYRhWMKhhVMFIVAABCAAAfN5c2AA" +
  "AAAABJRU5ErkJggg==";
const SAME_IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAM3RFWHRDb21tZW50AFRoZSBzYW1lIHBpY3R1cmUgd2" +
  "l0aCBtb3JlIHdvcmRzIGJlc2lkZSBpdC5/JYmOAAAAFklEQVR42mNoIAAYRhWMKhhVMFIVAABCAAAfN5c2AAAAAABJ" +
  "RU5ErkJggg==";

/** Of this moment or of this caller, not of what was asked. */
const PASSING: readonly (number | null)[] = [null, 401, 403, 408, 429, 502, 503, 504];

/** What is known already is not tried. */
export async function testCapabilities(
  asking: ProbeClient,
  base: string,
  model: string,
  known: KnownCapabilities,
): Promise<CapabilityResults> {
  const send: Send = async (fields) => {
    const body = { model, messages: MESSAGES, max_tokens: 1, ...fields };
    const heard = await asking.post(`${base}/chat/completions`, body);
    const choice = readTable(readList(heard.json?.choices)[0]);
    const prompt_tokens = readCount(readTable(heard.json?.usage).prompt_tokens);
    return { heard, prompt_tokens, message: readTable(choice.message) };
  };
  const { tools, vision, reasoning, reasoning_on, reasoning_off, structured_outputs } = known;
  const told = { tools, vision, reasoning, reasoning_on, reasoning_off, structured_outputs };
  const plain = await send({});
  if (!isReply(plain)) {
    const why = explain(plain.heard);
    return { ...told, answered_ms: null, why, streaming: null, usage: null };
  }
  const streamed = await tryStream(send, plain);
  const isOpen = reasoning !== false && reasoning_on === null;
  const turned = isOpen ? await trySwitch(send, plain) : told;
  const off = turned.reasoning_off ?? {};
  return {
    answered_ms: plain.heard.took_ms,
    why: null,
    ...streamed,
    tools: tools ?? (await tryTools(send, plain)),
    vision: vision ?? (await tryImage(send, plain)),
    reasoning: turned.reasoning ?? reasoning,
    reasoning_on: turned.reasoning_on,
    reasoning_off: turned.reasoning_off,
    structured_outputs: structured_outputs ?? (await trySchema(send, off)),
  };
}

async function tryStream(
  send: Send,
  plain: Chat,
): Promise<Pick<CapabilityResults, "streaming" | "usage">> {
  const asked = { stream: true, stream_options: { include_usage: true } };
  const { heard } = await send(asked);
  const lines = (isGood(heard.status) ? (heard.text ?? "") : "").split(/\r?\n/);
  const frames = lines
    .filter((line) => line.startsWith("data:"))
    .map((line) => parseObject(line.slice(5)));
  const isTold = frames.some((frame) => readCount(readTable(frame?.usage).prompt_tokens) !== null);
  const streaming = PASSING.includes(heard.status)
    ? null
    : frames.some((frame) => Array.isArray(frame?.choices));
  if (plain.prompt_tokens === null && !isTold) return { streaming, usage: "never" };
  return { streaming, usage: isTold ? "always" : "whole replies" };
}

/** What the template puts into the prompt for a tool makes it longer. */
async function tryTools(send: Send, plain: Chat): Promise<boolean | null> {
  const tried = await send({ tools: [TOOL], tool_choice: "auto" });
  if (!isReply(tried)) return isRefusal(tried) ? false : null;
  if (readList(tried.message.tool_calls).length > 0) return true;
  return isLonger(tried, plain);
}

/**
 * A server that knows no images says so, or does not read the part; one that writes it into the
 * prompt as text makes more of the longer of two files, although both show the same.
 */
async function tryImage(send: Send, plain: Chat): Promise<boolean | null> {
  const show = (image: string) => {
    const part = { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } };
    return send({ messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, part] }] });
  };
  const tried = await show(IMAGE);
  if (!isReply(tried)) return isRefusal(tried) ? false : null;
  const isMore = isLonger(tried, plain);
  if (isMore !== true) return isMore;
  const again = await show(SAME_IMAGE);
  return isReply(again) ? again.prompt_tokens === tried.prompt_tokens : null;
}

/** Whether a template knows a switch is seen by the length of the prompt that it makes. */
async function trySwitch(
  send: Send,
  plain: Chat,
): Promise<Pick<CapabilityResults, "reasoning" | "reasoning_on" | "reasoning_off">> {
  const thinks = [plain.message.reasoning_content, plain.message.reasoning].some(Boolean);
  const unknown = { reasoning: thinks || null, reasoning_on: null, reasoning_off: null };
  const turn = (names: readonly string[], on: boolean) =>
    send({ chat_template_kwargs: Object.fromEntries(names.map((name) => [name, on])) });
  const names = ["enable_thinking", "thinking"];
  const off = await turn(names, false);
  const on = await turn(names, true);
  if (![plain, off, on].every((chat) => isReply(chat) && chat.prompt_tokens !== null)) {
    return unknown;
  }
  if (on.prompt_tokens === off.prompt_tokens) return unknown;
  // The way of the two that is not the model's own tells which of the names it was.
  const way = on.prompt_tokens !== plain.prompt_tokens;
  const first = await turn([names[0]!], way);
  const isFirst = first.prompt_tokens === (way ? on : off).prompt_tokens;
  const name = isFirst ? names[0]! : names[1]!;
  const write = (value: boolean) => ({ chat_template_kwargs: { [name]: value } });
  return { reasoning: true, reasoning_on: write(true), reasoning_off: write(false) };
}

/** A reply that is held to an object begins with a brace, whatever the model would say. */
async function trySchema(send: Send, off: object): Promise<boolean | null> {
  const tried = await send({ ...off, response_format: SCHEMA, max_tokens: 4 });
  if (!isReply(tried)) return isRefusal(tried) ? false : null;
  const { content } = tried.message;
  return typeof content === "string" && content.trim() !== ""
    ? content.trimStart().startsWith("{")
    : null;
}

function isReply({ heard }: Chat): boolean {
  return Array.isArray(heard.json?.choices);
}

function isRefusal({ heard }: Chat): boolean {
  return !isGood(heard.status) && !PASSING.includes(heard.status);
}

/** null: one of the two was not told. */
function isLonger(one: Chat, other: Chat): boolean | null {
  if (one.prompt_tokens === null || other.prompt_tokens === null) return null;
  return one.prompt_tokens > other.prompt_tokens;
}

/** Why there was no reply; its own words are a stranger's, and stay there. */
export function explain({ status, failure, text }: ProbeReply): string {
  if (status !== null) {
    if (!isGood(status)) return `it answered with status ${status}`;
    return text === null ? "its answer is too large" : "its answer is no chat completion";
  }
  const says: Record<NonNullable<typeof failure>, string> = {
    refused: "nobody listens there",
    reset: "it broke the connection off",
    dns: "its name has no address",
    tls: "it has no valid certificate for its name",
    timeout: "it does not answer",
    left: "it did not answer in time",
    aborted: "it did not answer in time",
    other: "it does not answer in well-formed HTTP",
  };
  return says[failure!];
}
