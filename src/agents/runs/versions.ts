// Versions in use: they never change, so that they are read once.
import type { VersionRow } from "../definitions/version.ts";
import type { RunStore } from "./journal.ts";
import type { RunRow } from "./run.ts";

const VERSIONS_MAX = 1_000;

export function createVersions(store: Pick<RunStore, "findVersion">) {
  const known = new Map<string, VersionRow>();
  return async ({ agent_id, version }: Pick<RunRow, "agent_id" | "version">) => {
    const name = `${agent_id} ${version}`;
    const kept = known.get(name);
    if (kept) return kept;
    const found = await store.findVersion(agent_id, version);
    if (!found) throw new Error("the version of a run is missing");
    if (known.size >= VERSIONS_MAX) known.clear();
    known.set(name, found);
    return found;
  };
}
