// One MCP server: how it was read, its tools, and what has changed of them.
import { useSignal } from "@preact/signals";
import { ActButton, useActs } from "../acts.tsx";
import { LineDifference } from "../agents/difference.tsx";
import { RISK_TONES, RISKS } from "../agents/list.tsx";
import { api, call, post } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { Dialog } from "../dialog.tsx";
import { Facts } from "../facts.tsx";
import { ChoiceMenu } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { indent } from "../json.tsx";
import { useKeys } from "../keyboard.ts";
import { useResource } from "../live.ts";
import { copyText, Head, Icon, Outside, State, showToast } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { PATH, readServerState, SERVER_STATES, type ServerFields } from "./list.tsx";

interface ListedTool {
  account: string;
  name: string;
  revision: number;
  accepted_revision: number;
  risk: keyof typeof RISK_TONES;
  status: "enabled" | "disabled";
  annotations: Record<string, unknown>;
  changes: { field: string; before: string; after: string }[];
}

interface OpenedServerRow extends ServerFields {
  tools: ListedTool[];
  skipped: { tool: string; problem: string }[];
}

const HINTS: readonly KeyHint[] = [
  { keys: ["C"], text: "keys.copy_id" },
  { keys: ["Esc"], text: "keys.close" },
];
const isChanged = ({ changes, status }: ListedTool) => changes.length > 0 && status === "enabled";
const pathOf = ({ account, name }: ListedTool) => `/tools/${encodeURIComponent(account)}/${name}`;

function About({ server }: { server: OpenedServerRow }) {
  const { account, title, url, connection, protocol_version, refreshed_at: at } = server;
  const state = readServerState(server, server.tools.filter(isChanged).length);
  return (
    <Facts
      kind="strip"
      facts={[
        [t("column.state"), <State {...SERVER_STATES[state]}>{t(`mcp.is.${state}`)}</State>],
        [t("filter.account"), <bdi>{account}</bdi>],
        [t("mcp.server"), title && <Outside text={title} />],
        [t("mcp.address"), <Outside text={url} />],
        [t("mcp.connection"), connection && <Outside text={connection} />],
        [t("mcp.protocol"), protocol_version],
        [t("mcp.read"), at && <When at={at} />],
      ]}
    />
  );
}

interface ToolProps {
  tool: ListedTool;
  onRisk(risk: ListedTool["risk"]): void;
}

function ToolRow({ tool, onRisk }: ToolProps) {
  const { name, risk, revision, accepted_revision, status, annotations } = tool;
  const claims = Object.entries(annotations).map(([field, value]) => `${field}: ${value}`);
  return (
    <tr>
      <th scope="row" class="a1">
        <span class="row">
          <Icon id={`s-${risk}`} size={12} tone={RISK_TONES[risk]} />
          <code>{name}</code>
        </span>
      </th>
      <td class="b1">
        {status === "disabled" ? (
          <State shape="off" tone="mute">
            {t("agents.tool.off")}
          </State>
        ) : (
          <State {...SERVER_STATES[isChanged(tool) ? "changed" : "on"]}>
            {t(`mcp.is.${isChanged(tool) ? "changed" : "on"}`)}
          </State>
        )}
      </td>
      <td class="n p2">{accepted_revision}</td>
      <td class="n p2">{revision}</td>
      <td class="w soft p2 cut">
        <Outside text={claims.join(", ")} />
      </td>
      <td class="a2">
        <ChoiceMenu
          label={t("mcp.risk.of", name)}
          value={risk}
          options={RISKS.map((value) => ({ value, text: t(`risk.${value}`) }))}
          onChange={(value) => onRisk(value as ListedTool["risk"])}
        />
      </td>
    </tr>
  );
}

function Tools({ tools, onChanged }: { tools: readonly ListedTool[]; onChanged(): void }) {
  const asked = useSignal<{ tool: ListedTool; risk: ListedTool["risk"] } | null>(null);
  const { value } = asked;
  return (
    <section>
      <Head title={t("agents.tools.title")} />
      <table class="t stack plain inner">
        <thead>
          <tr>
            <th>{t("agents.column.tool")}</th>
            <th>{t("column.state")}</th>
            <th class="n">{t("mcp.accepted")}</th>
            <th class="n">{t("mcp.newest")}</th>
            <th class="w">{t("mcp.claims")}</th>
            <th>{t("mcp.risk")}</th>
          </tr>
        </thead>
        <tbody>
          {tools.map((tool) => (
            <ToolRow
              key={tool.name}
              tool={tool}
              onRisk={(risk) => {
                asked.value = { tool, risk };
              }}
            />
          ))}
        </tbody>
      </table>
      {value && (
        <Dialog
          title={t("mcp.risk.title", value.tool.name, t(`risk.${value.risk}`))}
          verb={t("mcp.risk.verb")}
          keep={t("form.cancel")}
          onConfirm={async () => {
            await call("PATCH", api.base + pathOf(value.tool), { risk: value.risk });
            onChanged();
          }}
          onClose={() => {
            asked.value = null;
          }}
        >
          <p class="soft">{t("mcp.risk.says")}</p>
        </Dialog>
      )}
    </section>
  );
}

interface ChangeProps {
  tool: ListedTool;
  onChanged(): void;
}

/** Shows what the newest revision changes; the button accepts this revision, and no later one. */
function Change({ tool, onChanged }: ChangeProps) {
  const { name, revision, accepted_revision, changes } = tool;
  const acts = useActs();
  const accept = async () => {
    await post(`${pathOf(tool)}/accept`, { revision });
    showToast({ text: t("mcp.accept.done", name) });
    onChanged();
  };
  return (
    <section>
      <Head
        title={name}
        says={t("mcp.change", accepted_revision, revision)}
        end={
          <ActButton
            verb={t("mcp.accept", revision)}
            label={t("mcp.accept.of", revision, name)}
            kind="b go"
            acts={acts}
            work={accept}
          />
        }
      />
      {acts.note}
      <div class="opened">
        {changes.map(({ field, before, after }) => (
          <div key={field}>
            <code class="dim">{field}</code>
            <LineDifference before={indent(before)} after={indent(after)} />
          </div>
        ))}
      </div>
    </section>
  );
}

export function OpenedServer() {
  const id = useLocation().id!;
  const path = `/mcp/servers/${encodeURIComponent(id)}`;
  const { value, reload } = useResource<OpenedServerRow>(path, ["agents"]);
  const acts = useActs();
  const { data: server } = value;
  const short = shortenId(id);
  const refresh = async () => {
    await post(`${path}/refresh`, {});
    showToast({ text: t("mcp.refresh.done") });
  };
  useKeys({ Escape: () => route(PATH), c: () => void copyText(id) });
  return (
    <Page
      title="page.mcp"
      opened={{ list: PATH, name: server?.name ?? short }}
      command={writeCommand("tools", "server", short)}
      hints={HINTS}
      end={server && <ActButton verb={t("mcp.refresh")} acts={acts} work={refresh} />}
    >
      <Unready
        what={t("mcp.this")}
        resource={value}
        missing={{ says: t("mcp.missing", short), href: PATH, link: t("mcp.all") }}
      />
      {server && (
        <div class="page sections">
          {acts.note}
          {server.problem && (
            <div class="note" role="note">
              <Icon id="i-alert" />
              <p>
                <Outside text={server.problem} />
              </p>
            </div>
          )}
          <About server={server} />
          {server.tools.filter(isChanged).map((tool) => (
            <Change key={tool.name} tool={tool} onChanged={reload} />
          ))}
          <Tools tools={server.tools} onChanged={reload} />
          {server.skipped.length > 0 && (
            <section>
              <Head title={t("mcp.skipped")} />
              <Facts
                facts={server.skipped.map(({ tool, problem }) => [
                  tool,
                  <Outside text={problem} />,
                ])}
              />
            </section>
          )}
        </div>
      )}
    </Page>
  );
}
