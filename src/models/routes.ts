// GET /v1/models: the models that the calling key may call, and one of them.
import { Type } from "@sinclair/typebox";
import type { Router } from "../http/index.ts";
import { apiError } from "../platform/errors.ts";
import { show } from "../platform/schema.ts";
import { listAliases } from "../settings/index.ts";
import { Model, ModelList } from "./model.ts";
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
  router.get(
    "/v1/models/:id",
    {
      summary: "Get a model the key may call",
      params: Type.Object({
        id: Type.String({ description: "One of the list, with `/` as `%2F`; or the alias." }),
      }),
      replies: { 200: { description: "The model.", schema: Model } },
      refusals: ["model_not_found"],
    },
    async ({ caller, params }) => {
      const id = listAliases(registry.alias).includes(params.id) ? registry.alias : params.id;
      const model = (await registry.list(caller)).find((one) => one.id === id);
      if (!model) throw apiError("model_not_found", { param: "model" });
      return [200, show(Model, model)];
    },
  );
}
