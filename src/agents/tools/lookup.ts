// The tools that a version may name: the account's own first, then those of the platform.
import type { Scope } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import type { ToolPin } from "../definitions/version.ts";
import type { AgentsDeps } from "../deps.ts";
import type { Catalog } from "./catalog.ts";
import { isToolName } from "./http/revision.ts";
import type { toolStore } from "./http/store.ts";

export interface LookupCandidate {
  /** As a version that names it now pins it. */
  pin: ToolPin;
  /** true: it is switched off, or all that are registered are. */
  is_off: boolean;
  /** The scope that its calls need of the run's key; left out: none. */
  scope?: Scope | undefined;
}

/** undefined: there is no tool of that name. */
export type FindTools = (name: string) => LookupCandidate | undefined;

/** Looks names up as they are now, all at once. */
export type LookUpTools = (account_id: string, names: readonly string[]) => Promise<FindTools>;

export interface LookupOptions extends Pick<AgentsDeps, "settings"> {
  tools: Pick<Bound<typeof toolStore>, "listStandings">;
  catalog: Pick<Catalog, "find">;
}

/** What an account has registered keeps its name when a later release has a built-in one of it. */
export function createToolLookup({ tools, catalog, settings }: LookupOptions): LookUpTools {
  return async (account_id, names) => {
    const asked = [...new Set(names)].filter(isToolName);
    const found = asked.length > 0 ? await tools.listStandings(account_id, asked) : [];
    const own = new Map(found.map((one) => [one.name, one]));
    return (name) => {
      const standing = own.get(name);
      if (standing) {
        const { revision, risk, status } = standing;
        const is_off = status === "disabled" || !settings().agents.http_tools;
        return { pin: { name, revision, kind: "http", risk }, is_off };
      }
      const tool = catalog.find(name);
      if (!tool) return undefined;
      const { revision, risk, scope } = tool;
      return { pin: { name, revision, kind: "builtin", risk }, is_off: false, scope };
    };
  };
}
