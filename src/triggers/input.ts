// Request bodies for triggers, and the rules that their schemas cannot express.
import { type Static, Type } from "@sinclair/typebox";
import { validateSigningSecret } from "../crypto/index.ts";
import { Uuid } from "../http/index.ts";
import { apiError } from "../platform/errors.ts";
import { FilledText, maybe, oneOf, StoredText, unquoted } from "../platform/schema.ts";
import { ZONE_CHARACTERS_MAX } from "../platform/zone.ts";
import { zoneFault } from "./cron/occurrences.ts";
import { readSchedule, SCHEDULE_CHARACTERS_MAX } from "./cron/schedule.ts";
import { TRIGGER_KINDS, TRIGGER_STATUSES, Trigger, type TriggerRow } from "./trigger.ts";

const NAME_CHARACTERS_MAX = 200;
/** Same as for a run that a request starts. */
const MESSAGE_CHARACTERS_MAX = 100_000;
/** Exceeds every valid secret, so that `requireOwnSecret` explains what is wrong. */
const SECRET_CHARACTERS_MAX = 256;
const CATCH_UP_SECONDS_MAX = 86_400;
const DEFAULT_ZONE = "UTC";
const DEFAULT_CATCH_UP_SECONDS = 3_600;
const strict = { additionalProperties: false };

const name = FilledText("Unique per owner.", NAME_CHARACTERS_MAX);
const cron = maybe(
  StoredText(
    "Required for kind cron: minute, hour, day of month, month, day of week, such as " +
      "`30 9 * * MON-FRI`. Each is `*`, a value, a range, a step or several of them with commas.",
    SCHEDULE_CHARACTERS_MAX,
    { examples: ["30 9 * * MON-FRI", "*/15 * * * *"] },
  ),
);
const time_zone = maybe(
  StoredText("For kind cron: the IANA time zone of its times; null for UTC.", ZONE_CHARACTERS_MAX, {
    examples: ["Asia/Riyadh"],
  }),
);
const catch_up_seconds = maybe(
  Type.Integer({
    description:
      "For kind cron: how late the latest missed instant may still fire, in seconds; at least a " +
      "minute in any case; null for 3600.",
    minimum: 0,
    maximum: CATCH_UP_SECONDS_MAX,
  }),
);
const { overlap } = Trigger.properties;
const input = maybe(
  Type.Object(
    {
      message: FilledText("Message of each run, 1 to 100,000 characters.", MESSAGE_CHARACTERS_MAX),
    },
    {
      ...strict,
      description: "Input of each run; null for a sentence that names trigger and time.",
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
      maybe(Uuid("The agent's thread for its runs; null or absent for a new one each.")),
    ),
    secret: Type.Optional(
      maybe(
        unquoted(
          Type.String({
            description:
              "For kind webhook: the sender's own secret, `whsec_` and base64 of 24 to 64 bytes; " +
              "null or absent to generate one.",
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
      "A trigger. Absent fields count as null, `overlap` as `skip`; fields of the other kind are " +
      "refused.",
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
        "`paused`: stops its fires; `active`: resumes it, with runs that act for this key.",
      ),
    ),
  },
  {
    ...strict,
    $id: "TriggerPatch",
    description: "Absent fields stay as they are; null means the same as at creation.",
    examples: [{ overlap: "allow" }, { status: "paused" }, { status: "active" }],
  },
);
export type TriggerPatch = Static<typeof TriggerPatch>;

type ScheduleFields = Pick<TriggerRow, "cron" | "time_zone" | "catch_up_seconds">;

/** Reads a new trigger's schedule with its defaults; all null for kind webhook. */
export function readScheduleFields(body: NewTrigger): ScheduleFields {
  const fields = readSchedulePatch(body.kind, { ...body, cron: body.cron ?? null });
  if (body.kind === "webhook") return { cron: null, time_zone: null, catch_up_seconds: null };
  return {
    cron: fields.cron!,
    time_zone: fields.time_zone ?? DEFAULT_ZONE,
    catch_up_seconds: fields.catch_up_seconds ?? DEFAULT_CATCH_UP_SECONDS,
  };
}

export function readSchedulePatch(
  kind: TriggerRow["kind"],
  { cron, time_zone, catch_up_seconds }: Pick<TriggerPatch, keyof ScheduleFields>,
): Partial<ScheduleFields> {
  if (kind === "webhook") {
    for (const [param, value] of Object.entries({ cron, time_zone, catch_up_seconds })) {
      if ((value ?? null) !== null) throw invalidField(param, "goes with the kind `cron` only");
    }
    return {};
  }
  const fields: Partial<ScheduleFields> = {};
  if (cron === null) throw invalidField("cron", "is needed with the kind `cron`");
  if (cron !== undefined) {
    const reading = readSchedule(cron);
    if (!reading.ok) throw invalidRequest("cron", reading.fault);
    fields.cron = cron;
  }
  if (time_zone !== undefined) {
    const fault = zoneFault(time_zone ?? DEFAULT_ZONE);
    if (fault !== null) throw invalidRequest("time_zone", fault);
    fields.time_zone = time_zone ?? DEFAULT_ZONE;
  }
  if (catch_up_seconds !== undefined) {
    fields.catch_up_seconds = catch_up_seconds ?? DEFAULT_CATCH_UP_SECONDS;
  }
  return fields;
}

/** Refuses a secret that cannot sign, without quoting it; null asks for a generated one. */
export function requireOwnSecret(kind: TriggerRow["kind"], secret: string | null): void {
  if (secret === null) return;
  if (kind === "cron") throw invalidField("secret", "goes with the kind `webhook` only");
  const fault = validateSigningSecret(secret);
  if (fault !== null) throw invalidField("secret", fault);
}

function invalidField(param: string, fault: string) {
  return invalidRequest(param, `\`${param}\` ${fault}.`);
}

/** agents.errors.invalid_request */
function invalidRequest(param: string, message: string) {
  return apiError("invalid_request", { param, message });
}
