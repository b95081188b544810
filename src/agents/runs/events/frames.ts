// The frames of a run's event stream: steps, changes of status, replies under way, and the end.
import { writeFrame } from "../../../http/index.ts";
import { show } from "../../../platform/schema.ts";
import { Run, type RunRow } from "../run.ts";
import { Step, type StepRow } from "../step.ts";
import type { RunPosition } from "../store/reads.ts";
import type { Status } from "../transitions.ts";

export interface StreamPosition {
  status: Status;
  seq: number;
}

/** agents.events.stream.type_run_status_status */
export function statusFrame(status: Status): string {
  return writeFrame(JSON.stringify({ type: "run.status", status }));
}

/** agents.events.stream.type_step_completed_step */
export function stepFrame(row: StepRow): string {
  const step = show(Step, row as never);
  const frame = writeFrame(JSON.stringify({ type: "step.completed", step }));
  return row.kind === "approval" ? frame + approvalFrame(row) : frame;
}

function approvalFrame({ data }: StepRow): string {
  const { event, approval } = data as { event: string; approval: unknown };
  // agents.events.stream.type_approval_requested_approval
  // agents.events.stream.type_approval_decided_approval
  const type = event === "requested" ? "approval.requested" : "approval.decided";
  return writeFrame(JSON.stringify({ type, approval }));
}

/**
 * Frames of the steps behind `from` and of every change of status. Each step stores its status, so
 * that several commits may be read at once.
 */
export function newsFrames(
  from: StreamPosition,
  steps: readonly StepRow[],
  now: RunPosition,
): string {
  let { status } = from;
  let frames = "";
  const move = (next: Status) => {
    if (next === status) return;
    status = next;
    frames += statusFrame(next);
  };
  for (const step of steps) {
    if (step.seq <= from.seq) continue;
    move(step.status as Status);
    frames += stepFrame(step);
  }
  // A start writes no step.
  if (status === "queued" && now.started_at !== null) move("running");
  move(now.status);
  return frames;
}

interface LiveCallPiece {
  index: number;
  id?: string;
  name?: string;
  arguments: string;
}

/** A piece of a reply that is being written; `index` counts the pieces of the reply. */
export type LivePiece = { index: number } & ({ text: string } | { tool_call: LiveCallPiece });

/** A reply as far as it is written; `index` is that of its next piece. */
export interface LiveSnapshot {
  round: number;
  index: number;
  text: string;
  tool_calls: { id: string; name: string; arguments: string }[];
}

export function deltaFrame(round: number, piece: LivePiece): string {
  return writeFrame(JSON.stringify({ type: "message.delta", round, ...piece }));
}

export function snapshotFrame(snapshot: LiveSnapshot): string {
  return writeFrame(JSON.stringify({ type: "message.snapshot", ...snapshot }));
}

/** agents.events.stream.p1 */
export function endFrame(row: RunRow): string {
  // agents.events.stream.type_run_completed_run, agents.events.stream.type_run_failed_run
  const type = row.status === "succeeded" ? "run.completed" : "run.failed";
  return writeFrame(JSON.stringify({ type, run: show(Run, row) })) + writeFrame("[DONE]");
}
