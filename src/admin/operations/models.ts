// Operations on models of the settings, and probes of model servers.
import { Type } from "@sinclair/typebox";
import type { ModelSwitch } from "../../models/index.ts";
import type { Admin } from "../admin.ts";
import { ModelTraffic } from "../model-traffic.ts";
import { ListedModel, type ServerCommand } from "../models.ts";
import { defineOperation, type Operation } from "../operation.ts";
import { ProbedServer, probeModel } from "../probe.ts";
import { ListedService } from "../services.ts";
import { input, maybeText, NO_INPUT, text } from "./fields.ts";

const NamedModel = input({ id: text("Id of the model.") });
type SwitchOperation = Operation<typeof NamedModel, ListedModel>;

const audit = {
  target: (asked: { id: string }) => asked.id,
  read: async ({ models }: Admin, id: string) => (await models.list()).find((one) => one.id === id),
};

/** An operation on one model, whose name is its verb. */
function act(
  verb: ModelSwitch | ServerCommand,
  summary: string,
  run: (models: Admin["models"], id: string) => Promise<ListedModel>,
): SwitchOperation {
  return {
    name: `models ${verb}`,
    method: "POST",
    path: `/models/:id/${verb}`,
    summary,
    input: NamedModel,
    reply: ListedModel,
    audit,
    run: ({ models }, { id }) => run(models, id),
  };
}

const turn = (verb: ModelSwitch, summary: string) =>
  act(verb, summary, (models, id) => models.turn(id, verb));
const command = (verb: ServerCommand, summary: string) =>
  act(verb, summary, (models, id) => models.command(id, verb));

export const modelOperations = {
  list: defineOperation({
    name: "models list",
    method: "GET",
    path: "/models",
    summary: "List the models of the settings and their state.",
    input: NO_INPUT,
    reply: Type.Array(ListedModel),
    run: ({ models }) => models.list(),
  }),
  probe: defineOperation({
    name: "models probe",
    method: "POST",
    path: "/models/probe",
    summary: "Ask a model server what it serves; the reply holds its settings block.",
    input: input({
      url: text("Address of the model server."),
      model: maybeText("Model of the server; the first without it."),
      id: maybeText("Id that callers send; from the model's name without it."),
      api_key_env: maybeText("Environment variable that the block names for the server's key."),
      api_key: maybeText("Key of the model server, which is not stored."),
    }),
    reply: ProbedServer,
    run: ({ clock }, asked) => probeModel(asked, clock),
  }),
  traffic: defineOperation({
    name: "models traffic",
    method: "GET",
    path: "/traffic",
    summary: "Show first tokens and tokens a second of models and their servers.",
    input: NO_INPUT,
    reply: Type.Array(ModelTraffic),
    run: ({ readTraffic }) => readTraffic(),
  }),
  services: defineOperation({
    name: "models services",
    method: "GET",
    path: "/services",
    summary: "List embeddings and search: their state, load and recent times.",
    input: NO_INPUT,
    reply: Type.Array(ListedService),
    run: ({ listServices }) => listServices(),
  }),
  start: command("start", "Start the server of a model that is started on demand."),
  stop: command("stop", "Stop that server; its next request starts it again."),
  off: turn("off", "Switch a model off: listed as offline, calls get 503."),
  on: turn("on", "Switch a model on again."),
  block: turn("block", "Block a model: not listed, calls get 503."),
  unblock: turn("unblock", "Unblock a model."),
};
