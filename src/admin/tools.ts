// Tools that accounts have registered: list, show, disable, enable.
import { type Static, Type } from "@sinclair/typebox";
import { createToolQueries, McpServer, McpTool, type Risk, ToolRevision } from "../agents/index.ts";
import { maybe, Resource } from "../platform/schema.ts";
import { type AccountDirectory, walkAccounts } from "./accounts.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { explainApiError, requireById, unknownName } from "./errors.ts";

export const ListedTool = Resource("ListedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...ToolRevision.properties,
});
type ListedToolRow = Static<typeof ListedTool>;

const connection = maybe(
  Type.String({ description: "Name of the connection; null: it has none." }),
);

export const ListedServer = Resource("ListedServer", {
  account: Type.String({ description: "The owner's name." }),
  ...McpServer.properties,
  connection,
  tools: Type.Integer({ description: "Number of its tools." }),
  changed: Type.Integer({ description: "Tools of them that wait to be accepted." }),
});
type ListedServerRow = Static<typeof ListedServer>;

export const ChangedTool = Resource("ChangedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...McpTool.properties,
});
type ChangedToolRow = Static<typeof ChangedTool>;

export const ShownServer = Resource("ShownServer", {
  account: Type.String({ description: "The owner's name." }),
  ...McpServer.properties,
  connection,
  tools: Type.Array(ChangedTool, { description: "In the order of their names." }),
});

export function createToolAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { database, settings, clock } = deps;
  const tools = createToolQueries(database);
  const disk = openDisk(deps);
  const requireServer = (typed: string) => requireById("server", typed, tools.findServer);
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
    listServers: (owner: string | null): Promise<ListedServerRow[]> =>
      directory.list(owner, tools.listServers),
    /** A tool of an MCP server, with what changed since it was accepted. */
    showChanges: (name: string, owner: string): Promise<ChangedToolRow> =>
      apply(name, owner, (id) => tools.findListed(id, name)),
    async showServer(typed: string) {
      const row = await directory.addName(await requireServer(typed));
      const { account } = row;
      const own = await tools.listServerTools(row);
      return { ...row, tools: own.map((tool) => ({ account, ...tool })) };
    },
    /** The server reads it at once, or the next one that starts. */
    async refresh(typed: string): Promise<void> {
      const { id } = await requireServer(typed);
      await tools.makeServerDue(id, clock.now());
    },
    setRisk: (name: string, owner: string, risk: Risk): Promise<ListedToolRow> =>
      apply(name, owner, (id) => {
        disk.require();
        const storedMax = settings.limits.stored_bytes;
        return tools.setRisk(id, name, risk, { now: clock.now(), storedMax });
      }),
    accept: (name: string, owner: string, revision: number): Promise<ListedToolRow> =>
      apply(name, owner, (id) => tools.accept(id, name, revision)),
    show: (name: string, owner: string) => apply(name, owner, (id) => tools.find(id, name)),
    disable: (name: string, owner: string) => apply(name, owner, (id) => tools.disable(id, name)),
    enable: (name: string, owner: string) =>
      apply(name, owner, (id) => tools.enable(id, name, settings.limits.tools)),
  };
}
