// Families of commands in the order of the help; each family's file is loaded on demand.
import type { Command } from "./command.ts";

export interface Family {
  group: "run" | "people" | "agents" | "events" | "models" | "upkeep";
  name: string;
  summary: string;
  load(): Promise<readonly Command[]>;
}

function defineFamily(
  group: Family["group"],
  name: string,
  summary: string,
  load: () => Promise<{ commands: readonly Command[] }>,
): Family {
  return { group, name, summary, load: async () => (await load()).commands };
}

export const FAMILIES: readonly Family[] = [
  defineFamily(
    "run",
    "dev",
    "Serve a local stub in memory with fixed keys",
    () => import("./dev.ts"),
  ),
  defineFamily("run", "serve", "Serve with the settings file", () => import("./serve.ts")),
  defineFamily("run", "init", "Write a commented wadi.toml", () => import("./setup.ts")),
  defineFamily("run", "check", "Check everything before serving", () => import("./setup.ts")),
  defineFamily(
    "people",
    "accounts",
    "Create, hold and release accounts; grant models",
    () => import("./accounts.ts"),
  ),
  defineFamily("people", "keys", "Create, rotate and revoke API keys", () => import("./keys.ts")),
  defineFamily("agents", "agents", "List, hold and release agents", () => import("./agents.ts")),
  defineFamily("agents", "runs", "List, show and follow runs", () => import("./runs.ts")),
  defineFamily(
    "agents",
    "approvals",
    "Approve or reject calls that wait for a person",
    () => import("./approvals.ts"),
  ),
  defineFamily(
    "agents",
    "tools",
    "Show, disable and enable registered tools",
    () => import("./tools.ts"),
  ),
  defineFamily(
    "agents",
    "connections",
    "Manage credentials of tools",
    () => import("./connections.ts"),
  ),
  defineFamily(
    "events",
    "triggers",
    "Show, pause and resume triggers",
    () => import("./triggers.ts"),
  ),
  defineFamily(
    "events",
    "webhooks",
    "Show endpoints; send deliveries again",
    () => import("./webhooks.ts"),
  ),
  defineFamily(
    "events",
    "listen",
    "Receive, verify and print webhooks on this machine",
    () => import("./listen.ts"),
  ),
  defineFamily(
    "models",
    "models",
    "List, switch, block and probe models",
    () => import("./models.ts"),
  ),
  defineFamily("upkeep", "usage", "Sum requests, tokens and cost", () => import("./upkeep.ts")),
  defineFamily("upkeep", "secrets", "Rotate the secrets key", () => import("./upkeep.ts")),
  defineFamily("upkeep", "sweep", "Delete old rows", () => import("./upkeep.ts")),
  defineFamily("upkeep", "openapi", "Print the OpenAPI document", () => import("./about.ts")),
  defineFamily("upkeep", "version", "Print the version", () => import("./about.ts")),
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
