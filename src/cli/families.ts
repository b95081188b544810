// Families of commands in the order of the help; each family's file is loaded on demand.
import type { Command } from "./command.ts";

export interface Family {
  group: "run" | "people" | "agents" | "events" | "models" | "upkeep";
  /** First word of its commands. */
  name: string;
  summary: string;
  load(): Promise<readonly Command[]>;
}

const upkeep = async () => (await import("./upkeep.ts")).commands;
const setup = async () => (await import("./setup.ts")).commands;
const about = async () => (await import("./about.ts")).commands;

export const FAMILIES: readonly Family[] = [
  {
    group: "run",
    name: "dev",
    summary: "Serve a local stub in memory with fixed keys",
    load: async () => (await import("./dev.ts")).commands,
  },
  {
    group: "run",
    name: "serve",
    summary: "Serve what wadi.toml says",
    load: async () => (await import("./serve.ts")).commands,
  },
  { group: "run", name: "init", summary: "Write a commented wadi.toml", load: setup },
  { group: "run", name: "check", summary: "Check everything before serving", load: setup },
  {
    group: "people",
    name: "accounts",
    summary: "Create, hold and release accounts; grant models",
    load: async () => (await import("./accounts.ts")).commands,
  },
  {
    group: "people",
    name: "keys",
    summary: "Create, rotate and revoke API keys",
    load: async () => (await import("./keys.ts")).commands,
  },
  {
    group: "agents",
    name: "agents",
    summary: "List, hold and release agents",
    load: async () => (await import("./agents.ts")).commands,
  },
  {
    group: "agents",
    name: "runs",
    summary: "List, show and follow runs",
    load: async () => (await import("./runs.ts")).commands,
  },
  {
    group: "agents",
    name: "approvals",
    summary: "Approve or reject calls that wait for a person",
    load: async () => (await import("./approvals.ts")).commands,
  },
  {
    group: "agents",
    name: "tools",
    summary: "Show, disable and enable registered tools",
    load: async () => (await import("./tools.ts")).commands,
  },
  {
    group: "agents",
    name: "connections",
    summary: "Manage credentials of tools",
    load: async () => (await import("./connections.ts")).commands,
  },
  {
    group: "events",
    name: "triggers",
    summary: "Show, pause and resume triggers",
    load: async () => (await import("./triggers.ts")).commands,
  },
  {
    group: "events",
    name: "webhooks",
    summary: "Show endpoints; send deliveries again",
    load: async () => (await import("./webhooks.ts")).commands,
  },
  {
    group: "events",
    name: "listen",
    summary: "Receive, verify and print webhooks on this machine",
    load: async () => (await import("./listen.ts")).commands,
  },
  {
    group: "models",
    name: "models",
    summary: "List, switch, block and probe models",
    load: async () => (await import("./models.ts")).commands,
  },
  { group: "upkeep", name: "usage", summary: "Sum up requests, tokens and cost", load: upkeep },
  { group: "upkeep", name: "secrets", summary: "Rotate the secrets key", load: upkeep },
  { group: "upkeep", name: "sweep", summary: "Delete old rows", load: upkeep },
  { group: "upkeep", name: "openapi", summary: "Print the OpenAPI document", load: about },
  { group: "upkeep", name: "version", summary: "Print the version", load: about },
];

export function findFamily(name: string): Family | undefined {
  return FAMILIES.find((family) => family.name === name);
}

/** A file may hold several families. */
export async function loadCommands({ name, load }: Family): Promise<readonly Command[]> {
  return (await load()).filter((command) => command.name.split(" ")[0] === name);
}

export async function loadAllCommands(): Promise<readonly Command[]> {
  return (await Promise.all(FAMILIES.map(loadCommands))).flat();
}
