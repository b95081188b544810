// GET /v1/runs/:id/events.
import { type TProperties, Type } from "@sinclair/typebox";
import { IdParams, openEventStream, type Router } from "../../../http/index.ts";
import { always, oneOf } from "../../../platform/schema.ts";
import { Approval } from "../../approvals/approval.ts";
import type { RunsDeps } from "../deps.ts";
import { Run } from "../run.ts";
import { RunStep } from "../step.ts";
import { STATUSES } from "../transitions.ts";
import type { RunStreams } from "./streams.ts";

const frame = (type: string, name: string, fields: TProperties, description: string) =>
  Type.Object({ type: always(type), ...fields }, { $id: name, description });
const status = oneOf(STATUSES, "Where the run stands.");
const round = Type.Integer({ description: "Number of the model round, from 1." });
const CALL = {
  name: Type.String({ description: "The tool." }),
  arguments: Type.String({ description: "JSON text, or its next piece." }),
};
const id = Type.String({ description: "The model's own id of the call; its step has another." });
const DELTA = {
  text: Type.Optional(Type.String({ description: "The next text." })),
  tool_call: Type.Optional(
    Type.Object(
      {
        index: Type.Integer({ description: "Pieces with the same index are one call." }),
        id: Type.Optional(id),
        name: Type.Optional(CALL.name),
        arguments: CALL.arguments,
      },
      { description: "The next piece of a call; `id` and `name` are in its first." },
    ),
  ),
};
const SNAPSHOT = {
  index: Type.Integer({ description: "Number of the next piece." }),
  text: Type.String({ description: "The text so far." }),
  tool_calls: Type.Array(Type.Object({ id, ...CALL }, { description: "A call." }), {
    description: "The calls so far, by their index.",
  }),
};

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
    frame(
      "message.delta",
      "MessageDeltaFrame",
      { round, index: Type.Integer({ description: "Number of the piece, from 0." }), ...DELTA },
      "With `deltas`: the next piece of a reply, either `text` or `tool_call`.",
    ),
    frame(
      "message.snapshot",
      "MessageSnapshotFrame",
      { round, ...SNAPSHOT },
      "With `deltas`: a reply so far, in the place of all pieces of its round before. It comes " +
        "in the middle of a round, to a slow reader, and empty where a round is tried again.",
    ),
    frame("run.completed", "RunCompletedFrame", { run: Run }, "The run succeeded."),
    frame("run.failed", "RunFailedFrame", { run: Run }, "The run ended otherwise."),
  ],
  { $id: "RunEvent", discriminator: "type", description: "One frame of a run's stream." },
);

const EventsQuery = Type.Object({
  deltas: Type.Optional(
    oneOf(["true", "false"] as const, "`true`: with the frames of replies under way."),
  ),
});
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
        "a client that reconnects drops the steps it has by `seq`. With `deltas=true` replies " +
        "come while they are written, before their steps; reasoning is not among them.",
      scope: "agents",
      params: IdParams,
      query: EventsQuery,
      replies: { [STREAM]: { description: "The events.", stream: RunEvent } },
      refusals: ["run_not_found", "too_many_streams"],
    },
    async ({ caller, params, query, request, requestId }) => {
      const run = await findRun(caller, params.id);
      const open = (onBug: (bug: unknown) => void) => openEventStream(request.signal, onBug);
      const stream = streams.open(caller.key_id, run, open, query.deltas === "true");
      return stream.answer(STREAM, { "x-request-id": requestId });
    },
  );
}
