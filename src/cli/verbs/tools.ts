// The verbs of tools that accounts have registered, and of the connections that they carry.
import { account, type Verb } from "../verb.ts";

/** A verb of one tool of an account. */
function toolVerb(act: "show" | "disable" | "enable", help: string): Verb {
  return {
    name: `tools ${act}`,
    args: ["NAME"],
    flags: { account },
    help,
    run: async (given, output) => (await import("../tools.ts")).workTool(given, output, act),
  };
}

export const toolsVerbs: readonly Verb[] = [
  {
    name: "tools list",
    args: [],
    flags: { account },
    help: "the tools that accounts have registered",
    run: async (given, output) => (await import("../tools.ts")).listTools(given, output),
  },
  toolVerb("show", "a tool of --account, as its runs call it"),
  toolVerb("disable", "no run calls it any more"),
  toolVerb("enable", "takes `disable` back"),
  {
    name: "connections list",
    args: [],
    flags: { account },
    help: "connections of tools, never their secrets",
    run: async (given, output) =>
      (await import("../connections.ts")).listConnections(given, output),
  },
  {
    name: "connections create",
    args: ["NAME"],
    flags: {
      account,
      kind: { takes: "KIND", help: "bearer, or header with --header (default bearer)" },
      header: { takes: "NAME", help: "that carries the secret" },
      host: { takes: "HOST", multiple: true, help: "it may be sent to; several: several times" },
    },
    help: "of --account, with the secret from stdin",
    run: async (given, output) =>
      (await import("../connections.ts")).createConnection(given, output),
  },
  {
    name: "connections set-secret",
    args: ["ID"],
    flags: {
      host: { takes: "H", multiple: true, help: "it may be sent to now (default as before)" },
    },
    help: "another secret, from stdin",
    run: async (given, output) =>
      (await import("../connections.ts")).setConnectionSecret(given, output),
  },
  {
    name: "connections delete",
    args: ["ID"],
    flags: {},
    help: "it and its secret, unless a tool uses it",
    run: async (given, output) =>
      (await import("../connections.ts")).deleteConnection(given, output),
  },
];
