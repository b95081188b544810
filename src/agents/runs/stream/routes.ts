// GET /v1/runs/:id/events.
import { Type } from "@sinclair/typebox";
import { type Door, IdParams, openEventStream } from "../../../http/index.ts";
import { Approval } from "../../approvals/approval.ts";
import type { RunsAround } from "../around.ts";
import { Run } from "../run.ts";
import { STATUSES } from "../states.ts";
import { Step } from "../step.ts";
import type { Streams } from "./streams.ts";

const FRAMES = [
  ...["run.status", "step.completed", "approval.requested", "approval.decided"],
  ...["run.completed", "run.failed"],
];

/** One frame, by its `type`; the stream of a final run ends with `[DONE]`. */
const RunEvent = Type.Object(
  {
    type: Type.Union(
      FRAMES.map((frame) => Type.Literal(frame)),
      { description: "What the frame tells; it decides which field follows." },
    ),
    status: Type.Optional(
      Type.Union(
        STATUSES.map((status) => Type.Literal(status)),
        { description: "Of `run.status`: where the run stands." },
      ),
    ),
    step: Type.Optional(Step),
    approval: Type.Optional(Approval),
    run: Type.Optional(Run),
  },
  { $id: "RunEvent", description: "One frame of a run's stream." },
);

const STREAM = 200;

export function openEventRoute(door: Door, { findRun }: RunsAround, streams: Streams): void {
  // agents.endpoints.runs.get_runs_id_events
  door.get(
    "/v1/runs/:id/events",
    {
      summary: "Follow a run",
      description:
        "Server-sent events: the status, every step from the first, then what happens, up to " +
        "`[DONE]`. Comments come in silence. It ends after an hour, or when the server restarts: " +
        "whoever connects again drops the steps it has by `seq`.",
      scope: "agents",
      params: IdParams,
      replies: { [STREAM]: { description: "The events.", stream: RunEvent } },
      refusals: ["run_not_found", "too_many_streams"],
    },
    async ({ caller, params, request, request_id }) => {
      const run = await findRun(caller, params.id);
      const stream = streams.open(caller.key_id, run, (onBug) =>
        openEventStream(request.signal, onBug),
      );
      return stream.answer(STREAM, { "x-request-id": request_id });
    },
  );
}
