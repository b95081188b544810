// The verbs of models and of their servers.
import type { Turn } from "../../operator/index.ts";
import type { Verb } from "../verb.ts";

/** A verb that turns one of a model's two switches. */
function turn(to: Turn, help: string): Verb {
  return {
    name: `models ${to}`,
    args: ["ID"],
    flags: {},
    help,
    run: async (given, output) => (await import("../models.ts")).turnModel(given, output, to),
  };
}

export const modelsVerbs: readonly Verb[] = [
  {
    name: "models list",
    args: [],
    flags: {},
    help: "the models of the settings, and their state",
    run: async (given, output) => (await import("../models.ts")).listModels(given, output),
  },
  {
    name: "models probe",
    args: ["URL"],
    flags: {
      write: { help: "adds its block to the settings file" },
      model: { takes: "NAME", help: "of its models (default the first)" },
      id: { takes: "ID", help: "that callers will send (default made from its name)" },
      "api-key-env": { takes: "NAME", help: "of the environment variable with its key" },
    },
    help: "what a model server is, as settings",
    run: async (given, output) => (await import("../probe.ts")).probeModelServer(given, output),
  },
  turn("off", "listed as offline; calls: 503 model_offline"),
  turn("on", "takes `off` back"),
  turn("block", "not listed; calls: 503 model_unavailable"),
  turn("unblock", "takes `block` back"),
];
