// Plans the stub model's reply to a request: token by token, within its budget and stops.
import { splitTokens } from "../../tokens.ts";
import type { Chunk, ModelMessage, ModelRequest, ModelTool } from "../contract.ts";
import { writeArguments, writeDocument } from "./schema-filler.ts";
import { readScript, type ScriptStep } from "./script.ts";

export type StubToken =
  | { do: "send"; chunk: Chunk }
  | Extract<ScriptStep, { do: "delay" } | { do: "stall" } | { do: "fail" }>;

export interface StubReply {
  tokens: StubToken[];
  finishReason: string;
  stopSequence?: string;
}

const FILLER = "the sun sets over the wadi and all its sand is cool now".split(" ");
const WORDS = /\w(?:[\w.-]*\w)?/g;

/** The same request gets the same reply for every seed; `newCallId` names its calls. */
export function planReply(request: ModelRequest, newCallId: () => string): StubReply {
  const steps = chooseSteps(request);
  const { tokens, isTruncated } = layOut(steps, request.max_tokens, newCallId);
  const stopSequence = cutAtStop(tokens, request.stop);
  if (steps.some((step) => step.do === "cut")) cutInHalf(tokens);
  const scripted = steps.find((step) => step.do === "finish")?.reason;
  const hasCalls = tokens.some((token) => token.do === "send" && token.chunk.kind === "call");
  const reason = scripted ?? (hasCalls ? "tool_calls" : "stop");
  if (stopSequence !== undefined) return { tokens, finishReason: reason, stopSequence };
  return { tokens, finishReason: isTruncated ? "length" : reason };
}

/**
 * Tool results come first, then a script, then a call of a tool, then the echo. A script of
 * several rounds comes before results while it lasts.
 */
function chooseSteps(request: ModelRequest): ScriptStep[] {
  const { messages, tools, tool_choice, response_format } = request;
  const askedAt = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[askedAt];
  const text = readText(asked?.content ?? "");
  const document = () => writeForm(response_format, text) ?? echo(text, asked);
  const perform = (script: ScriptStep[]): ScriptStep[] =>
    hasOutput(script) ? script : [...script, { do: "say", text: document() }];

  const rounds = readRounds(text);
  if (rounds) {
    const round = messages.slice(askedAt + 1).filter(({ role }) => role === "assistant").length;
    const script = rounds[round];
    if (script) return perform(script);
  }
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1);
  if (results.length > 0) {
    const answer = describeResults(results, messages);
    return [{ do: "say", text: writeForm(response_format, answer) ?? answer }];
  }
  const script = rounds ? null : readScript(text);
  if (script) return perform(script);
  const tool = chooseTool(tools, tool_choice, text);
  if (!tool) return [{ do: "say", text: document() }];
  const { name, parameters } = tool.function;
  return [{ do: "call", name, arguments: writeArguments(parameters, text) }];
}

function readRounds(text: string): ScriptStep[][] | null {
  // Saves reading the script of most messages, which have one round.
  if (!text.includes("!next")) return null;
  const rounds: ScriptStep[][] = [[]];
  for (const step of readScript(text) ?? []) {
    if (step.do === "next") rounds.push([]);
    else rounds.at(-1)!.push(step);
  }
  return rounds.length > 1 ? rounds : null;
}

function hasOutput(script: ScriptStep[]): boolean {
  return script.some((step) => ["say", "fill", "call", "stall", "fail"].includes(step.do));
}

function writeForm(form: ModelRequest["response_format"], text: string): string | null {
  switch (form?.type) {
    case "json_schema":
      return writeDocument(form.json_schema.schema as Record<string, unknown>, text);
    case "json_object":
      return JSON.stringify({ text });
    default:
      return null;
  }
}

function echo(text: string, asked: ModelMessage | undefined): string {
  const parts = Array.isArray(asked?.content) ? asked.content : [];
  const images = parts.filter(({ type }) => type === "image_url").length;
  const said = text === "" ? "You said nothing." : `You said: ${text}`;
  return images > 0 ? `${said} (images: ${images})` : said;
}

function describeResults(results: ModelMessage[], messages: ModelMessage[]): string {
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls);
  const names = new Map(calls.map((call) => [call.id, call.function.name]));
  const lines = results.map(({ tool_call_id = "", content }) => {
    return `${names.get(tool_call_id) ?? "The tool"} answered: ${readText(content)}`;
  });
  return lines.join("\n");
}

function chooseTool(
  tools: ModelTool[],
  choice: ModelRequest["tool_choice"],
  text: string,
): ModelTool | undefined {
  if (choice === "none") return undefined;
  const byName = new Map(tools.map((tool) => [tool.function.name, tool]));
  if (typeof choice === "object" && choice !== null) return byName.get(choice.function.name);
  if (tools.length > 0) {
    for (const [word] of text.matchAll(WORDS)) if (byName.has(word)) return byName.get(word);
  }
  return choice === "required" ? tools[0] : undefined;
}

function readText(content: ModelMessage["content"]): string {
  if (typeof content === "string") return content;
  const texts = (content ?? []).map((part) => (part.type === "text" ? part.text : null));
  return texts.filter((text) => text !== null).join("\n");
}

/** Turns steps into tokens within the budget; the head of a call costs one token. */
function layOut(steps: ScriptStep[], maxTokens: number, newCallId: () => string) {
  const tokens: StubToken[] = [];
  let left = maxTokens;
  let calls = 0;
  let hasText = false;
  for (const step of steps) {
    let chunks: Chunk[] = [];
    if (step.do === "say" || step.do === "fill") {
      const text = step.do === "say" ? step.text : fill(Math.min(step.tokens, left + 1));
      chunks = splitTokens(hasText ? `\n${text}` : text, left + 1).map(textChunk);
      hasText = true;
    } else if (step.do === "call") {
      const index = calls++;
      const call = { kind: "call", index } as const;
      const parts = splitTokens(step.arguments, left).map((part) => ({ ...call, arguments: part }));
      chunks = [{ ...call, id: newCallId(), name: step.name, arguments: "" }, ...parts];
    } else if (step.do === "delay" || step.do === "stall" || step.do === "fail") tokens.push(step);
    for (const chunk of chunks.slice(0, left)) tokens.push({ do: "send", chunk });
    left -= chunks.length;
    if (left < 0) return { tokens, isTruncated: true };
    if (step.do === "stall" || step.do === "fail") break;
  }
  return { tokens, isTruncated: false };
}

const textChunk = (text: string): Chunk => ({ kind: "text", text });

function fill(tokens: number): string {
  return Array.from({ length: tokens }, (_, n) => FILLER[n % FILLER.length]).join(" ");
}

function cutAtStop(tokens: StubToken[], stop: string[]): string | undefined {
  const text = tokens.map(textOf).join("");
  const found = stop.map((one) => text.indexOf(one));
  const first = Math.min(...found.filter((index) => index >= 0));
  if (first === Number.POSITIVE_INFINITY) return undefined;
  let left = first;
  const last = tokens.findIndex((token) => {
    left -= textOf(token).length;
    return left < 0;
  });
  // A negative `left` counts the characters of the last token that are too many.
  const rest = textOf(tokens[last]!).slice(0, left);
  tokens.length = last;
  if (rest !== "") tokens.push({ do: "send", chunk: textChunk(rest) });
  return stop[found.indexOf(first)];
}

function textOf(token: StubToken): string {
  return token.do === "send" && token.chunk.kind === "text" ? token.chunk.text : "";
}

/** Keeps at least one token where there is one, and fails in the middle. */
function cutInHalf(tokens: StubToken[]): void {
  let left = Math.ceil(tokens.filter((token) => token.do === "send").length / 2);
  const end = tokens.findIndex((token) => token.do === "send" && left-- === 0);
  if (end >= 0) tokens.length = end;
  const reason = "it died in the middle of its reply";
  tokens.push({ do: "fail", code: "upstream_error", reason });
}
