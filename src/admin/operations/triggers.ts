// Operations on triggers and their fires.
import { type Static, Type } from "@sinclair/typebox";
import { show } from "../../platform/schema.ts";
import { Fire } from "../../triggers/index.ts";
import type { Admin } from "../admin.ts";
import { defineOperation, type Operation } from "../operation.ts";
import { ListedTrigger, NamedTrigger, OwnedTrigger } from "../triggers.ts";
import { account, idOf, input, LIMIT, limit } from "./fields.ts";

const TriggerInput = input({ id: idOf("trigger") });
const OVERLAP_SECONDS_MAX = 604_800;
const { recent_fires: marks, ...row } = ListedTrigger.properties;
const ListedRow = Type.Object(row);
const Mark = marks.items;
const ChangedTrigger = Type.Object({
  ...OwnedTrigger.properties,
  is_changed: Type.Boolean({ description: "False: it had that status already." }),
});

type StatusOperation = Operation<
  typeof TriggerInput,
  Record<string, unknown> & { is_changed: boolean }
>;

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ triggers }: Admin, found: string) {
    const row = await triggers.find(found);
    return row && show(OwnedTrigger, row);
  },
};

function setStatus(verb: "pause" | "resume", summary: string): StatusOperation {
  return {
    name: `triggers ${verb}`,
    method: "POST",
    path: `/triggers/:id/${verb}`,
    summary,
    input: TriggerInput,
    reply: ChangedTrigger,
    audit,
    async run({ triggers }, asked: Static<typeof TriggerInput>) {
      const { trigger, isChanged } = await triggers[verb](asked.id);
      return { ...show(OwnedTrigger, trigger), is_changed: isChanged };
    },
  };
}

export const triggerOperations = {
  list: defineOperation({
    name: "triggers list",
    method: "GET",
    path: "/triggers",
    summary: "List triggers and their next fires.",
    input: input({ account }),
    reply: Type.Array(ListedTrigger),
    async run({ triggers }, asked): Promise<Record<string, unknown>[]> {
      const found = await triggers.list(asked.account ?? null);
      return found.map(({ recent_fires, ...row }) => ({
        ...show(ListedRow, row),
        recent_fires: recent_fires.map((mark) => show(Mark, mark)),
      }));
    },
  }),
  show: defineOperation({
    name: "triggers show",
    method: "GET",
    path: "/triggers/:id",
    summary: "Show a trigger.",
    input: TriggerInput,
    reply: NamedTrigger,
    run: async ({ triggers }, asked) => show(NamedTrigger, await triggers.show(asked.id)),
  }),
  listFires: defineOperation({
    name: "triggers fires",
    method: "GET",
    path: "/triggers/:id/fires",
    summary: "List a trigger's newest fires and their outcomes.",
    input: input({ id: idOf("trigger"), limit }),
    reply: Type.Array(Fire),
    async run({ triggers }, asked) {
      const found = await triggers.listFires(asked.id, asked.limit ?? LIMIT);
      return found.map((fire) => show(Fire, fire));
    },
  }),
  pause: setStatus("pause", "Pause a trigger."),
  resume: setStatus("resume", "Resume a trigger and keep its key."),
  fire: defineOperation({
    name: "triggers fire",
    method: "POST",
    path: "/triggers/:id/fire",
    summary: "Fire a trigger now; its run acts for the trigger's key.",
    input: TriggerInput,
    reply: Fire,
    audit,
    run: async ({ triggers }, asked, { name }) => show(Fire, await triggers.fire(asked.id, name)),
  }),
  rotate: defineOperation({
    name: "triggers rotate",
    method: "POST",
    path: "/triggers/:id/rotate",
    summary: "Give a trigger's requests a new secret, which is shown once.",
    input: input({
      id: idOf("trigger"),
      overlap_seconds: Type.Optional(
        Type.Integer({
          ...{ minimum: 0, maximum: OVERLAP_SECONDS_MAX },
          description: "Seconds for which the former secret is valid, too; a day without it.",
        }),
      ),
    }),
    reply: Type.Object({
      ...NamedTrigger.properties,
      secret: Type.String({ description: "Secret of its requests, shown only here." }),
    }),
    audit,
    async run({ triggers }, asked): Promise<Record<string, unknown> & { secret: string }> {
      const { trigger, secret } = await triggers.rotate(asked.id, asked.overlap_seconds);
      return { ...show(NamedTrigger, trigger), secret };
    },
  }),
};
