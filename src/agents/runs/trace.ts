// Spans of runs: one trace each, whose ids follow from the run, so that a restart continues it.
import { type Span, type SpanAttributes, type Tracer, writeTrace } from "../../platform/spans.ts";
import { shorten } from "../../platform/text.ts";
import type { Trace } from "../../platform/trace.ts";
import type { RunRow } from "./run.ts";
import type { ToolCallData, ToolResultData } from "./step.ts";

const TEXT_CHARACTERS_MAX = 4_096;

/** A run's id is that of its trace, and its random half that of the root. */
const traceIdOf = (run_id: string) => run_id.replaceAll("-", "");
const spanIdOf = (id: string) => traceIdOf(id).slice(16);

type TracedRun = Pick<RunRow, "id">;

export interface TracedCall {
  call: ToolCallData;
  result: ToolResultData;
  /** A time of `RunTraces.now`. */
  startedAt: number;
}

/** The parts of a decided approval that a span needs; its times are texts. */
interface TracedApproval {
  id: string;
  tool: string;
  tool_call_id: string;
  requested_at?: string;
  decided_at?: string | null;
}

export class RunTraces {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  now(): number {
    return this.#tracer.now();
  }

  isRecorded({ id }: TracedRun): boolean {
    return this.#tracer.isSampled(traceIdOf(id));
  }

  /** Opens the run's trace for its requests to the model; null: it is not recorded. */
  open(run: TracedRun): Trace | null {
    return this.isRecorded(run) ? writeTrace(rootOf(run)) : null;
  }

  recordCall(run: TracedRun, { call, result, startedAt }: TracedCall): void {
    const trace = this.open(run);
    const context = trace && this.#tracer.begin(trace);
    if (!context) return;
    const { outcome, http_status } = result;
    this.#tracer.record({
      context,
      name: `execute_tool ${call.name}`,
      kind: "internal",
      startedAt,
      endedAt: this.now(),
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.tool_call_id,
        "wadi.tool.attempt": call.attempt,
        "wadi.tool.outcome": outcome,
        "http.response.status_code": http_status,
      },
      error: outcome === "ok" ? null : outcome,
      content: this.#write(() => ({
        "gen_ai.tool.call.arguments": cut(JSON.stringify(call.arguments)),
        "gen_ai.tool.call.result": cut(result.content),
      })),
    });
  }

  /** Records how long a call has waited for a person. */
  recordWait(run: TracedRun, approval: TracedApproval, decision: string): void {
    const { id, tool, tool_call_id, requested_at, decided_at } = approval;
    if (!this.isRecorded(run) || !requested_at || !decided_at) return;
    const { traceId, spanId: parentId } = rootOf(run);
    this.#tracer.record({
      // After a crash the same wait is recorded again, as the same span.
      context: { traceId, spanId: spanIdOf(id), parentId },
      name: `wait_for_approval ${tool}`,
      kind: "internal",
      startedAt: Date.parse(requested_at),
      endedAt: Date.parse(decided_at),
      attributes: {
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": tool_call_id,
        "wadi.approval.id": id,
        "wadi.approval.decision": decision,
      },
      error: null,
    });
  }

  /** Records the root, once the run has ended. */
  recordRun(run: RunRow): void {
    const { status, error, input, output } = run;
    const isFine = status === "succeeded" || status === "cancelled";
    this.#tracer.record({
      context: rootOf(run),
      name: "invoke_agent",
      kind: "internal",
      startedAt: run.created_at,
      endedAt: this.now(),
      attributes: describeRun(run),
      error: isFine ? null : (error?.code ?? status),
      content: this.#write(() => ({
        "gen_ai.input.messages": writeText("user", input.message),
        ...(output && { "gen_ai.output.messages": writeText("assistant", output.message) }),
      })),
    });
  }

  #write(write: () => Record<string, string>): Span["content"] {
    return this.#tracer.hasContent ? write() : undefined;
  }
}

function rootOf({ id }: TracedRun) {
  return { traceId: traceIdOf(id), spanId: spanIdOf(id), parentId: null };
}

function describeRun({ usage, ...run }: RunRow): SpanAttributes {
  return {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.id": run.agent_id,
    "gen_ai.conversation.id": run.thread_id,
    "gen_ai.request.model": run.model,
    "gen_ai.usage.input_tokens": usage.prompt_tokens,
    "gen_ai.usage.output_tokens": usage.completion_tokens,
    "wadi.run.id": run.id,
    "wadi.run.version": run.version,
    "wadi.run.trigger": run.trigger_kind,
    "wadi.run.status": run.status,
    "wadi.run.rounds": usage.rounds,
    "wadi.run.tool_calls": usage.tool_calls,
    "wadi.run.recoveries": run.recoveries,
  };
}

function writeText(role: "user" | "assistant", text: string): string {
  return JSON.stringify([{ role, parts: [{ type: "text", content: cut(text) }] }]);
}

function cut(text: string): string {
  return shorten(text, TEXT_CHARACTERS_MAX);
}
