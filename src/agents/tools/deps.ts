// What the routes of tools share: the catalogue, the store, and tools that are the caller's.
import type { Caller } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import type { AgentsDeps } from "../deps.ts";
import type { Catalog } from "./catalog.ts";
import { isToolName, type ToolRevisionRow } from "./http/revision.ts";
import type { toolStore } from "./http/store.ts";

export interface ToolsDeps extends AgentsDeps {
  catalog: Catalog;
  tools: Bound<typeof toolStore>;
}

/** The caller's own tool in its latest revision; undefined: there is none of that name. */
export async function findOwn(
  { tools }: Pick<ToolsDeps, "tools">,
  name: string,
  { account_id }: Caller,
): Promise<ToolRevisionRow | undefined> {
  return account_id === null || !isToolName(name) ? undefined : tools.find(account_id, name);
}

/**
 * agents.errors.tool_not_found, agents.authentication.6: missing or not the caller's, whatever the
 * name. The tools of the platform are nobody's, and their callers are told so.
 */
export function toolError({ catalog }: Pick<ToolsDeps, "catalog">, name: string): ApiError {
  if (!catalog.find(name)) return apiError("tool_not_found");
  const message = `\`${name}\` is a tool of the platform: it is neither changed nor tested.`;
  return apiError("tool_not_found", { message });
}
