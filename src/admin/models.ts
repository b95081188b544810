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
import { formatMoney } from "../platform/money.ts";
import { oneOf } from "../platform/schema.ts";
import {
  listAliases,
  type ModelSettings,
  type ServiceName,
  type Settings,
} from "../settings/index.ts";
import type { AdminDeps, ModelServers } from "./deps.ts";
import { AdminError, unknownModel } from "./errors.ts";

export const ShownServers = known(
  Type.Array(
    Type.Object({
      name: Type.String({ description: "Host and port, numbered where several are alike." }),
      is_up: Type.Boolean({ description: "It answered the last health checks." }),
      is_passed_over: Type.Boolean({ description: "Others are asked first since it failed." }),
      in_flight: Type.Integer({ description: "Requests that it works on." }),
    }),
  ),
  "Its servers, empty for what is inside; null: ask the server.",
);

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
  unit_changed_at: known(Type.String(), "When that server came into its state; null: unknown."),
  can_stop: known(Type.Boolean(), "The settings say how to stop it; null: ask the server."),
  in_flight_max: known(Type.Integer(), "Requests that each server gets at once; null: no limit."),
  waiting: known(
    Type.Integer(),
    "Requests that wait for a place or a start; null: ask the server.",
  ),
  servers: ShownServers,
  price: known(
    Type.Object({
      prompt: Type.String({ description: "For a million tokens read." }),
      completion: Type.String({ description: "For a million tokens written." }),
    }),
    "Decimal text in `service.currency`; null: unknown.",
  ),
  first_seen_at: known(Type.String(), "When the settings first named it; null: not yet served."),
});
export type ListedModel = Static<typeof ListedModel>;

function known<S extends TSchema>(schema: S, description: string) {
  return Type.Union([schema, Type.Null()], { description });
}

/** Shows models of the settings with what a running server knows of them. */
function createModelView({ settings, server }: AdminDeps) {
  const { service } = settings;
  const countHealthy = (id: string, { unit }: ManagedServerStatus): number | null => {
    const healthy = server?.countHealthy(id) ?? null;
    // Checks of a sleeping server are off, so that its replicas count as healthy.
    return healthy === null || ["none", "up"].includes(unit) ? healthy : 0;
  };
  return (
    model: ModelSettings,
    status: ModelStatus | undefined,
    unit: ManagedServerStatus,
  ): ListedModel => {
    const { is_off = false, is_blocked = false, first_seen_at: seenAt = null } = status ?? {};
    const { upstream, price } = model;
    const servers = server?.findModelServers(model.id);
    const { changed_at, ...state } = unit;
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
      upstream: upstream.kind,
      replicas: upstream.kind === "stub" ? 1 : upstream.urls.length,
      healthy_replicas: countHealthy(model.id, unit),
      ...state,
      unit_changed_at: writeKnown(changed_at),
      can_stop: servers ? (servers.managed?.canStop ?? false) : null,
      in_flight_max: (upstream.kind === "openai" && upstream.max_in_flight) || null,
      waiting: servers?.waiting ?? null,
      servers: servers ? servers.replicas.map(showServer) : null,
      price: price && {
        prompt: formatMoney(price.prompt),
        completion: formatMoney(price.completion),
      },
      first_seen_at: writeKnown(seenAt),
    };
  };
}

export function createModelAdmin(deps: AdminDeps) {
  const { settings, database, clock, server } = deps;
  const { models, service } = settings;
  const switches = createSwitches(database, clock);
  const units = createManagedServerStatuses(database);
  const showModel = createModelView(deps);
  const require = (id: string): ModelSettings => {
    const model = models.find((one) => one.id === id);
    if (model) return model;
    throw unknownModel(
      id,
      models.map((one) => one.id),
    );
  };
  return {
    async list() {
      const statuses = new Map((await switches.list()).map((one) => [one.id, one]));
      const unitOf = await units.read();
      return models.map((model) => showModel(model, statuses.get(model.id), unitOf(model)));
    },
    async turn(id: string, turn: ModelSwitch) {
      // An alias may come to mean another model.
      if (listAliases(service.alias).includes(id) && models.every((one) => one.id !== id)) {
        throw new AdminError(`"${id}" is the alias of ${service.default_model}: name that`);
      }
      const model = require(id);
      return showModel(model, await switches.turn(id, turn), (await units.read())(model));
    },
    /** Starts or stops the server of a model that is started on demand. */
    async command(id: string, verb: ServerCommand): Promise<ListedModel> {
      const model = require(id);
      if (!server) {
        throw new AdminError("only a running server can do that: name it by --server", "conflict");
      }
      const managed = server.findModelServers(id)?.managed;
      if (!managed) throw new AdminError(`the server of ${id} always runs`, "conflict");
      if (verb === "stop" && !managed.canStop) {
        throw new AdminError(`the settings of ${id} name no way to stop it`, "conflict");
      }
      const isBegun = verb === "start" ? managed.startNow() : managed.stopNow();
      const unit = (await units.read())(model);
      if (!isBegun) {
        throw new AdminError(`the server of ${id} is ${unit.unit}: it cannot ${verb}`, "conflict");
      }
      const status = (await switches.list()).find((one) => one.id === id);
      // The state is stored a moment later.
      const state = verb === "start" ? "starting" : "stopping";
      return showModel(model, status, { ...unit, unit: state });
    },
  };
}

export type ServerCommand = "start" | "stop";

const writeKnown = (at: number | null) => (at === null ? null : new Date(at).toISOString());

export function showServer(replica: ModelServers["replicas"][number]) {
  const { name, isUp, isBreakerOpen, inFlight } = replica;
  return { name, is_up: isUp, is_passed_over: isBreakerOpen, in_flight: inFlight };
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
