// A fire: one time that a trigger went off, and what came of it.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/schema.ts";

export const SOURCES = ["cron", "webhook", "manual"] as const;
export type FireSource = (typeof SOURCES)[number];
export const OUTCOMES = [
  ...(["started", "skipped", "held", "refused", "limited", "missed", "failed"] as const),
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
        "trigger; `limited`: its runs were at a limit; `missed`: the instant was over when the " +
        "service came back; `failed`: no run could be started.",
    ),
    run_id: maybe(Type.String({ format: "uuid", description: "The run; null: none started." })),
    scheduled_at: maybe(Timestamp("The instant of the schedule; null: of another source.")),
    webhook_id: maybe(
      Type.String({ description: "The `webhook-id` of the request; null: of another source." }),
    ),
    missed_count: Type.Integer({
      description:
        "Instants of the schedule that passed without a fire of their own before this one, with " +
        "it where it was missed itself; at most 10000 are counted.",
    }),
    error: maybe(
      Type.Object(
        {
          code: Type.String({ description: "For programs." }),
          message: Type.String({ description: "A sentence for people." }),
        },
        { description: "Why no run started; null: one did, or it was missed." },
      ),
    ),
    created_at: Timestamp("When it was recorded first."),
  },
  "One fire of a trigger.",
);
export type Fire = Static<typeof Fire>;

export const FireRow = Row(Fire, {
  /** A request may come again, and more come of it than the first time: it is kept from then. */
  ended_at: Timestamp("When its outcome came."),
  /** The key that fired it by hand; null: of another source. */
  fired_by_key_id: maybe(Type.String()),
});
export type FireRow = Static<typeof FireRow>;

/** agents.endpoints.triggers.p5: what a sender is told. */
export const FireReceipt = Type.Object(
  {
    fire: Type.Object(
      { id: Fire.properties.id, outcome: Fire.properties.outcome, run_id: Fire.properties.run_id },
      { description: "What became of the request." },
    ),
  },
  { $id: "FireReceipt", description: "A signed request's fire." },
);
