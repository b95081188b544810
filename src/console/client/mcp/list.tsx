// The list of MCP servers: how they were read, and what waits to be accepted.
import { writeCommand } from "../curl.ts";
import { ListPage } from "../list-page.tsx";
import { Outside, State } from "../parts.tsx";
import { orDash, type RowColumn } from "../row-table.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";

export const PATH = "/console/mcp";

export interface ServerFields {
  id: string;
  account: string;
  name: string;
  url: string;
  title?: string | null;
  connection: string | null;
  protocol_version?: string | null;
  problem?: string | null;
  refreshed_at?: string | null;
}

interface ListedServer extends ServerFields {
  tools: number;
  changed: number;
}

export const SERVER_STATES = {
  failing: { shape: "failed", tone: "bad" },
  changed: { shape: "waiting", tone: "warn" },
  on: { shape: "on", tone: "ok" },
} as const;

export const readServerState = ({ problem }: ServerFields, changed: number) => {
  if (problem) return "failing";
  return changed > 0 ? "changed" : "on";
};

const stateOf = (server: ListedServer) => readServerState(server, server.changed);

const COLUMNS: readonly RowColumn<ListedServer>[] = [
  {
    ...{ head: "column.state", place: "a2" },
    cell(server) {
      const state = stateOf(server);
      return <State {...SERVER_STATES[state]}>{t(`mcp.is.${state}`)}</State>;
    },
  },
  {
    ...{ head: "mcp.server", place: "w a1 cut" },
    cell: ({ id, name, url }) => (
      <>
        <a class="x" href={`${PATH}/${id}`}>
          {name}
        </a>{" "}
        <span class="dim ltr">
          <Outside text={url} />
        </span>
      </>
    ),
  },
  {
    ...{ head: "filter.account", place: "p2 soft" },
    cell: ({ account }) => <bdi>{account}</bdi>,
  },
  {
    ...{ head: "mcp.connection", place: "p3 soft" },
    cell: ({ connection }) => orDash(connection && <Outside text={connection} cut />),
  },
  {
    ...{ head: "mcp.protocol", place: "p2 soft" },
    cell: ({ protocol_version }) => orDash(protocol_version),
  },
  { head: "agents.column.tools", place: "n p2", cell: ({ tools }) => tools },
  {
    ...{ head: "mcp.read", place: "n b2 soft" },
    cell: ({ refreshed_at: at }) => orDash(at && <When at={at} />),
  },
];

export const Servers = () => (
  <ListPage<ListedServer>
    title="page.mcp"
    path={PATH}
    source="/tools/servers"
    topics={["agents"]}
    columns={COLUMNS}
    states={(["failing", "changed", "on"] as const).map((value) => ({
      ...{ value, ...SERVER_STATES[value], word: `mcp.is.${value}` as const },
    }))}
    stateOf={stateOf}
    nameOf={({ name, url }) => `${name} ${url}`}
    says={(counts, all) => t("mcp.count", all, counts("changed"))}
    empty="mcp.empty"
    command={writeCommand("tools", "servers")}
  />
);
