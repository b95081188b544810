// Tools that accounts have registered: list, show, disable, enable.
import { type Static, Type } from "@sinclair/typebox";
import { createToolQueries, McpServer, McpTool, ToolRevision } from "../agents/index.ts";
import { Resource } from "../platform/schema.ts";
import { type AccountDirectory, walkAccounts } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { explainApiError, unknownName } from "./errors.ts";

export const ListedTool = Resource("ListedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...ToolRevision.properties,
});
type ListedToolRow = Static<typeof ListedTool>;

export const ListedServer = Resource("ListedServer", {
  account: Type.String({ description: "The owner's name." }),
  ...McpServer.properties,
});
type ListedServerRow = Static<typeof ListedServer>;

export const ChangedTool = Resource("ChangedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...McpTool.properties,
});
type ChangedToolRow = Static<typeof ChangedTool>;

export function createToolAdmin({ database, settings }: AdminDeps, directory: AccountDirectory) {
  const tools = createToolQueries(database);
  const apply = async <Row extends object>(
    name: string,
    owner: string,
    act: (accountId: string) => Promise<Row | undefined>,
  ): Promise<Row & { account: string }> => {
    const account = await directory.require(owner);
    const tool = await explainApiError(() => act(account.id));
    if (tool) return { ...tool, account: account.name };
    const names = (await tools.list(account.id)).map((one) => one.name);
    throw unknownName("tool", name, names, "see `wadi tools list`");
  };
  return {
    async list(owner: string | null): Promise<ListedToolRow[]> {
      const found: ListedToolRow[] = [];
      for await (const { id, name } of walkAccounts(await directory.select(owner))) {
        found.push(...(await tools.list(id)).map((tool) => ({ account: name, ...tool })));
      }
      return found;
    },
    /** MCP servers, whose tools are listed with the others. */
    async listServers(owner: string | null): Promise<ListedServerRow[]> {
      const found: ListedServerRow[] = [];
      for await (const { id, name } of walkAccounts(await directory.select(owner))) {
        found.push(...(await tools.listServers(id)).map((row) => ({ account: name, ...row })));
      }
      return found;
    },
    /** A tool of an MCP server, with what changed since it was accepted. */
    showChanges: (name: string, owner: string): Promise<ChangedToolRow> =>
      apply(name, owner, (id) => tools.findListed(id, name)),
    accept: (name: string, owner: string, revision: number): Promise<ListedToolRow> =>
      apply(name, owner, (id) => tools.accept(id, name, revision)),
    show: (name: string, owner: string) => apply(name, owner, (id) => tools.find(id, name)),
    disable: (name: string, owner: string) => apply(name, owner, (id) => tools.disable(id, name)),
    enable: (name: string, owner: string) =>
      apply(name, owner, (id) => tools.enable(id, name, settings.limits.tools)),
  };
}
