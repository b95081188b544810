// The frames of a run's stream: what is told of steps, of each change of status, and at the end.
import { writeFrame } from "../../../http/index.ts";
import { show } from "../../../platform/schema.ts";
import { Run, type RunRow } from "../run.ts";
import { Step, type StepRow } from "../step.ts";
import type { RunPosition } from "../store/lists.ts";
import type { Status } from "../transitions.ts";

/** How far somebody has been told of a run. */
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
  return row.kind === "approval" ? frame + tellApproval(row) : frame;
}

/** The approval as it was when the step was written. */
function tellApproval({ data }: StepRow): string {
  const { event, approval } = data as { event: string; approval: unknown };
  // agents.events.stream.type_approval_requested_approval
  // agents.events.stream.type_approval_decided_approval
  const type = event === "requested" ? "approval.requested" : "approval.decided";
  return writeFrame(JSON.stringify({ type, approval }));
}

/**
 * What has happened since `told`: the steps behind it, and every change of status, also where
 * several commits are read at once: each step knows the status in which it was written.
 */
export function newsFrames(
  told: StreamPosition,
  steps: readonly StepRow[],
  now: RunPosition,
): string {
  let { status } = told;
  let frames = "";
  const move = (next: Status) => {
    if (next === status) return;
    status = next;
    frames += statusFrame(next);
  };
  for (const step of steps) {
    if (step.seq <= told.seq) continue;
    move(step.status as Status);
    frames += stepFrame(step);
  }
  // Its start wrote no step.
  if (status === "queued" && now.started_at !== null) move("running");
  move(now.status);
  return frames;
}

/** agents.events.stream.p1: the last frames of a run that is final. */
export function endFrame(row: RunRow): string {
  // agents.events.stream.type_run_completed_run, agents.events.stream.type_run_failed_run
  const type = row.status === "succeeded" ? "run.completed" : "run.failed";
  return writeFrame(JSON.stringify({ type, run: show(Run, row) })) + writeFrame("[DONE]");
}
