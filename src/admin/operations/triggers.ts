// Operations on triggers and their fires.
import { type Static, Type } from "@sinclair/typebox";
import { show } from "../../platform/schema.ts";
import { Fire } from "../../triggers/index.ts";
import type { Admin } from "../admin.ts";
import { defineOperation, type Operation } from "../operation.ts";
import { ListedTrigger, OwnedTrigger } from "../triggers.ts";
import { account, idOf, input, LIMIT, limit } from "./fields.ts";

const NamedTrigger = input({ id: idOf("trigger") });
const ChangedTrigger = Type.Object({
  ...OwnedTrigger.properties,
  is_changed: Type.Boolean({ description: "False: it had that status already." }),
});

type StatusOperation = Operation<
  typeof NamedTrigger,
  Record<string, unknown> & { is_changed: boolean }
>;

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ triggers }: Admin, found: string) {
    const row = await triggers.find(found.toLowerCase());
    return row && show(OwnedTrigger, row);
  },
};

function setStatus(verb: "pause" | "resume", summary: string): StatusOperation {
  return {
    name: `triggers ${verb}`,
    method: "POST",
    path: `/triggers/:id/${verb}`,
    summary,
    input: NamedTrigger,
    reply: ChangedTrigger,
    audit,
    async run({ triggers }, asked: Static<typeof NamedTrigger>) {
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
    async run({ triggers }, asked) {
      return (await triggers.list(asked.account ?? null)).map((row) => show(ListedTrigger, row));
    },
  }),
  show: defineOperation({
    name: "triggers show",
    method: "GET",
    path: "/triggers/:id",
    summary: "Show a trigger.",
    input: NamedTrigger,
    reply: OwnedTrigger,
    run: async ({ triggers }, asked) => show(OwnedTrigger, await triggers.show(asked.id)),
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
};
