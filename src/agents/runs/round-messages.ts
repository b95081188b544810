// The messages that a model saw in one round of a run, rebuilt from the thread and the steps.
import type { Static } from "@sinclair/typebox";
import type { Bound } from "../../database/index.ts";
import type { ModelCheck } from "../../gateway/index.ts";
import type { ModelMessage } from "../../models/index.ts";
import type { VersionRow } from "../definitions/version.ts";
import { countMessageTokens, type ShownMessage } from "../threads/context-blocks.ts";
import { listImages, nameImage } from "../threads/parts.ts";
import type { Message } from "../threads/thread.ts";
import { createFence } from "../tools/fence.ts";
import { measureMessages, readContent } from "./measures.ts";
import { buildPrompt, type Prompt, type PromptTool } from "./prompt.ts";
import { createRoundFinder, type RoundContext, type RunRound } from "./round.ts";
import type { RunRow } from "./run.ts";
import { type RunState, restoreState } from "./state.ts";
import type { AssistantData, StepRow, SystemData, ToolResultData } from "./step.ts";
import type { runStore } from "./store/index.ts";

interface RebuiltMessage {
  role: string;
  content: string;
  tool_calls: { id: string; name: string; arguments: string }[];
  /** Call that a result answers. */
  tool_call_id: string | null;
  /** Tool of a result. */
  tool: string | null;
  /** Round of this run in which it was written; null for messages of no round. */
  round: number | null;
  external: boolean;
  tokens: number;
}

export interface RebuiltRound extends RunRound {
  messages: RebuiltMessage[];
  context: Static<typeof RoundContext>;
  /** Tools that the model was offered. */
  tools: { name: string; description: string; parameters: unknown }[];
  /** Number and characters of the messages are those that were sent. */
  is_exact: boolean;
}

export interface RebuildOptions {
  store: Pick<Bound<typeof runStore>, "listSteps" | "loadBefore">;
  findVersion(agent_id: string, version: number): Promise<VersionRow | undefined>;
  openTools(
    account_id: string,
    version: VersionRow,
  ): Promise<(name: string) => PromptTool | undefined>;
  findModel: ModelCheck["find"];
}

/** Stands in delimiters whose nonce was not kept. */
const UNKNOWN_NONCE = "0".repeat(16);

/**
 * Rebuilds the prompt of a round with a reply. Outside content is delimited as it was sent, and
 * what was cleared or summarised is shown so. A model's window is that of the present settings.
 */
export async function rebuildRound(
  { store, findVersion, openTools, findModel }: RebuildOptions,
  run: RunRow,
  round: number,
): Promise<RebuiltRound | undefined> {
  // A run under way may have added steps since its row was read.
  const steps = (await store.listSteps(run.id, 0, null)).filter(({ seq }) => seq <= run.last_seq);
  const at = steps.findIndex((step) => step.kind === "assistant" && step.round === round);
  const version = at === -1 ? undefined : await findVersion(run.agent_id, run.version);
  if (!version) return undefined;
  const before = steps.slice(0, at);
  const sent = steps[at]!.execution?.prompt;
  const message_seq = run.message_seq - countMessages(steps.slice(at));
  const summary = findSummary(before, sent?.summarised_to);
  const log = await store.loadBefore(run.thread_id, message_seq, summary.to);
  const row: RunRow = {
    ...run,
    message_seq,
    last_seq: before.length,
    external_content: sent?.has_external ?? run.external_content,
  };
  const nonce = sent?.nonce ?? UNKNOWN_NONCE;
  const text = summary.text ?? log.summary;
  const state = restoreState(
    {
      row,
      version,
      messages: log.messages,
      steps: before,
      images: nameImages([...log.messages, { run_id: run.id, parts: run.input.content ?? null }]),
      summary: text,
      summarisedTo: summary.to,
    },
    createFence(nonce),
  );
  const findAny = await openTools(run.account_id, version);
  const findTool = (name: string) => (sent?.tools_off?.includes(name) ? undefined : findAny(name));
  const deps = { internal: { chat: { find: findModel } } };
  const prompt = buildPrompt({ state, deps, findTool }, false);
  const { messages, tools } = prompt.request;
  const measured = measureMessages(messages);
  const isSame = sent?.messages === measured.messages && sent.characters === measured.characters;
  return {
    ...findRound(version, steps.slice(0, at + 1)),
    messages: describeMessages(messages, before, nonce),
    context: describeContext(state, prompt),
    tools: tools.map(({ function: { name, description = "", parameters = {} } }) => {
      return { name, description, parameters };
    }),
    is_exact: isSame && (summary.to === null || text !== null),
  };
}

/** Finds the round that ends with the last of the steps. */
function findRound(version: VersionRow, steps: readonly StepRow[]): RunRound {
  const find = createRoundFinder(version);
  for (const step of steps.slice(0, -1)) find(step);
  return find(steps.at(-1)!)!;
}

function describeContext(
  { summary, contextLimit }: RunState,
  { request, view }: Prompt,
): RebuiltRound["context"] {
  const { messages, tokens, wholeTokens, roomTokens, reductions } = view;
  // The system prompt stands before the thread.
  const first = request.messages[0]?.role === "system" ? 1 : 0;
  const reduced: RebuiltRound["context"]["reduced"] = reductions.map(
    ({ at, kind, tokensBefore, tokens: now }) => {
      return { message: first + at, kind, tokens_before: tokensBefore, tokens: now };
    },
  );
  if (summary) {
    const now = countMessageTokens(messages[0]!);
    reduced.unshift({ message: first, kind: "summary", tokens_before: null, tokens: now });
  }
  const isLimited = roomTokens < WINDOW_TOKENS_MAX;
  const reason = reduced.length === 0 ? null : contextLimit ? "rejected" : "window";
  return {
    tokens,
    whole_tokens: wholeTokens,
    room_tokens: isLimited ? Math.max(0, roomTokens) : null,
    reason,
    reduced,
  };
}

/** More than any model reads; the room of a model without a window is larger. */
const WINDOW_TOKENS_MAX = 1e12;

/** Counts the messages that steps have added to the thread. */
function countMessages(steps: readonly StepRow[]): number {
  return steps.filter(({ kind, data }, at) => {
    if (kind !== "assistant") return kind === "tool_result";
    if (isAskedAgain(steps[at + 1])) return false;
    const { content, tool_calls } = data as AssistantData;
    return content !== null || tool_calls.length > 0;
  }).length;
}

/** The answer before such a step was given again, and is no message of the thread. */
function isAskedAgain(next: StepRow | undefined): boolean {
  const { event, detail } = next?.kind === "system" ? (next.data as SystemData) : {};
  return event === "output_invalid" && (detail as { asked_again: boolean }).asked_again;
}

/** Finds the summary that was in use; its text is null where another run made it. */
function findSummary(
  steps: readonly StepRow[],
  to: number | null | undefined,
): { to: number | null; text: string | null } {
  if (to === null) return { to, text: null };
  const own = steps.findLast(({ kind, data }) => {
    const through = kind === "system" && throughSeqOf(data as SystemData);
    return typeof through === "number" && (to === undefined || through === to);
  });
  const found = own ? throughSeqOf(own.data as SystemData)! : null;
  return { to: to ?? found, text: own?.execution?.summary ?? null };
}

function throughSeqOf({ event, detail }: SystemData): number | null | undefined {
  if (event !== "compacted") return undefined;
  return (detail as { through_seq?: number | null } | undefined)?.through_seq;
}

function describeMessages(
  messages: readonly ModelMessage[],
  steps: readonly StepRow[],
  nonce: string,
): RebuiltMessage[] {
  const rounds = new Map<string, number>();
  const tools = new Map<string, string>();
  for (const { kind, round, data } of steps) {
    if (kind === "assistant") {
      for (const { id } of (data as AssistantData).tool_calls) rounds.set(id, round);
    } else if (kind === "tool_result") {
      const { tool_call_id, name } = data as ToolResultData;
      tools.set(tool_call_id, name);
    }
  }
  return messages.map((message) => {
    const content = readContent(message.content, "[An image.]");
    const calls = message.tool_calls ?? [];
    const id = message.tool_call_id ?? calls[0]?.id ?? "";
    return {
      role: message.role,
      content,
      tool_calls: calls.map((call) => ({ id: call.id, ...call.function })),
      tool_call_id: message.tool_call_id ?? null,
      tool: tools.get(message.tool_call_id ?? "") ?? null,
      round: rounds.get(id) ?? null,
      external: content.startsWith(`<outside-${nonce}`),
      tokens: countMessageTokens({ ...(message as ShownMessage), content }),
    };
  });
}

/** Every image of these messages, without its bytes. */
function nameImages(messages: readonly Pick<Message, "run_id" | "parts">[]): Map<string, string> {
  const keys = messages.flatMap(({ run_id, parts }) =>
    listImages(parts).map(({ place }) => nameImage({ run_id, place })),
  );
  return new Map(keys.map((key) => [key, ""]));
}
