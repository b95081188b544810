// Operations on tools that accounts have registered.
import { type Static, Type } from "@sinclair/typebox";
import { RISKS } from "../../agents/index.ts";
import { oneOf, show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { defineOperation, type Operation } from "../operation.ts";
import { ChangedTool, ListedServer, ListedTool, ShownServer } from "../tools.ts";
import { account, idOf, input, text } from "./fields.ts";

const NamedTool = input({ account: text("Name of the owner."), name: text("Name of the tool.") });
const NamedServer = input({ id: idOf("server") });
const revision = Type.Integer({
  description: "The latest revision, as its changes were shown.",
  minimum: 1,
  maximum: 2_147_483_647,
});
type NamedTool = Static<typeof NamedTool>;
type ToolOperation = Operation<typeof NamedTool, Record<string, unknown>>;

const audit: ToolOperation["audit"] = {
  target: ({ account: owner, name }) => `${owner}/${name}`,
  async read({ tools }: Admin, target: string) {
    const [owner, name] = target.split("/") as [string, string];
    const found = (await tools.list(owner)).find((tool) => tool.name === name);
    return found && show(ListedTool, found);
  },
};

function switchTool(verb: "disable" | "enable", summary: string): ToolOperation {
  return {
    name: `tools ${verb}`,
    method: "POST",
    path: `/tools/:account/:name/${verb}`,
    summary,
    input: NamedTool,
    reply: ListedTool,
    audit,
    run: async ({ tools }, asked: NamedTool) =>
      show(ListedTool, await tools[verb](asked.name, asked.account)),
  };
}

export const toolOperations = {
  list: defineOperation({
    name: "tools list",
    method: "GET",
    path: "/tools",
    summary: "List the tools that accounts have registered.",
    input: input({ account }),
    reply: Type.Array(ListedTool),
    async run({ tools }, asked) {
      return (await tools.list(asked.account ?? null)).map((row) => show(ListedTool, row));
    },
  }),
  show: defineOperation({
    name: "tools show",
    method: "GET",
    path: "/tools/:account/:name",
    summary: "Show a tool as runs call it.",
    input: NamedTool,
    reply: ListedTool,
    run: async ({ tools }, asked) => show(ListedTool, await tools.show(asked.name, asked.account)),
  }),
  listServers: defineOperation({
    name: "tools servers",
    method: "GET",
    path: "/tools/servers",
    summary: "List the MCP servers that accounts have registered.",
    input: input({ account }),
    reply: Type.Array(ListedServer),
    async run({ tools }, asked) {
      const found = await tools.listServers(asked.account ?? null);
      return found.map((row) => show(ListedServer, row));
    },
  }),
  showServer: defineOperation({
    name: "tools server",
    method: "GET",
    path: "/mcp/servers/:id",
    summary: "Show an MCP server and its tools, with what has changed of them.",
    input: NamedServer,
    reply: ShownServer,
    run: async ({ tools }, { id }) =>
      show(ShownServer, await tools.showServer(id)) as Static<typeof ShownServer>,
  }),
  refresh: defineOperation({
    name: "tools refresh",
    method: "POST",
    path: "/mcp/servers/:id/refresh",
    summary: "Have the tools of an MCP server read again, at once.",
    input: NamedServer,
    reply: Type.Object({
      server: Type.String({ description: "Id of the server, which is read in the background." }),
    }),
    audit: { target: ({ id }: { id: string }) => id },
    async run({ tools }, { id }) {
      await tools.refresh(id);
      return { server: id };
    },
  }),
  setRisk: defineOperation({
    name: "tools risk",
    method: "PATCH",
    path: "/tools/:account/:name",
    summary: "Set the risk of a tool of an MCP server, as a new revision.",
    input: input({
      ...NamedTool.properties,
      risk: oneOf(RISKS, "What a call can do: it decides which calls wait for an approval."),
    }),
    reply: ListedTool,
    audit,
    run: async ({ tools }, asked) =>
      show(ListedTool, await tools.setRisk(asked.name, asked.account, asked.risk)),
  }),
  showChanges: defineOperation({
    name: "tools changes",
    method: "GET",
    path: "/tools/:account/:name/changes",
    summary: "Show what an MCP server has changed of a tool since it was accepted.",
    input: NamedTool,
    reply: ChangedTool,
    run: async ({ tools }, asked) =>
      show(ChangedTool, await tools.showChanges(asked.name, asked.account)),
  }),
  accept: defineOperation({
    name: "tools accept",
    method: "POST",
    path: "/tools/:account/:name/accept",
    summary: "Accept a tool as its MCP server has changed it.",
    input: input({ ...NamedTool.properties, revision }),
    reply: ListedTool,
    audit,
    run: async ({ tools }, asked) =>
      show(ListedTool, await tools.accept(asked.name, asked.account, asked.revision)),
  }),
  disable: switchTool("disable", "Keep runs from calling a tool."),
  enable: switchTool("enable", "Let runs call a disabled tool again."),
};
