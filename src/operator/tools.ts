// Tools that accounts have registered, as the operator sees and switches them.
import { type Static, Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import { type ToolBook, ToolRevision } from "../agents/index.ts";
import { Resource } from "../platform/shape.ts";
import { explainRefusal, refuseUnknown } from "./problem.ts";

export const ListedTool = Resource("ListedTool", {
  account: Type.String({ description: "The owner's name." }),
  ...ToolRevision.properties,
});
type ListedToolRow = Static<typeof ListedTool>;

export interface ToolVerbsOptions {
  access: Pick<Access, "accounts">;
  tools: ToolBook;
  /** Enabled tools that an account may have. */
  tools_max: number;
  requireAccount(name: string): Promise<Account>;
}

export function createToolVerbs({ access, tools, tools_max, requireAccount }: ToolVerbsOptions) {
  /** What it makes of a tool of the account; throws where there is none of that name. */
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
    /** By their names; of one account, or of all. */
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
    /** No run calls it any more. */
    disable: (name: string, owner: string) => work(name, owner, (id) => tools.disable(id, name)),
    enable: (name: string, owner: string) =>
      explainRefusal(() => work(name, owner, (id) => tools.enable(id, name, tools_max))),
  };
}
