// A fire: one activation of a trigger, with its outcome.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/schema.ts";

export const SOURCES = ["cron", "webhook", "manual"] as const;
export type FireSource = (typeof SOURCES)[number];
export const OUTCOMES = [
  "started",
  "skipped",
  "held",
  "refused",
  "limited",
  "missed",
  "failed",
] as const;
export type FireOutcome = (typeof OUTCOMES)[number];

/** agents.does.trigger, agents.resources.fire: every fire is recorded with its outcome. */
export const Fire = Resource(
  "Fire",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    trigger_id: Type.String({ format: "uuid", description: "The trigger that fired." }),
    source: oneOf(
      SOURCES,
      "`cron`: its schedule; `webhook`: a signed request; `manual`: a caller fired it by hand.",
    ),
    outcome: oneOf(
      OUTCOMES,
      "`started`: a run began; `skipped`: an earlier run was not over; `held`: the operator " +
        "holds agent or account; `refused`: because of key, agent or model, which paused the " +
        "trigger; `limited`: a limit on runs was reached; `missed`: the service was down too " +
        "long; `failed`: the run could not be started.",
    ),
    run_id: maybe(Type.String({ format: "uuid", description: "The run; null if none started." })),
    scheduled_at: maybe(Timestamp("Instant of the schedule; null for other sources.")),
    webhook_id: maybe(
      Type.String({ description: "The request's `webhook-id`; null for other sources." }),
    ),
    missed_count: Type.Integer({
      description:
        "Instants that passed without a fire of their own, including this one if it was missed; " +
        "at most 10000 are counted.",
    }),
    error: maybe(
      Type.Object(
        {
          code: Type.String({ description: "For programs." }),
          message: Type.String({ description: "A sentence for people." }),
        },
        { description: "Why no run started; null for `started` and `missed`." },
      ),
    ),
    created_at: Timestamp("Time of its first record."),
  },
  "One fire of a trigger.",
);
export type Fire = Static<typeof Fire>;

export const FireRow = Row(Fire, {
  /** Retention counts from here, since a repeated request may change the outcome. */
  ended_at: Timestamp("Time of the outcome."),
  fired_by_key_id: maybe(Type.String()),
});
export type FireRow = Static<typeof FireRow>;

/** agents.endpoints.triggers.p5 */
export const FireReceipt = Type.Object(
  {
    fire: Type.Object(
      { id: Fire.properties.id, outcome: Fire.properties.outcome, run_id: Fire.properties.run_id },
      { description: "The fire of the request." },
    ),
  },
  { $id: "FireReceipt", description: "A signed request's fire." },
);
