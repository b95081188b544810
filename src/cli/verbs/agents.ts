// The verbs of agents, their runs, and the approvals that these wait for.
import type { Decision } from "../../operator/index.ts";
import { account, limit, type Verb } from "../verb.ts";

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
      (await import("../approvals.ts")).decideApproval(given, output, decision),
  };
}

export const agentsVerbs: readonly Verb[] = [
  {
    name: "agents list",
    args: [],
    flags: { account },
    help: "every agent, and who is held",
    run: async (given, output) => (await import("../agents.ts")).listAgents(given, output),
  },
  {
    name: "agents hold",
    args: ["AGENT_ID"],
    flags: {
      reason: { takes: "TEXT", help: "that its owner is shown; without it none, also again" },
    },
    help: "it starts no runs for now",
    run: async (given, output) => (await import("../agents.ts")).holdAgent(given, output),
  },
  {
    name: "agents release",
    args: ["AGENT_ID"],
    flags: {},
    help: "takes a hold back: what waits begins",
    run: async (given, output) => (await import("../agents.ts")).releaseAgent(given, output),
  },
  {
    name: "runs list",
    args: [],
    flags: {
      account,
      agent: { takes: "ID", help: "only its runs" },
      status: { takes: "S", help: "only those that are in it, such as failed" },
      limit,
    },
    help: "the newest runs",
    run: async (given, output) => (await import("../runs.ts")).listRuns(given, output),
  },
  {
    name: "runs show",
    args: ["RUN_ID"],
    flags: {},
    help: "a run and what it did",
    run: async (given, output) => (await import("../runs.ts")).showRun(given, output),
  },
  {
    name: "runs follow",
    args: ["RUN_ID"],
    flags: { json: { help: "a JSON document a line: each step, and at the end the run" } },
    help: "what it does, live until it ends",
    run: async (given, output) => (await import("../runs.ts")).followRun(given, output),
  },
  {
    name: "approvals list",
    args: [],
    flags: {
      account,
      status: { takes: "S", help: "only those that are in it, such as pending" },
      limit,
    },
    help: "the newest calls that a person was asked for",
    run: async (given, output) => (await import("../approvals.ts")).listApprovals(given, output),
  },
  {
    name: "approvals show",
    args: ["ID"],
    flags: {},
    help: "all that is needed to decide",
    run: async (given, output) => (await import("../approvals.ts")).showApproval(given, output),
  },
  decide("approve", "approved", "lets a call be made, with what was shown"),
  decide("reject", "rejected", "a call is not made, and the run goes on"),
];
