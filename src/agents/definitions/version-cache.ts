// Keeps versions in memory, since they never change.
import type { Bound } from "../../database/index.ts";
import { SizeCache } from "../../platform/size-cache.ts";
import type { agentStore } from "./store.ts";
import type { VersionRow } from "./version.ts";

/** Maximum cached versions; the least recently used are evicted. */
const VERSIONS_MAX = 2_000;

export type FindVersion = (agent_id: string, version: number) => Promise<VersionRow | undefined>;

export function createVersionCache({
  findVersion,
}: Pick<Bound<typeof agentStore>, "findVersion">): FindVersion {
  const kept = new SizeCache<VersionRow>(VERSIONS_MAX);
  return async (agent_id, version) => {
    const name = `${agent_id} ${version}`;
    const known = kept.get(name);
    if (known) return known;
    const found = await findVersion(agent_id, version);
    if (found) kept.set(name, found, 1);
    return found;
  };
}
