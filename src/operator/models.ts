// The models of the settings as the operator sees and switches them.
import { type Static, Type } from "@sinclair/typebox";
import {
  type Standing,
  type State,
  type Switches,
  stateOf,
  type Turn,
  type UnitStanding,
  type UnitStandings,
} from "../models/index.ts";
import { listAliases, type ModelSettings, type Settings } from "../platform/settings/index.ts";
import { maybe, Resource, Timestamp } from "../platform/shape.ts";
import { OperatorProblem, refuseUnknownModel } from "./problem.ts";

/** What the settings, the operator's switches and the database say of one model. */
export const ListedModel = Resource("ListedModel", {
  id: Type.String({ description: "What callers send as `model`." }),
  is_default: Type.Boolean({ description: "It answers where no model is named." }),
  state: Type.Unsafe<State>({ type: "string", description: "on, off or blocked." }),
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
  unit: Type.Unsafe<UnitStanding["unit"]>({
    type: "string",
    description:
      "The server started for it: none, unknown (no server has looked yet), asleep, starting, " +
      "up, stopping, stopped or failed, as a server last saw it.",
  }),
  start_ms: maybe(Type.Integer({ description: "How long its starts usually take." })),
  first_seen_at: maybe(Timestamp("When a server first had it in its settings; null: not yet.")),
});
export type ListedModel = Static<typeof ListedModel>;

export interface ModelVerbsOptions {
  settings: Pick<Settings, "models" | "service">;
  switches: Switches;
  units: UnitStandings;
}

export function createModelVerbs({ settings, switches, units }: ModelVerbsOptions) {
  const { models, service } = settings;
  const showModel = (
    model: ModelSettings,
    standing: Standing | undefined,
    unit: UnitStanding,
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
    /** The model as it is afterwards; again: nothing changes. */
    async turn(id: string, turn: Turn): Promise<ListedModel> {
      const model = models.find((one) => one.id === id);
      if (model) {
        const standing = await switches.turn(id, turn);
        return showModel(model, standing, (await units.read())(model));
      }
      // A switch is a model's own: the alias may come to mean another one.
      if (listAliases(service.alias).includes(id)) {
        throw new OperatorProblem(`"${id}" is the alias of ${service.default_model}: name that`);
      }
      throw refuseUnknownModel(
        id,
        models.map((one) => one.id),
      );
    },
  };
}
