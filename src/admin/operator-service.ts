// The operator's side of a server: the use cases by the settings in force, and the API on them.
import type { AgentsModule } from "../agents/index.ts";
import type { Gateway } from "../gateway/index.ts";
import { createSendAs, type HttpServer, type Router } from "../http/index.ts";
import type { ModelRegistry } from "../models/index.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import { type Admin, buildAdmin } from "./admin.ts";
import { ChangeFeed } from "./changes/feed.ts";
import type { AdminDeps, ServerState } from "./deps.ts";
import type { Installation } from "./installation.ts";
import { createOperatorApi, type OperatorApi } from "./operator-api.ts";
import { createServerState, describeReplicas } from "./server-state.ts";

export interface OperatorServiceOptions extends Pick<AdminDeps, "clock" | "ids"> {
  log: Log;
  version: string;
  installation: Installation;
  installationId: string;
}

export interface OperatorService
  extends Pick<OperatorApi, "listRoutes" | "limiter" | "own" | "writeDocument"> {
  /** Ends the streams of changes for good. */
  drain(): void;
  /** Pages open them again, to the server that has taken over. */
  endStreams(): void;
  /** Changes with the settings, so callers must not keep it. */
  readonly admin: Admin;
  change(settings: Settings): void;
}

interface ServerParts {
  server: HttpServer;
  registry: ModelRegistry;
  backups: { readState: ServerState["readBackups"] };
  gateway: Pick<Gateway, "listStatuses" | "countStreams">;
  agents: Pick<ServerState, "countStreams"> & Pick<AgentsModule, "readLive">;
  /** Router of the gateway, whose chats the playground sends. */
  router: Pick<Router, "routes">;
}

/** `deps` are read again after each change of the settings. */
export function createOperatorService(
  options: OperatorServiceOptions,
  { server, registry, backups, gateway, agents, router }: ServerParts,
  deps: () => Omit<AdminDeps, "installation" | "server">,
): OperatorService {
  const { clock, ids, log, version, installation, installationId } = options;
  const { readState: readBackups } = backups;
  const countStreams = (key_id: string) =>
    gateway.countStreams(key_id) + agents.countStreams(key_id);
  const sendChat = createSendAs(server, router.routes, "/v1/chat/completions");
  const state = createServerState(clock, registry, {
    ...{ readBackups, countStreams, sendChat, listServices: gateway.listStatuses },
  });
  const own = { ...installation, readDocument: () => readDocument(server) };
  const readLive = async (run_id: string) => agents.readLive(run_id);
  const build = () => buildAdmin({ ...deps(), installation: own, server: state, readLive });
  let admin = build();
  const settings = () => deps().settings;
  const { database } = deps();
  const lookAtModels = () => describeReplicas(registry);
  const changes = new ChangeFeed({ database, clock, log, lookAtModels });
  const api = createOperatorApi({
    ...{ settings, admin: () => admin, server, changes },
    ...{ clock, ids, log, version, installationId },
  });
  return {
    get admin() {
      return admin;
    },
    drain: () => changes.stop(),
    endStreams: () => changes.endAll(),
    listRoutes: api.listRoutes,
    limiter: api.limiter,
    own: api.own,
    writeDocument: api.writeDocument,
    change(other) {
      api.change(other);
      admin = build();
    },
  };
}

async function readDocument(server: HttpServer): Promise<Record<string, unknown>> {
  const response = await server.answer(new Request("http://localhost/openapi.json"));
  return response.json() as Promise<Record<string, unknown>>;
}
