// Checks which models a key may call, by the settings and the database, without any server.
import type { Caller } from "../../access/index.ts";
import type { Database } from "../../database/index.ts";
import { createPermissions } from "../../models/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { listAliases, type ModelSettings, type Settings } from "../../settings/index.ts";
import { modelAccessError } from "./authorize.ts";

export interface ModelCheck {
  find(name: string): ModelSettings | undefined;
  authorize(id: string, caller: Caller): Promise<{ refusal: ApiError } | object>;
}

/** A stopped model passes, since it may be back before it is called. */
export function createModelCheck(database: Database, { models, service }: Settings): ModelCheck {
  const permissionOf = createPermissions(database);
  const find = (name: string) => {
    const id = listAliases(service.alias).includes(name) ? service.default_model : name;
    return models.find((model) => model.id === id);
  };
  return {
    find,
    async authorize(id, caller) {
      const model = find(id);
      const permission = model ? await permissionOf(model, caller) : "hidden";
      const error = modelAccessError(permission, "id");
      if (!error) return {};
      const code = error.code === "scope_required" ? "model_not_permitted" : error.code;
      return { refusal: apiError(code, { param: "model" }) };
    },
  };
}
