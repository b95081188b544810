// The routes of connections.
import { accountOf } from "../../../access/index.ts";
import { IdParams, type Router } from "../../../http/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { show } from "../../../platform/schema.ts";
import type { AgentsDeps } from "../../deps.ts";
import {
  ConnectionList,
  ConnectionPatch,
  NewConnection,
  NewSecret,
  OauthSettings,
  ToolConnection,
} from "./connection.ts";
import { type Connections, createConnections } from "./connections.ts";

const PATH = "/v1/tools/connections";
const ONE = `${PATH}/:id` as const;
const shown = { 200: { description: "Without its secret.", schema: ToolConnection } };

/** agents.endpoints.tools.p3: creating and changing connections needs http tools to be on. */
export function openConnectionRoutes(
  router: Router,
  deps: Pick<AgentsDeps, "database" | "secrets" | "egress" | "clock" | "ids" | "disk" | "settings">,
): void {
  const connections = createConnections(deps);
  openCreation(router, connections, deps);
  openReads(router, connections);
  openChanges(router, connections);
  openSecretRoutes(router, connections);
}

/** agents.does.connection, agents.resources.connection */
function openCreation(
  router: Router,
  connections: Connections,
  { disk, settings }: Pick<AgentsDeps, "disk" | "settings">,
): void {
  router.post(
    PATH,
    {
      summary: "Create a connection",
      description:
        "A secret that your tools send with every call: as a bearer token, in a header that you " +
        "name, or as an OAuth token that it buys. It goes to " +
        "`allowed_hosts` only, and is never shown again.",
      scope: "agents",
      feature: "http_tools",
      body: NewConnection,
      replies: { 201: { description: "Without its secret.", schema: ToolConnection } },
      refusals: [
        "invalid_request",
        "url_refused",
        "connection_name_taken",
        "connection_limit_reached",
        "connections_unavailable",
      ],
    },
    async ({ body, caller: { account_id } }) => {
      // agents.errors.permission_denied: a key without an account owns no connections.
      if (account_id === null) throw apiError("permission_denied");
      const { header_name = null, oauth = null, allowed_hosts, ...sent } = body;
      const input = { ...sent, header_name, oauth, allowed_hosts: allowed_hosts ?? [] };
      const { connections: connectionsMax } = settings().limits;
      disk.require();
      const made = await connections.create(account_id, input, connectionsMax);
      return [201, show(ToolConnection, made)];
    },
  );
}

function openReads(router: Router, connections: Connections): void {
  router.get(
    PATH,
    {
      summary: "List connections",
      scope: "agents",
      replies: { 200: { description: "Every connection, newest first.", schema: ConnectionList } },
      refusals: [],
    },
    async ({ caller }) => {
      const found = await connections.list(accountOf(caller));
      return [200, { data: found.map((row) => show(ToolConnection, row)) }];
    },
  );
  router.get(
    ONE,
    {
      summary: "Read a connection",
      scope: "agents",
      params: IdParams,
      replies: shown,
      refusals: ["connection_not_found"],
    },
    async ({ params, caller }) => [
      200,
      show(ToolConnection, await connections.require(params.id, accountOf(caller))),
    ],
  );
  router.get(
    `${ONE}/oauth`,
    {
      summary: "Read how a connection asks for tokens",
      description: "Of kind client_credentials only. The secret is not shown.",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "Where, and as which client.", schema: OauthSettings } },
      refusals: ["connection_not_found"],
    },
    async ({ params, caller }) => {
      const { oauth } = await connections.require(params.id, accountOf(caller));
      if (oauth === null) throw apiError("connection_not_found");
      return [200, show(OauthSettings, { ...oauth, scope: oauth.scope ?? null })];
    },
  );
}

function openChanges(router: Router, connections: Connections): void {
  router.patch(
    ONE,
    {
      summary: "Change a connection",
      description: "Its kind and its header stay; tools name it by its id.",
      scope: "agents",
      feature: "http_tools",
      params: IdParams,
      body: ConnectionPatch,
      replies: shown,
      refusals: ["invalid_request", "connection_not_found", "connection_name_taken"],
    },
    async ({ params, body, caller }) => {
      const { name, allowed_hosts } = body;
      const change = {
        ...(name !== undefined && { name }),
        ...(allowed_hosts !== undefined && { allowed_hosts: allowed_hosts ?? [] }),
      };
      const changed = await connections.change(params.id, accountOf(caller), change);
      return [200, show(ToolConnection, changed)];
    },
  );
  router.delete(
    ONE,
    {
      summary: "Delete a connection",
      description: "Its secret goes with it; it cannot be deleted while an enabled tool uses it.",
      scope: "agents",
      params: IdParams,
      replies: { 204: { description: "It is gone." } },
      refusals: ["connection_not_found", "connection_in_use"],
    },
    async ({ params, caller }) => {
      await connections.remove(params.id, accountOf(caller));
      return [204, null];
    },
  );
}

/** agents.endpoints.tools.p5 */
function openSecretRoutes(router: Router, connections: Connections): void {
  for (const register of [router.put, router.post]) {
    register(
      `${ONE}/secret`,
      {
        summary: "Set a connection's secret",
        description: "From the next call on it is sent in place of the one before.",
        scope: "agents",
        feature: "http_tools",
        params: IdParams,
        body: NewSecret,
        replies: shown,
        refusals: ["invalid_request", "connection_not_found", "connections_unavailable"],
      },
      async ({ params, body, caller }) => {
        const { secret, allowed_hosts: hosts = null } = body;
        const set = await connections.setSecret(params.id, accountOf(caller), secret, hosts);
        return [200, show(ToolConnection, set)];
      },
    );
  }
}
