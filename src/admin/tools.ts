// Tools that accounts have registered: list, show, disable, enable.
import { type Static, Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import { type ToolQueries, ToolRevision } from "../agents/index.ts";
import { Resource } from "../platform/schema.ts";
import { explainRefusal, refuseUnknown } from "./errors.ts";

export const ListedTool = Resource("ListedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...ToolRevision.properties,
});
type ListedToolRow = Static<typeof ListedTool>;

export interface ToolAdminOptions {
  access: Pick<Access, "accounts">;
  tools: ToolQueries;
  /** Maximum enabled tools of an account. */
  tools_max: number;
  requireAccount(name: string): Promise<Account>;
}

export function createToolAdmin({ access, tools, tools_max, requireAccount }: ToolAdminOptions) {
  const work = async (
    name: string,
    owner: string,
    act: (account_id: string) => Promise<ToolRevision | undefined>,
  ): Promise<ListedToolRow> => {
    const account = await requireAccount(owner);
    const done = await act(account.id);
    if (done) return { account: account.name, ...done };
    const names = (await tools.list(account.id)).map((tool) => tool.name);
    throw refuseUnknown("tool", name, names, "see `wadi tools list`");
  };
  return {
    /** Sorted by name. */
    async list(owner: string | null): Promise<ListedToolRow[]> {
      const accounts =
        owner === null ? await access.accounts.list() : [await requireAccount(owner)];
      const found: ListedToolRow[] = [];
      for (const { id, name } of accounts) {
        found.push(...(await tools.list(id)).map((tool) => ({ account: name, ...tool })));
      }
      return found;
    },
    show: (name: string, owner: string) => work(name, owner, (id) => tools.find(id, name)),
    disable: (name: string, owner: string) => work(name, owner, (id) => tools.disable(id, name)),
    enable: (name: string, owner: string) =>
      explainRefusal(() => work(name, owner, (id) => tools.enable(id, name, tools_max))),
  };
}
