// What callers send of a trigger.
import { type Static, Type } from "@sinclair/typebox";
import { Uuid, unquoted } from "../http/index.ts";
import { maybe, oneOf, TEXT_PATTERN } from "../platform/schema.ts";
import { SCHEDULE_CHARACTERS_MAX } from "./cron/schedule.ts";
import { ZONE_CHARACTERS_MAX } from "./cron/zone.ts";
import { OVERLAPS, TRIGGER_KINDS, TRIGGER_STATUSES } from "./trigger.ts";

const NAME_CHARACTERS_MAX = 200;
/** As of a run that a request starts. */
const MESSAGE_CHARACTERS_MAX = 100_000;
/** More than any that is taken: what is wrong with one is said where it is judged. */
const SECRET_CHARACTERS_MAX = 256;
const CATCH_UP_SECONDS_MAX = 86_400;
const strict = { additionalProperties: false };

const name = Type.String({
  description: "Unique per owner.",
  minLength: 1,
  maxLength: NAME_CHARACTERS_MAX,
  pattern: TEXT_PATTERN,
});
const cron = maybe(
  Type.String({
    description:
      "Of kind cron, needed: minute, hour, day of month, month, day of week, such as " +
      "`30 9 * * MON-FRI`. Each is `*`, a value, a range, a step or several of them with commas.",
    maxLength: SCHEDULE_CHARACTERS_MAX,
    pattern: TEXT_PATTERN,
    examples: ["30 9 * * MON-FRI", "*/15 * * * *"],
  }),
);
const time_zone = maybe(
  Type.String({
    description: "Of kind cron: the IANA zone of its times; null: UTC.",
    maxLength: ZONE_CHARACTERS_MAX,
    pattern: TEXT_PATTERN,
    examples: ["Asia/Riyadh"],
  }),
);
const catch_up_seconds = maybe(
  Type.Integer({
    description:
      "Of kind cron: how late the latest missed instant may still fire, in seconds, but a minute " +
      "in any case; null: 3600.",
    minimum: 0,
    maximum: CATCH_UP_SECONDS_MAX,
  }),
);
const overlap = oneOf(
  OVERLAPS,
  "`skip`: while a run of it is not final, a fire starts none; `allow`: it starts another.",
);
const input = maybe(
  Type.Object(
    {
      message: Type.String({
        description: "What is asked, in 1 to 100,000 characters.",
        minLength: 1,
        maxLength: MESSAGE_CHARACTERS_MAX,
        pattern: TEXT_PATTERN,
      }),
    },
    {
      ...strict,
      description: "What each run is asked; null: a sentence that names the trigger and the time.",
    },
  ),
);

/** agents.does.trigger, agents.resources.trigger */
export const NewTrigger = Type.Object(
  {
    name,
    agent_id: Uuid("The agent whose runs it starts."),
    kind: oneOf(
      TRIGGER_KINDS,
      "`cron`: fires on a schedule; `webhook`: on a signed request to its `hook_path`.",
    ),
    cron: Type.Optional(cron),
    time_zone: Type.Optional(time_zone),
    overlap: Type.Optional(overlap),
    catch_up_seconds: Type.Optional(catch_up_seconds),
    input: Type.Optional(input),
    thread_id: Type.Optional(
      maybe(Uuid("The agent's thread that its runs add to; null or left out: one each.")),
    ),
    /** Once stored, no message says it again. */
    secret: Type.Optional(
      maybe(
        unquoted(
          Type.String({
            description:
              "Of kind webhook: the sender's own secret, `whsec_` and base64 of 24 to 64 bytes; " +
              "null or left out: one is made.",
            maxLength: SECRET_CHARACTERS_MAX,
            examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
          }),
        ),
      ),
    ),
  },
  {
    ...strict,
    $id: "NewTrigger",
    description:
      "A trigger. What is left out stands as a null does, `overlap` as `skip`; what goes with " +
      "the other kind is refused.",
    examples: [
      {
        name: "Morning report",
        agent_id: "01920000-0000-7000-8000-000000000001",
        kind: "cron",
        cron: "30 9 * * MON-FRI",
        time_zone: "Asia/Riyadh",
        input: { message: "Sum up what came in since yesterday." },
      },
      {
        name: "New ticket",
        agent_id: "01920000-0000-7000-8000-000000000001",
        kind: "webhook",
        overlap: "allow",
      },
    ],
  },
);
export type NewTrigger = Static<typeof NewTrigger>;

export const TriggerPatch = Type.Object(
  {
    name: Type.Optional(name),
    cron: Type.Optional(cron),
    time_zone: Type.Optional(time_zone),
    overlap: Type.Optional(overlap),
    catch_up_seconds: Type.Optional(catch_up_seconds),
    input: Type.Optional(input),
    status: Type.Optional(
      oneOf(
        TRIGGER_STATUSES,
        "`paused`: it fires no more; `active`: a paused one goes on, and acts for this key.",
      ),
    ),
  },
  {
    ...strict,
    $id: "TriggerPatch",
    description: "What is left out stays as it is; a null stands for what creation takes it for.",
    examples: [{ overlap: "allow" }, { status: "paused" }, { status: "active" }],
  },
);
export type TriggerPatch = Static<typeof TriggerPatch>;
