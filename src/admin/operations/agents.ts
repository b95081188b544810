// Operations on agents and their holds.
import { type Static, Type } from "@sinclair/typebox";
import { Hold } from "../../access/index.ts";
import { NewAgent, type PreviewedTool, Version } from "../../agents/index.ts";
import { rulesOf, show, withRules } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { AgentLine, ListedAgent, ListedVersion, OpenedAgent } from "../agents.ts";
import { defineOperation } from "../operation.ts";
import { VersionDiff } from "../version-diff.ts";
import { account, idOf, input, LIMIT, limit, maybeText } from "./fields.ts";

const Mark = ListedAgent.properties.recent_runs.items;
type Preview = Static<typeof PreviewedTool>;
const Release = Type.Object({
  agent: Type.String({ description: "Id of the agent." }),
  held: Type.Literal(false, { description: "The agent is no longer held." }),
  was_held: Type.Boolean({ description: "The agent was held before." }),
});

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ agents }: Admin, found: string) {
    const agent = await agents.findHold(found);
    return agent && { hold: agent.hold ? show(Hold, agent.hold) : null };
  },
};

const { name, system_prompt, tools, output_schema, expose } = NewAgent.properties;
const NewAgentInput = withRules(
  input({ key: idOf("key"), name, system_prompt, tools, output_schema, expose }),
  { tools: rulesOf(NewAgent).get("tools")! },
);

export const agentOperations = {
  create: defineOperation({
    name: "agents create",
    method: "POST",
    path: "/agents",
    summary: "Create an agent for a key, which owns it with its account.",
    input: NewAgentInput,
    reply: AgentLine,
    audit: {
      ...audit,
      target: (_: unknown, reply?: Record<string, unknown>) => reply?.id as string | undefined,
    },
    run: async ({ agents }, { key, ...agent }) => show(AgentLine, await agents.create(key, agent)),
  }),
  list: defineOperation({
    name: "agents list",
    method: "GET",
    path: "/agents",
    summary: "List agents and their holds.",
    input: input({ account }),
    reply: Type.Array(ListedAgent),
    async run({ agents }, asked): Promise<Record<string, unknown>[]> {
      const found = await agents.list(asked.account ?? null);
      return found.map(({ model, tools, recent_runs, ...row }) => ({
        ...show(AgentLine, row),
        ...{ model, tools },
        recent_runs: recent_runs.map((mark) => show(Mark, mark)),
      }));
    },
  }),
  show: defineOperation({
    name: "agents show",
    method: "GET",
    path: "/agents/:id",
    summary: "Show a version of an agent, and what its policy does with each tool.",
    input: input({
      id: idOf("agent"),
      version: Type.Optional(
        Type.Integer({ minimum: 1, description: "Its number; the current one without it." }),
      ),
    }),
    reply: OpenedAgent,
    async run({ agents }, asked): Promise<Record<string, unknown> & { tools: Preview[] }> {
      const found = await agents.show(asked.id, asked.version ?? null);
      const { agent, version, tools, created_by_key_name } = found;
      return {
        ...show(AgentLine, agent),
        description: agent.description,
        version: show(Version, version),
        ...{ created_by_key_name, tools },
      };
    },
  }),
  listVersions: defineOperation({
    name: "agents versions",
    method: "GET",
    path: "/agents/:id/versions",
    summary: "List an agent's newest versions without their texts.",
    input: input({ id: idOf("agent"), limit }),
    reply: Type.Array(ListedVersion),
    async run({ agents }, asked) {
      const found = await agents.listVersions(asked.id, asked.limit ?? LIMIT);
      return found.map((row) => show(ListedVersion, row));
    },
  }),
  diff: defineOperation({
    name: "agents diff",
    method: "GET",
    path: "/agents/:id/diff",
    summary: "Show in which fields two versions of an agent differ.",
    input: input({
      id: idOf("agent"),
      from: Type.Integer({ minimum: 1, description: "Number of the first version." }),
      to: Type.Integer({ minimum: 1, description: "Number of the second version." }),
    }),
    reply: VersionDiff,
    run: ({ agents }, asked) => agents.diff(asked.id, asked.from, asked.to),
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
