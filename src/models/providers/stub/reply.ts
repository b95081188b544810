// What the stub model has to say to an ask, token by token, within its budget and stops.
import { splitTokens } from "../../tokens.ts";
import type { Chunk, ModelMessage, ModelRequest, ModelTool } from "../contract.ts";
import { writeArguments, writeDocument } from "./arguments.ts";
import { readScript, type ScriptStep } from "./script.ts";

/** One token, or one of the things that happen between tokens. */
export type StubToken =
  | { do: "tell"; piece: Chunk }
  | Extract<ScriptStep, { do: "delay" } | { do: "stall" } | { do: "fail" }>;

export interface StubReply {
  beats: StubToken[];
  finish_reason: string;
}

const FILLER = "the sun sets over the wadi and all its sand is cool now".split(" ");
const WORDS = /\w(?:[\w.-]*\w)?/g;

/** The same ask gets the same plan, whatever its seed; `newCallId` names its calls. */
export function planReply(request: ModelRequest, newCallId: () => string): StubReply {
  const steps = chooseSteps(request);
  const { beats, isTruncated } = layOut(steps, request.max_tokens, newCallId);
  const isStopped = cutAtStop(beats, request.stop);
  if (steps.some((step) => step.do === "cut")) cutInHalf(beats);
  const told = steps.find((step) => step.do === "finish")?.reason;
  const hasCalls = beats.some((beat) => beat.do === "tell" && beat.piece.kind === "call");
  const reason = told ?? (hasCalls ? "tool_calls" : "stop");
  return { beats, finish_reason: isTruncated && !isStopped ? "length" : reason };
}

/**
 * The results of tools come first, then a script, then a call of a tool, then the echo. A script of
 * several rounds comes before results for as long as it lasts.
 */
function chooseSteps(request: ModelRequest): ScriptStep[] {
  const { messages, tools, tool_choice, response_format } = request;
  const asked_at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[asked_at];
  const text = readText(asked?.content ?? "");
  const rounds = readRounds(text);
  if (rounds) {
    const round = messages.slice(asked_at + 1).filter(({ role }) => role === "assistant").length;
    const script = rounds[round];
    if (script) return hasVoice(script) ? script : [...script, reply(text, asked, response_format)];
  }
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1);
  if (results.length > 0) {
    const told = tellResults(results, messages);
    return [{ do: "say", text: writeForm(response_format, told) ?? told }];
  }
  const script = rounds ? null : readScript(text);
  if (script) return hasVoice(script) ? script : [...script, reply(text, asked, response_format)];
  const tool = chooseTool(tools, tool_choice, text);
  if (!tool) return [reply(text, asked, response_format)];
  const { name, parameters } = tool.function;
  return [{ do: "call", name, arguments: writeArguments(parameters, text) }];
}

/** What is to be done in each round; null: nothing is said of rounds. */
function readRounds(text: string): ScriptStep[][] | null {
  // Most messages are no such script, and need not be read as one before their results.
  if (!text.includes("!next")) return null;
  const rounds: ScriptStep[][] = [[]];
  for (const step of readScript(text) ?? []) {
    if (step.do === "next") rounds.push([]);
    else rounds.at(-1)!.push(step);
  }
  return rounds.length > 1 ? rounds : null;
}

/** False for a script that only says how to speak. */
function hasVoice(script: ScriptStep[]): boolean {
  return script.some((step) => ["say", "fill", "call", "stall", "fail"].includes(step.do));
}

/** A document of the form that is asked for, else an echo. */
function reply(
  text: string,
  asked: ModelMessage | undefined,
  form: ModelRequest["response_format"],
): ScriptStep {
  const document = writeForm(form, text);
  return document === null ? echo(text, asked) : { do: "say", text: document };
}

/** The reply as the form wants it; null: any text will do. */
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

function echo(text: string, asked: ModelMessage | undefined): ScriptStep {
  const parts = Array.isArray(asked?.content) ? asked.content : [];
  const images = parts.filter(({ type }) => type === "image_url").length;
  const said = text === "" ? "You said nothing." : `You said: ${text}`;
  return { do: "say", text: images > 0 ? `${said} (images: ${images})` : said };
}

function tellResults(results: ModelMessage[], messages: ModelMessage[]): string {
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

/** The steps as beats, as far as the budget goes; the head of a call costs one token. */
function layOut(steps: ScriptStep[], max_tokens: number, newCallId: () => string) {
  const beats: StubToken[] = [];
  let left = max_tokens;
  let calls = 0;
  let hasText = false;
  /** False when the budget does not hold all of it. */
  const tell = (pieces: Chunk[]): boolean => {
    for (const piece of pieces.slice(0, left)) beats.push({ do: "tell", piece });
    left -= pieces.length;
    return left >= 0;
  };
  const tellText = (text: string): boolean => {
    // A text of its own begins on a line of its own.
    const tokens = splitTokens(hasText ? `\n${text}` : text, left + 1);
    hasText = true;
    return tell(tokens.map((token) => ({ kind: "text", text: token })));
  };
  const tellCall = (name: string, json: string): boolean => {
    const index = calls++;
    const head: Chunk = { kind: "call", index, id: newCallId(), name, arguments: "" };
    const tokens = splitTokens(json, left);
    return tell([
      head,
      ...tokens.map((token) => ({ kind: "call", index, arguments: token }) as const),
    ]);
  };
  for (const step of steps) {
    let isWhole = true;
    if (step.do === "say") isWhole = tellText(step.text);
    else if (step.do === "fill") isWhole = tellText(fill(Math.min(step.tokens, left + 1)));
    else if (step.do === "call") isWhole = tellCall(step.name, step.arguments);
    else if (step.do === "delay" || step.do === "stall" || step.do === "fail") beats.push(step);
    if (!isWhole) return { beats, isTruncated: true };
    if (step.do === "stall" || step.do === "fail") break;
  }
  return { beats, isTruncated: false };
}

/** A text of exactly so many tokens. */
function fill(tokens: number): string {
  return Array.from({ length: tokens }, (_, n) => FILLER[n % FILLER.length]).join(" ");
}

/** Ends the beats in front of the first stop string in their text; true: there was one. */
function cutAtStop(beats: StubToken[], stop: string[]): boolean {
  const text = beats.map(textOf).join("");
  const found = stop.map((one) => text.indexOf(one)).filter((index) => index >= 0);
  if (found.length === 0) return false;
  let left = Math.min(...found);
  const last = beats.findIndex((beat) => {
    left -= textOf(beat).length;
    return left < 0;
  });
  // `left` is now how much of the last piece is too much, as a negative number.
  const rest = textOf(beats[last]!).slice(0, left);
  beats.length = last;
  if (rest !== "") beats.push({ do: "tell", piece: { kind: "text", text: rest } });
  return true;
}

function textOf(beat: StubToken): string {
  return beat.do === "tell" && beat.piece.kind === "text" ? beat.piece.text : "";
}

/** At least one token goes out where there is one: it is to die in the middle. */
function cutInHalf(beats: StubToken[]): void {
  const tokens = beats.filter((beat) => beat.do === "tell").length;
  let left = Math.ceil(tokens / 2);
  const end = beats.findIndex((beat) => beat.do === "tell" && left-- === 0);
  if (end >= 0) beats.length = end;
  beats.push({ do: "fail", code: "upstream_error", why: "it died in the middle of its reply" });
}
