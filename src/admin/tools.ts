// Tools that accounts have registered: list, show, disable, enable.
import { type Static, Type } from "@sinclair/typebox";
import { createToolQueries, ToolRevision } from "../agents/index.ts";
import { Resource } from "../platform/schema.ts";
import { type AccountDirectory, walkAccounts } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { explainApiError, unknownName } from "./errors.ts";

export const ListedTool = Resource("ListedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...ToolRevision.properties,
});
type ListedToolRow = Static<typeof ListedTool>;

export function createToolAdmin({ database, settings }: AdminDeps, directory: AccountDirectory) {
  const tools = createToolQueries(database);
  const apply = async (
    name: string,
    owner: string,
    act: (accountId: string) => Promise<ToolRevision | undefined>,
  ): Promise<ListedToolRow> => {
    const account = await directory.require(owner);
    const tool = await explainApiError(() => act(account.id));
    if (tool) return { account: account.name, ...tool };
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
    show: (name: string, owner: string) => apply(name, owner, (id) => tools.find(id, name)),
    disable: (name: string, owner: string) => apply(name, owner, (id) => tools.disable(id, name)),
    enable: (name: string, owner: string) =>
      apply(name, owner, (id) => tools.enable(id, name, settings.limits.tools)),
  };
}
