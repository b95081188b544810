// Models of the settings: list, switch, block.
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import {
  createManagedServerStatuses,
  createSwitches,
  type ManagedServerStatus,
  MODEL_STATES,
  type ModelStatus,
  type ModelSwitch,
  stateOf,
} from "../models/index.ts";
import { oneOf } from "../platform/schema.ts";
import {
  listAliases,
  type ModelSettings,
  type ServiceName,
  type Settings,
} from "../settings/index.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, unknownModel } from "./errors.ts";

export const ListedModel = Type.Object({
  id: Type.String({ description: "Id that callers send." }),
  is_default: Type.Boolean({ description: "Answers requests that name no model." }),
  state: oneOf(MODEL_STATES, "State of its switches."),
  is_off: Type.Boolean({ description: "Switched off: listed as offline." }),
  is_blocked: Type.Boolean({ description: "Blocked: not listed." }),
  provider: Type.String({ description: "Provider, as callers see it." }),
  self_hosted: Type.Boolean({ description: "Runs on the operator's own servers." }),
  visibility: Type.String({ description: "`public`, `private` or `internal`." }),
  context_window: known(Type.Integer(), "Tokens; null: unknown."),
  max_output_tokens: known(Type.Integer(), "Maximum tokens of a reply; null: unknown."),
  capabilities: Type.Array(Type.String(), { description: "What the model can do." }),
  upstream: Type.String({ description: "Kind of its servers." }),
  replicas: Type.Integer({ description: "Number of its servers." }),
  healthy_replicas: known(Type.Integer(), "Servers that get requests; null: ask the server."),
  unit: Type.String({ description: "State of the server that is started on demand, or `none`." }),
  start_ms: known(Type.Number(), "Usual time of a start in milliseconds; null: unknown."),
  first_seen_at: known(Type.String(), "When the settings first named it; null: not yet served."),
});
export type ListedModel = Static<typeof ListedModel>;

function known<S extends TSchema>(schema: S, description: string) {
  return Type.Union([schema, Type.Null()], { description });
}

export function createModelAdmin({ settings, database, clock, server }: AdminDeps) {
  const { models, service } = settings;
  const switches = createSwitches(database, clock);
  const units = createManagedServerStatuses(database);
  const countHealthy = (id: string, { unit }: ManagedServerStatus): number | null => {
    const healthy = server?.countHealthy(id) ?? null;
    // Checks of a sleeping server are off, so that its replicas count as healthy.
    return healthy === null || ["none", "up"].includes(unit) ? healthy : 0;
  };
  const showModel = (
    model: ModelSettings,
    status: ModelStatus | undefined,
    unit: ManagedServerStatus,
  ): ListedModel => {
    const { is_off = false, is_blocked = false, first_seen_at: seenAt = null } = status ?? {};
    return {
      id: model.id,
      is_default: model.id === service.default_model,
      state: stateOf({ is_off, is_blocked }),
      is_off,
      is_blocked,
      provider: model.provider,
      self_hosted: model.self_hosted,
      visibility: model.visibility,
      context_window: model.context_window,
      max_output_tokens: model.max_output_tokens,
      capabilities: [...model.capabilities],
      upstream: model.upstream.kind,
      replicas: model.upstream.kind === "stub" ? 1 : model.upstream.urls.length,
      healthy_replicas: countHealthy(model.id, unit),
      ...unit,
      first_seen_at: seenAt === null ? null : new Date(seenAt).toISOString(),
    };
  };
  return {
    async list() {
      const statuses = new Map((await switches.list()).map((one) => [one.id, one]));
      const unitOf = await units.read();
      return models.map((model) => showModel(model, statuses.get(model.id), unitOf(model)));
    },
    async turn(id: string, turn: ModelSwitch) {
      const model = models.find((one) => one.id === id);
      if (model)
        return showModel(model, await switches.turn(id, turn), (await units.read())(model));
      // An alias may come to mean another model.
      if (listAliases(service.alias).includes(id)) {
        throw new AdminError(`"${id}" is the alias of ${service.default_model}: name that`);
      }
      const ids = models.map((one) => one.id);
      throw unknownModel(id, ids);
    },
  };
}

/**
 * Lists services that the stub answers beside real models. Callers may store its made-up vectors
 * unnoticed. The operator's own folder of pages counts as real.
 */
export function listStandIns({ models, embeddings, search }: Settings): ServiceName[] {
  if (models.every(({ upstream }) => upstream.kind === "stub")) return [];
  return [
    ...(embeddings.kind === "stub" ? ["embeddings" as const] : []),
    ...(search.kind === "stub" && search.folder === "" ? ["search" as const] : []),
  ];
}
