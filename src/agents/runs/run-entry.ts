// Collects the additions of one transaction to a run.
import type { Ids } from "../../platform/ids.ts";
import { show } from "../../platform/schema.ts";
import { Approval, type ApprovalRow } from "../approvals/approval.ts";
import type { NewMessage } from "../threads/thread.ts";
import { toolMessage } from "./calls/open-calls.ts";
import { type Amount, addCost, addPriced } from "./cost.ts";
import type { RunRow } from "./run.ts";
import type {
  AssistantData,
  NewStep,
  StepContent,
  StepExecution,
  SystemData,
  ToolResultData,
} from "./step.ts";
import type { RunRecord } from "./store/record.ts";
import type { ApprovalRequest } from "./store/round.ts";

export class RunEntry {
  progress: RunRow;
  readonly steps: NewStep[] = [];
  readonly messages: NewMessage[] = [];
  readonly outputs: RunRecord["outputs"][number][] = [];
  readonly effects: RunRecord["effects"][number][] = [];
  readonly requests: ApprovalRequest[] = [];
  summary: RunRecord["summary"] = null;
  readonly #ids: Pick<Ids, "uuid">;

  constructor(ids: Pick<Ids, "uuid">, progress: RunRow) {
    this.#ids = ids;
    this.progress = progress;
  }

  addStep(content: StepContent, execution?: StepExecution): void {
    const place = { id: this.#ids.uuid(), round: this.progress.usage.rounds };
    this.steps.push({ ...place, ...content, ...(execution && { execution }) });
  }

  /** Adds a model's reply as a step and as a message of the thread. */
  addReply(reply: AssistantData, execution?: StepExecution): void {
    const { content, tool_calls } = reply;
    this.addStep({ kind: "assistant", data: reply }, execution);
    // Model servers reject an assistant's message without content.
    if (content === null && tool_calls.length === 0) return;
    this.messages.push({
      id: this.#ids.uuid(),
      role: "assistant",
      content,
      tool_calls: tool_calls.length > 0 ? tool_calls : null,
      tool_call_id: null,
      external: false,
    });
  }

  addEvent(
    event: SystemData["event"],
    message: string,
    detail?: unknown,
    execution?: StepExecution,
  ): void {
    const data = detail === undefined ? { event, message } : { event, message, detail };
    this.addStep({ kind: "system", data }, execution);
  }

  addResult(result: ToolResultData, execution?: StepExecution): void {
    this.addStep({ kind: "tool_result", data: result }, execution);
    this.messages.push(toolMessage(result, this.#ids.uuid()));
  }

  hasResult(tool_call_id: string): boolean {
    return this.steps.some(
      ({ kind, data }) => kind === "tool_result" && data.tool_call_id === tool_call_id,
    );
  }

  /** Requests a decision, for which the run waits before it ends its round. */
  addApproval(approval: ApprovalRow): void {
    const { progress } = this;
    const pending_approvals = [...progress.pending_approvals, approval.id];
    this.progress = { ...progress, pending_approvals };
    this.addStep({
      kind: "approval",
      data: { event: "requested", approval: show(Approval, approval) },
    });
    this.requests.push({ approval, event_id: this.#ids.uuid() });
  }

  /** Counts a call that was run or may have been. */
  countCall(cost: Amount, isExternal: boolean): void {
    const { progress } = this;
    this.progress = {
      ...progress,
      cost: addCost(progress.cost, "tools", cost),
      priced: addPriced(progress.priced, cost),
      usage: { ...progress.usage, tool_calls: progress.usage.tool_calls + 1 },
      external_content: progress.external_content || isExternal,
    };
  }
}
