// Refusals of changes that contradict the present state of an agent.
import { apiError } from "../../platform/errors.ts";

/** agents.errors.slug_taken */
export function slugTaken(slug: string) {
  const message = `An agent of the slug \`${slug}\` exists.`;
  return apiError("slug_taken", { param: "slug", message });
}

export function versionLimitReached(versionsMax: number) {
  const message = `The agent has ${versionsMax} versions, and may have no more.`;
  return apiError("version_limit_reached", { message });
}

export function versionConflict(current: number) {
  const message = `The agent's current version is ${current} by now.`;
  return apiError("version_conflict", { param: "expected_version", message });
}
