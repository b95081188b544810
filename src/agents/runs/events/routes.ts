// GET /v1/runs/:id/events.
import { type TProperties, Type } from "@sinclair/typebox";
import { IdParams, openEventStream, type Router } from "../../../http/index.ts";
import { oneOf } from "../../../platform/schema.ts";
import { Approval } from "../../approvals/approval.ts";
import type { RunsDeps } from "../deps.ts";
import { Run } from "../run.ts";
import { RunStep } from "../step.ts";
import { STATUSES } from "../transitions.ts";
import type { RunStreams } from "./streams.ts";

const frame = (type: string, name: string, fields: TProperties, description: string) =>
  Type.Object(
    { type: Type.Literal(type, { description: `Always \`${type}\`.` }), ...fields },
    { $id: name, description },
  );
const status = oneOf(STATUSES, "Where the run stands.");

const RunEvent = Type.Union(
  [
    frame("run.status", "RunStatusFrame", { status }, "The first, and every change of status."),
    frame("step.completed", "StepFrame", { step: RunStep }, "A step, in the order of `seq`."),
    frame(
      "approval.requested",
      "ApprovalRequestedFrame",
      { approval: Approval },
      "Behind a step that asks for a person.",
    ),
    frame(
      "approval.decided",
      "ApprovalDecidedFrame",
      { approval: Approval },
      "Behind a step that closes an approval.",
    ),
    frame("run.completed", "RunCompletedFrame", { run: Run }, "The run succeeded."),
    frame("run.failed", "RunFailedFrame", { run: Run }, "The run ended otherwise."),
  ],
  { $id: "RunEvent", discriminator: "type", description: "One frame of a run's stream." },
);

const STREAM = 200;

export function openEventRoute(router: Router, { findRun }: RunsDeps, streams: RunStreams): void {
  // agents.endpoints.runs.get_runs_id_events
  router.get(
    "/v1/runs/:id/events",
    {
      summary: "Follow a run",
      description:
        "Server-sent events: the status, every step from the first, then what happens, up to " +
        "`[DONE]`. Comments come in silence. It ends after an hour, or when the server restarts: " +
        "a client that reconnects drops the steps it has by `seq`.",
      scope: "agents",
      params: IdParams,
      replies: { [STREAM]: { description: "The events.", stream: RunEvent } },
      refusals: ["run_not_found", "too_many_streams"],
    },
    async ({ caller, params, request, requestId }) => {
      const run = await findRun(caller, params.id);
      const stream = streams.open(caller.key_id, run, (onBug) =>
        openEventStream(request.signal, onBug),
      );
      return stream.answer(STREAM, { "x-request-id": requestId });
    },
  );
}
