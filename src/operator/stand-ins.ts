// What is made up beside what is real: a stub that answers for a service in front of real models.
import type { ServiceName, Settings } from "../platform/settings/index.ts";

/**
 * Its vectors lie in no space that a real model knows, and its pages stand nowhere: who stores
 * them beside real ones finds out late. A folder of somebody's own pages is real enough.
 */
export function listStandIns({ models, embeddings, search }: Settings): ServiceName[] {
  if (models.every(({ upstream }) => upstream.kind === "stub")) return [];
  return [
    ...(embeddings.kind === "stub" ? ["embeddings" as const] : []),
    ...(search.kind === "stub" && search.folder === "" ? ["search" as const] : []),
  ];
}
