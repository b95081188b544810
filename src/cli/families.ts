// Families of commands in the order of the help; each family's file is loaded on demand.
import type { Command } from "./command.ts";

interface LoadedFamily {
  commands: readonly Command[];
}

/** Rows by group and name: the summary, and what loads the family's file. */
const GROUPS = {
  run: {
    dev: ["Serve a stub or the settings; change the version", () => import("./dev.ts")],
    serve: ["Serve a stub or the settings; change the version", () => import("./serve.ts")],
    upgrade: ["Serve a stub or the settings; change the version", () => import("./upgrade.ts")],
    processes: ["Drain processes; reload their settings", () => import("./processes.ts")],
    reload: ["Drain processes; reload their settings", () => import("./processes.ts")],
    init: ["Write settings; check all; keep a server's token", () => import("./setup.ts")],
    check: ["Write settings; check all; keep a server's token", () => import("./setup.ts")],
    login: ["Write settings; check all; keep a server's token", () => import("./login.ts")],
  },
  people: {
    accounts: ["Create, limit, hold accounts, keys; grant models", () => import("./accounts.ts")],
    keys: ["Create, limit, hold accounts, keys; grant models", () => import("./keys.ts")],
    operators: ["Name operators; list what they changed", () => import("./operators.ts")],
    audit: ["Name operators; list what they changed", () => import("./operators.ts")],
    console: ["Print a link that signs in to the console", () => import("./console.ts")],
  },
  agents: {
    agents: ["List, hold and release agents", () => import("./agents.ts")],
    runs: ["List, show, follow, start and cancel runs", () => import("./runs.ts")],
    approvals: ["Approve or reject calls that wait for a person", () => import("./approvals.ts")],
    tools: ["Switch registered tools; manage credentials", () => import("./tools.ts")],
    connections: ["Switch registered tools; manage credentials", () => import("./connections.ts")],
  },
  events: {
    triggers: ["Show, pause and resume triggers", () => import("./triggers.ts")],
    webhooks: ["Show endpoints; send again; receive here", () => import("./webhooks.ts")],
    listen: ["Show endpoints; send again; receive here", () => import("./listen.ts")],
  },
  models: {
    models: ["List, switch and probe models; talk to one", () => import("./models.ts")],
    chat: ["List, switch and probe models; talk to one", () => import("./chat.ts")],
  },
  upkeep: {
    status: ["Show how it is and is set; find an object", () => import("./status.ts")],
    config: ["Show how it is and is set; find an object", () => import("./status.ts")],
    find: ["Show how it is and is set; find an object", () => import("./find.ts")],
    requests: ["Explain requests; sum their tokens and cost", () => import("./requests.ts")],
    usage: ["Explain requests; sum their tokens and cost", () => import("./usage.ts")],
    backup: ["Back up all data; restore a paused copy", () => import("./backup.ts")],
    restore: ["Back up all data; restore a paused copy", () => import("./backup.ts")],
    move: ["Move all data; start what a copy holds back", () => import("./backup.ts")],
    resume: ["Move all data; start what a copy holds back", () => import("./upkeep.ts")],
    secrets: ["Rotate the secrets key; delete old rows", () => import("./upkeep.ts")],
    sweep: ["Rotate the secrets key; delete old rows", () => import("./upkeep.ts")],
    openapi: ["Print the OpenAPI document or the version", () => import("./about.ts")],
    version: ["Print the OpenAPI document or the version", () => import("./about.ts")],
    completion: ["Print the completion of a shell", () => import("./completion.ts")],
  },
} satisfies Record<string, Record<string, [summary: string, load: () => Promise<LoadedFamily>]>>;

export const FAMILIES = Object.entries(GROUPS).flatMap(([group, rows]) =>
  Object.entries(rows).map(([name, [summary, load]]) => ({ group, name, summary, load })),
);
export type Family = (typeof FAMILIES)[number];

export function findFamily(name: string): Family | undefined {
  return FAMILIES.find((family) => family.name === name);
}

/** A file may hold several families. */
export async function loadCommands({ name, load }: Family): Promise<readonly Command[]> {
  const { commands } = await load();
  return commands.filter((command) => command.name.split(" ")[0] === name);
}

export async function loadAllCommands(): Promise<readonly Command[]> {
  return (await Promise.all(FAMILIES.map(loadCommands))).flat();
}
