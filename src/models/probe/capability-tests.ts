// Tests with tiny requests, one by one, what a server does not report.
import { parseObject, readList, readObject } from "../../platform/json.ts";
import { isGood } from "../providers/body.ts";
import { type ProbeClient, type ProbeJson, type ProbeReply, readCount } from "./client.ts";
import type { ServerFacts } from "./server-kind.ts";

type KnownCapabilities = Pick<
  ServerFacts,
  "tools" | "vision" | "reasoning" | "reasoning_on" | "reasoning_off" | "structured_outputs"
>;

export interface CapabilityResults extends KnownCapabilities {
  /** Time of one token; null without one, for the reason of `reason`. */
  answered_ms: number | null;
  reason: string | null;
  streaming: boolean | null;
  usage: "always" | "whole replies" | "never" | null;
}

interface Chat {
  reply: ProbeReply;
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

/** An image of 32 grey pixels by 32, and the same with an invisible comment in the file. */
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mNoIAAYRhWMKhhVMFIVAABCAAAfN5c2AA" +
  "AAAABJRU5ErkJggg==";
const SAME_IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAM3RFWHRDb21tZW50AFRoZSBzYW1lIHBpY3R1cmUgd2" +
  "l0aCBtb3JlIHdvcmRzIGJlc2lkZSBpdC5/JYmOAAAAFklEQVR42mNoIAAYRhWMKhhVMFIVAABCAAAfN5c2AAAAAABJ" +
  "RU5ErkJggg==";

/** Statuses of this moment or this caller, not of the request. */
const PASSING: readonly (number | null)[] = [null, 401, 403, 408, 429, 502, 503, 504];

/** Leaves out what is known already. */
export async function testCapabilities(
  client: ProbeClient,
  base: string,
  model: string,
  known: KnownCapabilities,
): Promise<CapabilityResults> {
  const send: Send = async (fields) => {
    const body = { model, messages: MESSAGES, max_tokens: 1, ...fields };
    const reply = await client.post(`${base}/chat/completions`, body);
    const choice = readObject(readList(reply.json?.choices)[0]);
    const prompt_tokens = readCount(readObject(reply.json?.usage).prompt_tokens);
    return { reply, prompt_tokens, message: readObject(choice.message) };
  };
  const { tools, vision, reasoning, reasoning_on, structured_outputs } = known;
  const plain = await send({});
  if (!hasChoices(plain)) {
    const reason = explain(plain.reply);
    return { ...known, answered_ms: null, reason, streaming: null, usage: null };
  }
  const streamed = await testStream(send, plain);
  const isOpen = reasoning !== false && reasoning_on === null;
  const turned = isOpen ? await testSwitch(send, plain) : known;
  const off = turned.reasoning_off ?? {};
  return {
    answered_ms: plain.reply.tookMs,
    reason: null,
    ...streamed,
    tools: tools ?? (await testTools(send, plain)),
    vision: vision ?? (await testImage(send, plain)),
    reasoning: turned.reasoning ?? reasoning,
    reasoning_on: turned.reasoning_on,
    reasoning_off: turned.reasoning_off,
    structured_outputs: structured_outputs ?? (await testSchema(send, off)),
  };
}

async function testStream(
  send: Send,
  plain: Chat,
): Promise<Pick<CapabilityResults, "streaming" | "usage">> {
  const asked = { stream: true, stream_options: { include_usage: true } };
  const { reply } = await send(asked);
  const lines = (isGood(reply.status) ? (reply.text ?? "") : "").split(/\r?\n/);
  const frames = lines
    .filter((line) => line.startsWith("data:"))
    .map((line) => parseObject(line.slice(5)));
  const isTold = frames.some((frame) => readCount(readObject(frame?.usage).prompt_tokens) !== null);
  const streaming = PASSING.includes(reply.status)
    ? null
    : frames.some((frame) => Array.isArray(frame?.choices));
  if (plain.prompt_tokens === null && !isTold) return { streaming, usage: "never" };
  return { streaming, usage: isTold ? "always" : "whole replies" };
}

/** A template that writes tools into the prompt makes it longer. */
async function testTools(send: Send, plain: Chat): Promise<boolean | null> {
  const tried = await send({ tools: [TOOL], tool_choice: "auto" });
  if (!hasChoices(tried)) return isRefused(tried) ? false : null;
  if (readList(tried.message.tool_calls).length > 0) return true;
  return isLonger(tried, plain);
}

/**
 * Servers without vision refuse or ignore an image. Others write it into the prompt as text: the
 * longer file of the same image counts more.
 */
async function testImage(send: Send, plain: Chat): Promise<boolean | null> {
  const show = (image: string) => {
    const part = { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } };
    return send({ messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, part] }] });
  };
  const tried = await show(IMAGE);
  if (!hasChoices(tried)) return isRefused(tried) ? false : null;
  const isMore = isLonger(tried, plain);
  if (isMore !== true) return isMore;
  const again = await show(SAME_IMAGE);
  return hasChoices(again) ? again.prompt_tokens === tried.prompt_tokens : null;
}

async function testSwitch(
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
  if (![plain, off, on].every((chat) => hasChoices(chat) && chat.prompt_tokens !== null)) {
    return unknown;
  }
  if (on.prompt_tokens === off.prompt_tokens) return unknown;
  // The value that is not the default shows which name works.
  const way = on.prompt_tokens !== plain.prompt_tokens;
  const first = await turn([names[0]!], way);
  const isFirst = first.prompt_tokens === (way ? on : off).prompt_tokens;
  const name = isFirst ? names[0]! : names[1]!;
  const write = (value: boolean) => ({ chat_template_kwargs: { [name]: value } });
  return { reasoning: true, reasoning_on: write(true), reasoning_off: write(false) };
}

/** A reply that is forced into an object begins with a brace. */
async function testSchema(send: Send, off: object): Promise<boolean | null> {
  const tried = await send({ ...off, response_format: SCHEMA, max_tokens: 4 });
  if (!hasChoices(tried)) return isRefused(tried) ? false : null;
  const { content } = tried.message;
  return typeof content === "string" && content.trim() !== ""
    ? content.trimStart().startsWith("{")
    : null;
}

function hasChoices({ reply }: Chat): boolean {
  return Array.isArray(reply.json?.choices);
}

function isRefused({ reply }: Chat): boolean {
  return !isGood(reply.status) && !PASSING.includes(reply.status);
}

function isLonger(one: Chat, other: Chat): boolean | null {
  if (one.prompt_tokens === null || other.prompt_tokens === null) return null;
  return one.prompt_tokens > other.prompt_tokens;
}

/** Explains a missing reply without the server's own words. */
export function explain({ status, failure, text }: ProbeReply): string {
  if (status !== null) {
    if (!isGood(status)) return `it answered with status ${status}`;
    return text === null ? "its answer is too large" : "its answer is no chat completion";
  }
  const says: Record<NonNullable<typeof failure>, string> = {
    refused: "no server listens there",
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

export interface Embedding {
  /** Numbers of a vector; null without one, for the reason of `reason`. */
  dimensions: number | null;
  reason: string | null;
}

/** Tests with one word whether a server makes vectors; `model` is null if it takes no name. */
export async function testEmbedding(
  client: ProbeClient,
  base: string,
  model: string | null,
): Promise<Embedding> {
  const name = model === null ? {} : { model };
  // A list, as the gateway sends it.
  const body = { ...name, input: ["Hi"], encoding_format: "float" };
  const reply = await client.post(`${base}/embeddings`, body);
  const vector = readList(readObject(readList(reply.json?.data)[0]).embedding);
  const isVector = vector.every((number) => typeof number === "number");
  const dimensions = isVector ? readCount(vector.length) : null;
  if (dimensions !== null) return { dimensions, reason: null };
  const isStrange = isGood(reply.status) && reply.text !== null;
  return { dimensions, reason: isStrange ? "its answer is no embedding" : explain(reply) };
}
