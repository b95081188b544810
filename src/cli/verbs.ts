// Every verb there is, in the order of the help; what a verb does is loaded when it runs.
import type { Decision, Turn } from "../operator/index.ts";
import type { Verb } from "./verb.ts";

const port = { takes: "N", help: "to listen on (default 8080; 0 picks a free one)" };
const allow = {
  takes: "HOST:PORT",
  multiple: true,
  help: "that agents may call though it is not public; several: several times",
} as const;
const account = { takes: "NAME", help: "of the owner" };

/** A verb that turns one of a model's two switches. */
function turn(to: Turn, help: string): Verb {
  return {
    name: `models ${to}`,
    args: ["ID"],
    flags: {},
    help,
    run: async (given, output) => (await import("./models.ts")).turnModel(given, output, to),
  };
}

/** One of the two ways in which a person decides. */
function decide(name: string, decision: Decision, help: string): Verb {
  return {
    name: `approvals ${name}`,
    args: ["ID"],
    flags: {
      reason: { takes: "TEXT", help: "that is kept with it; of a rejection for the model" },
    },
    help,
    run: async (given, output) =>
      (await import("./approvals.ts")).decideApproval(given, output, decision),
  };
}

/** A verb of one tool of an account. */
function toolVerb(act: "show" | "disable" | "enable", help: string): Verb {
  return {
    name: `tools ${act}`,
    args: ["NAME"],
    flags: { account },
    help,
    run: async (given, output) => (await import("./tools.ts")).workTool(given, output, act),
  };
}

export const VERBS: readonly Verb[] = [
  {
    name: "dev",
    args: [],
    flags: {
      port,
      key: { takes: "TEXT", help: "of the first key (default svc_sk_dev)" },
      record: { takes: "FILE", help: "that is made and keeps what the model servers answer" },
      replay: { takes: "FILE", help: "of --record, whose answers stand in for the servers'" },
      "allow-egress": allow,
      now: { takes: "DATE", help: "that the program takes for today, such as 2027-01-05" },
    },
    help: "a local stub, in memory and with fixed keys",
    run: async (given, output) => (await import("./dev.ts")).runDev(given, output),
  },
  {
    name: "serve",
    args: [],
    flags: {
      host: { takes: "H", help: "to listen on (default 127.0.0.1)" },
      port,
      "allow-egress": allow,
    },
    help: "serves what wadi.toml says",
    run: async (given, output) => (await import("./serve.ts")).runServe(given, output),
  },
  {
    name: "init",
    args: ["[FILE]"],
    flags: {},
    help: "a commented wadi.toml; never over another",
    run: async (given, output) => (await import("./init.ts")).initSettings(given, output),
  },
  {
    name: "check",
    args: [],
    flags: {},
    help: "looks whether all of it would serve",
    run: async (given, output) => (await import("./check.ts")).runCheck(given, output),
  },
  {
    name: "accounts create",
    args: ["NAME"],
    flags: {},
    help: "a new account, the owner of keys and agents",
    run: async (given, output) => (await import("./accounts.ts")).createAccount(given, output),
  },
  {
    name: "accounts list",
    args: [],
    flags: {},
    help: "every account, and who is held",
    run: async (given, output) => (await import("./accounts.ts")).listAccounts(given, output),
  },
  {
    name: "accounts grant",
    args: ["NAME", "MODEL"],
    flags: {},
    help: "lets it call an external or private model",
    run: async (given, output) => (await import("./accounts.ts")).grantModel(given, output),
  },
  {
    name: "accounts ungrant",
    args: ["NAME", "MODEL"],
    flags: {},
    help: "takes a grant back",
    run: async (given, output) => (await import("./accounts.ts")).ungrantModel(given, output),
  },
  {
    name: "accounts hold",
    args: ["NAME"],
    flags: {
      reason: { takes: "TEXT", help: "that its owner is shown; without it none, also again" },
    },
    help: "its agents start no runs for now",
    run: async (given, output) => (await import("./accounts.ts")).holdAccount(given, output),
  },
  {
    name: "accounts release",
    args: ["NAME"],
    flags: {},
    help: "takes a hold back: what waits begins",
    run: async (given, output) => (await import("./accounts.ts")).releaseAccount(given, output),
  },
  {
    name: "keys create",
    args: [],
    flags: {
      account,
      "no-account": { help: "a key without an owner, which starts no runs" },
      internal: { help: "a platform-internal key, which may not call the API" },
      name: { takes: "TEXT", help: "for people" },
      scope: { takes: "S", multiple: true, help: "that it may use; several: several times" },
      model: { takes: "ID", multiple: true, help: "that it may call; several: several times" },
      "max-output-tokens": { takes: "N", help: "of a reply at most" },
      expires: { takes: "90d", help: "or 12h …: when it ends (default never)" },
    },
    help: "prints a new key, once",
    run: async (given, output) => (await import("./keys.ts")).createKey(given, output),
  },
  {
    name: "keys list",
    args: [],
    flags: { account },
    help: "keys, never their secrets",
    run: async (given, output) => (await import("./keys.ts")).listKeys(given, output),
  },
  {
    name: "keys revoke",
    args: ["KEY_ID"],
    flags: {},
    help: "refused from its next request on",
    run: async (given, output) => (await import("./keys.ts")).revokeKey(given, output),
  },
  {
    name: "keys rotate",
    args: ["KEY_ID"],
    flags: {
      overlap: { takes: "24h", help: "or 0s …: how long the old secret works (default 24h)" },
    },
    help: "prints a new secret of the same key, once",
    run: async (given, output) => (await import("./keys.ts")).rotateKey(given, output),
  },
  {
    name: "agents list",
    args: [],
    flags: { account },
    help: "every agent, and who is held",
    run: async (given, output) => (await import("./agents.ts")).listAgents(given, output),
  },
  {
    name: "agents hold",
    args: ["AGENT_ID"],
    flags: {
      reason: { takes: "TEXT", help: "that its owner is shown; without it none, also again" },
    },
    help: "it starts no runs for now",
    run: async (given, output) => (await import("./agents.ts")).holdAgent(given, output),
  },
  {
    name: "agents release",
    args: ["AGENT_ID"],
    flags: {},
    help: "takes a hold back: what waits begins",
    run: async (given, output) => (await import("./agents.ts")).releaseAgent(given, output),
  },
  {
    name: "runs list",
    args: [],
    flags: {
      account,
      agent: { takes: "ID", help: "only its runs" },
      status: { takes: "S", help: "only those that are in it, such as failed" },
      limit: { takes: "N", help: "at most so many (default 20)" },
    },
    help: "the newest runs",
    run: async (given, output) => (await import("./runs.ts")).listRuns(given, output),
  },
  {
    name: "runs show",
    args: ["RUN_ID"],
    flags: {},
    help: "a run and what it did",
    run: async (given, output) => (await import("./runs.ts")).showRun(given, output),
  },
  {
    name: "runs follow",
    args: ["RUN_ID"],
    flags: { json: { help: "a JSON document a line: each step, and at the end the run" } },
    help: "what it does, live until it ends",
    run: async (given, output) => (await import("./runs.ts")).followRun(given, output),
  },
  {
    name: "approvals list",
    args: [],
    flags: {
      account,
      status: { takes: "S", help: "only those that are in it, such as pending" },
      limit: { takes: "N", help: "at most so many (default 20)" },
    },
    help: "the newest calls that a person was asked for",
    run: async (given, output) => (await import("./approvals.ts")).listApprovals(given, output),
  },
  {
    name: "approvals show",
    args: ["ID"],
    flags: {},
    help: "all that is needed to decide",
    run: async (given, output) => (await import("./approvals.ts")).showApproval(given, output),
  },
  decide("approve", "approved", "lets a call be made, with what was shown"),
  decide("reject", "rejected", "a call is not made, and the run goes on"),
  {
    name: "tools list",
    args: [],
    flags: { account },
    help: "the tools that accounts have registered",
    run: async (given, output) => (await import("./tools.ts")).listTools(given, output),
  },
  toolVerb("show", "a tool of --account, as its runs call it"),
  toolVerb("disable", "no run calls it any more"),
  toolVerb("enable", "takes `disable` back"),
  {
    name: "connections list",
    args: [],
    flags: { account },
    help: "connections of tools, never their secrets",
    run: async (given, output) => (await import("./connections.ts")).listConnections(given, output),
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
      (await import("./connections.ts")).createConnection(given, output),
  },
  {
    name: "connections set-secret",
    args: ["ID"],
    flags: {
      host: { takes: "H", multiple: true, help: "it may be sent to now (default as before)" },
    },
    help: "another secret, from stdin",
    run: async (given, output) =>
      (await import("./connections.ts")).setConnectionSecret(given, output),
  },
  {
    name: "connections delete",
    args: ["ID"],
    flags: {},
    help: "it and its secret, unless a tool uses it",
    run: async (given, output) =>
      (await import("./connections.ts")).deleteConnection(given, output),
  },
  {
    name: "models list",
    args: [],
    flags: {},
    help: "the models of the settings, and their state",
    run: async (given, output) => (await import("./models.ts")).listModels(given, output),
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
    run: async (given, output) => (await import("./probe.ts")).probeModelServer(given, output),
  },
  turn("off", "listed as offline; calls: 503 model_offline"),
  turn("on", "takes `off` back"),
  turn("block", "not listed; calls: 503 model_unavailable"),
  turn("unblock", "takes `block` back"),
  {
    name: "secrets rotate",
    args: [],
    flags: {
      "give-up": { help: "deletes what no key at hand opens, so that it can be set again" },
    },
    help: "a new secrets key, for all that is stored",
    run: async (given, output) => (await import("./secrets.ts")).rotateSecrets(given, output),
  },
  {
    name: "usage",
    args: [],
    flags: {
      by: { takes: "WHAT", help: "day, account, key, model or route (default day)" },
      from: { takes: "DATE", help: "the first day, in UTC (default 30 days with the last one)" },
      to: { takes: "DATE", help: "the last day (default today)" },
    },
    help: "what was used, by account, model, route …",
    run: async (given, output) => (await import("./usage.ts")).showUsage(given, output),
  },
  {
    name: "openapi",
    args: [],
    flags: {},
    help: "the OpenAPI 3.1.0 document",
    run: async (given, output) => (await import("./openapi.ts")).writeOpenapi(given, output),
  },
  {
    name: "version",
    args: [],
    flags: {},
    help: "version, commit, Bun and SQLite versions",
    run: async (given, output) => (await import("./version.ts")).showVersion(given, output),
  },
];
