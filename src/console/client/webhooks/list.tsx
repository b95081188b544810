// The list of webhook endpoints with their health.
import { writeCommand, writeLocal } from "../curl.ts";
import { ListPage } from "../list-page.tsx";
import { Outside, State } from "../parts.tsx";
import { orDash, type RowColumn } from "../row-table.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { readEndpointState, readHealth, type ShownEndpoint } from "./data.ts";
import { CreateWebhook } from "./form.tsx";
import { LastAnswer } from "./last-answer.tsx";

export const PATH = "/console/webhooks";

const COLUMNS: readonly RowColumn<ShownEndpoint>[] = [
  {
    ...{ head: "column.state", place: "a2" },
    cell(endpoint) {
      const { word, ...state } = readEndpointState(endpoint);
      return <State {...state}>{word}</State>;
    },
  },
  {
    ...{ head: "webhooks.column.endpoint", place: "w a1 cut" },
    cell: ({ id, url, description }) => (
      <>
        <a class="x ltr" href={`${PATH}/${id}`}>
          <Outside text={url} />
        </a>{" "}
        <span class="dim">{description && <Outside text={description} />}</span>
      </>
    ),
  },
  {
    ...{ head: "filter.account", place: "p2 soft" },
    cell: ({ account }) => <bdi>{account}</bdi>,
  },
  {
    ...{ head: "webhooks.column.events", place: "n p3" },
    cell: ({ events }) => <span title={events.join(", ")}>{events.length}</span>,
  },
  {
    ...{ head: "webhooks.column.delivered", place: "n p2" },
    cell: ({ delivered_24h }) => writeCount(delivered_24h),
  },
  {
    ...{ head: "webhooks.column.failed", place: "n p2" },
    cell: ({ failed_24h: failed }) => (
      <span class={failed > 0 ? "badly" : ""}>{writeCount(failed)}</span>
    ),
  },
  {
    ...{ head: "webhooks.column.waiting", place: "n b1" },
    cell: ({ pending_deliveries: waiting }) => (
      <>
        <span class="p2">{writeCount(waiting)}</span>
        {waiting > 0 && <span class="p0">{t("webhooks.waiting", waiting)}</span>}
      </>
    ),
  },
  {
    ...{ head: "webhooks.column.secret", place: "n p3 soft" },
    cell: ({ previous_secret_expires_at: at }) => orDash(at && <When at={at} />),
  },
  {
    ...{ head: "webhooks.column.answer", place: "n b2" },
    cell: (endpoint) => <LastAnswer endpoint={endpoint} />,
  },
];

const STATES = [
  { value: "failing", shape: "failed", tone: "bad", word: "webhooks.is.failing" },
  { value: "off", shape: "off", tone: "mute", word: "webhooks.is.off" },
  { value: "on", shape: "on", tone: "ok", word: "webhooks.is.on" },
] as const;

export const Webhooks = () => (
  <ListPage<ShownEndpoint>
    title="page.webhooks"
    path={PATH}
    source="/webhooks"
    topics={["webhooks"]}
    columns={COLUMNS}
    states={STATES}
    stateOf={readHealth}
    nameOf={({ url, description }) => `${url} ${description ?? ""}`}
    says={(counts, all) => t("webhooks.count", all, counts("failing"), counts("off"))}
    empty="webhooks.empty"
    command={writeCommand("webhooks", "list")}
    emptyCommand={writeLocal("listen")}
    end={<CreateWebhook />}
  />
);
