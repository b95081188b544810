// Operations on agents and their holds.
import { Type } from "@sinclair/typebox";
import { Hold } from "../../access/index.ts";
import { show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { ListedAgent } from "../agents.ts";
import { defineOperation } from "../operation.ts";
import { account, idOf, input, maybeText } from "./fields.ts";

const Release = Type.Object({
  agent: Type.String({ description: "Id of the agent." }),
  held: Type.Literal(false, { description: "The agent is no longer held." }),
  was_held: Type.Boolean({ description: "The agent was held before." }),
});

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ agents }: Admin, found: string) {
    const agent = await agents.findHold(found.toLowerCase());
    return agent && { hold: agent.hold ? show(Hold, agent.hold) : null };
  },
};

export const agentOperations = {
  list: defineOperation({
    name: "agents list",
    method: "GET",
    path: "/agents",
    summary: "List agents and their holds.",
    input: input({ account }),
    reply: Type.Array(ListedAgent),
    async run({ agents }, asked) {
      return (await agents.list(asked.account ?? null)).map((row) => show(ListedAgent, row));
    },
  }),
  hold: defineOperation({
    name: "agents hold",
    method: "PUT",
    path: "/agents/:id/hold",
    summary: "Keep new runs of an agent from starting.",
    input: input({ id: idOf("agent"), reason: maybeText("Reason that the owner reads.") }),
    reply: Hold,
    audit,
    run: async ({ agents }, asked) => show(Hold, await agents.hold(asked.id, asked.reason ?? null)),
  }),
  release: defineOperation({
    name: "agents release",
    method: "DELETE",
    path: "/agents/:id/hold",
    summary: "End a hold and start the runs that wait for it.",
    input: input({ id: idOf("agent") }),
    reply: Release,
    audit,
    async run({ agents }, asked) {
      const { id: agent, wasHeld } = await agents.release(asked.id);
      return { agent, held: false, was_held: wasHeld };
    },
  }),
};
