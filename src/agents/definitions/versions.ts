// Versions in use: they never change, so that they are read once.
import type { Bound } from "../../database/index.ts";
import type { agentStore } from "./store.ts";
import type { VersionRow } from "./version.ts";

/** Behind so many the one that was read first is read again. */
const VERSIONS_MAX = 2_000;

/** undefined: there is no such version. */
export type FindVersion = (agent_id: string, version: number) => Promise<VersionRow | undefined>;

export function createVersions({
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
