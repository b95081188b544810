// The tools of one version while a run of it is executed: pinned once, switched off at any time.
import type { VersionRow } from "../definitions/version.ts";
import type { Tool } from "./contract.ts";

export interface Toolset {
  /** undefined: there is no such tool, or it is switched off. */
  find(name: string): Tool | undefined;
  /** Looks again which of them are switched off; left out: none of them ever is. */
  refresh?(): Promise<void>;
}

/** The tools of a version in the revisions that it has pinned. */
export type OpenToolset = (account_id: string, version: VersionRow) => Promise<Toolset>;
