// Models of the settings: list, switch, block.
import { type Static, Type } from "@sinclair/typebox";
import {
  type ManagedServerStatus,
  type ManagedServerStatuses,
  type ModelState,
  type ModelStatus,
  type ModelSwitch,
  type Switches,
  stateOf,
} from "../models/index.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import {
  listAliases,
  type ModelSettings,
  type ServiceName,
  type Settings,
} from "../settings/index.ts";
import { AdminError, refuseUnknownModel } from "./errors.ts";

export const ListedModel = Resource("ListedModel", {
  id: Type.String({ description: "What callers send as `model`." }),
  is_default: Type.Boolean({ description: "It answers where no model is named." }),
  state: Type.Unsafe<ModelState>({ type: "string", description: "on, off or blocked." }),
  is_off: Type.Boolean({ description: "It was switched off, blocked or not." }),
  is_blocked: Type.Boolean({ description: "It was blocked, off or not." }),
  provider: Type.String({ description: "The party that runs it." }),
  self_hosted: Type.Boolean({ description: "Its weights are the operator's to control." }),
  visibility: Type.String({ description: "public, private or internal." }),
  context_window: maybe(Type.Integer({ description: "Tokens of messages and reply together." })),
  max_output_tokens: Type.Integer({ description: "The longest reply." }),
  capabilities: Type.Array(Type.String({ description: "One of them." }), {
    description: "What it supports.",
  }),
  upstream: Type.String({ description: "The kind of server that answers." }),
  unit: Type.Unsafe<ManagedServerStatus["unit"]>({
    type: "string",
    description:
      "The server started for it: none, unknown (no server has looked yet), asleep, starting, " +
      "up, stopping, stopped or failed, as a server last saw it.",
  }),
  start_ms: maybe(Type.Integer({ description: "How long its starts usually take." })),
  first_seen_at: maybe(Timestamp("When a server first had it in its settings; null: not yet.")),
});
export type ListedModel = Static<typeof ListedModel>;

export interface ModelAdminOptions {
  settings: Pick<Settings, "models" | "service">;
  switches: Switches;
  units: ManagedServerStatuses;
}

export function createModelAdmin({ settings, switches, units }: ModelAdminOptions) {
  const { models, service } = settings;
  const showModel = (
    model: ModelSettings,
    standing: ModelStatus | undefined,
    unit: ManagedServerStatus,
  ): ListedModel => {
    const { is_off = false, is_blocked = false, first_seen_at = null } = standing ?? {};
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
      ...unit,
      first_seen_at,
    };
  };
  return {
    /** In the order of the settings. */
    async list(): Promise<ListedModel[]> {
      const standings = new Map((await switches.list()).map((one) => [one.id, one]));
      const standUnit = await units.read();
      return models.map((model) => showModel(model, standings.get(model.id), standUnit(model)));
    },
    /** Idempotent; returns the changed model. */
    async turn(id: string, turn: ModelSwitch): Promise<ListedModel> {
      const model = models.find((one) => one.id === id);
      if (model) {
        const standing = await switches.turn(id, turn);
        return showModel(model, standing, (await units.read())(model));
      }
      // An alias may come to mean another model.
      if (listAliases(service.alias).includes(id)) {
        throw new AdminError(`"${id}" is the alias of ${service.default_model}: name that`);
      }
      throw refuseUnknownModel(
        id,
        models.map((one) => one.id),
      );
    },
  };
}

/**
 * Services that the stub answers beside real models. Its vectors and pages are made up: stored
 * beside real ones they are found out late. A folder of one's own pages counts as real.
 */
export function listStandIns({ models, embeddings, search }: Settings): ServiceName[] {
  if (models.every(({ upstream }) => upstream.kind === "stub")) return [];
  return [
    ...(embeddings.kind === "stub" ? ["embeddings" as const] : []),
    ...(search.kind === "stub" && search.folder === "" ? ["search" as const] : []),
  ];
}
