// GET /v1/models: the models that the calling key may call.
import type { Router } from "../http/index.ts";
import { show } from "../platform/schema.ts";
import { ModelList } from "./model.ts";
import type { ModelRegistry } from "./registry.ts";

/** gateway.does.2, gateway.endpoints.get_models, gateway.endpoints.models.p1 */
export function openModelRoutes(router: Router, registry: ModelRegistry): void {
  router.get(
    "/v1/models",
    {
      summary: "List the models the key may call",
      description: "Counts against the account's rate limit like any other route.",
      replies: { 200: { description: "The models, the default one first.", schema: ModelList } },
      refusals: [],
    },
    async ({ caller }) => [
      200,
      show(ModelList, { object: "list", data: await registry.list(caller) }),
    ],
  );
}
