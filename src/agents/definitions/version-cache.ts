// Keeps versions in memory, since they never change.
import type { Bound } from "../../database/index.ts";
import type { agentStore } from "./store.ts";
import type { VersionRow } from "./version.ts";

/** Maximum cached versions; the oldest entry is evicted. */
const VERSIONS_MAX = 2_000;

export type FindVersion = (agent_id: string, version: number) => Promise<VersionRow | undefined>;

export function createVersionCache({
  findVersion,
}: Pick<Bound<typeof agentStore>, "findVersion">): FindVersion {
  const kept = new Map<string, VersionRow>();
  return async (agent_id, version) => {
    const name = `${agent_id} ${version}`;
    const known = kept.get(name);
    if (known) return known;
    const found = await findVersion(agent_id, version);
    if (!found) return undefined;
    for (const oldest of kept.keys()) {
      if (kept.size < VERSIONS_MAX) break;
      kept.delete(oldest);
    }
    kept.set(name, found);
    return found;
  };
}
