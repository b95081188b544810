// The list of webhook endpoints with their health.
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Chip, ChoiceMenu, FilterBar, useQuery } from "../filters.tsx";
import { useResource } from "../live.ts";
import { copyText, Empty, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page, setCount } from "../shell.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import {
  type Health,
  nameAnswer,
  readEndpointState,
  readHealth,
  type ShownEndpoint,
} from "./data.ts";

export const PATH = "/console/webhooks";
const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open" },
  { keys: ["C"], text: "keys.copy_id" },
];
const SHOWN = [
  { health: "failing", shape: "failed", tone: "bad" },
  { health: "off", shape: "off", tone: "mute" },
  { health: "on", shape: "on", tone: "ok" },
] as const satisfies readonly { health: Health; shape: string; tone: string }[];

/** Counts endpoints that need a person: failing ones, and those that the system has disabled. */
const countFailing = (endpoints: readonly ShownEndpoint[]): number =>
  endpoints.filter((one) => readEndpointState(one).tone === "bad").length;

function Filters({ endpoints }: { endpoints: readonly ShownEndpoint[] }) {
  const [{ show = "", account = "" }, change] = useQuery();
  const accounts = [...new Set(endpoints.map((one) => one.account))].toSorted();
  const choices = accounts.map((value) => ({ value, text: value }));
  return (
    <FilterBar>
      <Chip isPressed={show === ""} onPress={() => change({ show: "" })}>
        {t("filter.all")}
      </Chip>
      {SHOWN.map(({ health, shape, tone }) => (
        <Chip
          key={health}
          isPressed={show === health}
          shape={shape}
          tone={tone}
          count={endpoints.filter((one) => readHealth(one) === health).length}
          onPress={() => change({ show: show === health ? "" : health })}
        >
          {t(`webhooks.is.${health}`)}
        </Chip>
      ))}
      <span class="vr" />
      <ChoiceMenu
        label={t("filter.account")}
        value={account}
        options={[{ value: "", text: t("filter.every_account") }, ...choices]}
        onChange={(value) => change({ account: value })}
      />
    </FilterBar>
  );
}

function Row({ endpoint, isChosen }: { endpoint: ShownEndpoint; isChosen: boolean }) {
  const { route } = useLocation();
  const { id, url, description, account, events, last_answer_at, last_answer_error } = endpoint;
  const { word, ...look } = readEndpointState(endpoint);
  const { pending_deliveries: waiting } = endpoint;
  const href = `${PATH}/${id}`;
  return (
    <tr data-row={id} aria-selected={isChosen} class="opens" onClick={() => route(href)}>
      <td class="a2">
        <State {...look}>{word}</State>
      </td>
      <td class="w a1 cut">
        <a class="x ltr" href={href}>
          <Outside text={url} />
        </a>{" "}
        {description && (
          <span class="dim">
            <Outside text={description} />
          </span>
        )}
      </td>
      <td class="p2 soft">
        <bdi>{account}</bdi>
      </td>
      <td class="n p3" title={events.join(", ")}>
        {events.length}
      </td>
      <td class="n p2">{endpoint.delivered_24h.toLocaleString("en-GB")}</td>
      <td class={endpoint.failed_24h > 0 ? "n p2 badly" : "n p2"}>
        {endpoint.failed_24h.toLocaleString("en-GB")}
      </td>
      <td class="n b1">
        <span class="p2">{waiting.toLocaleString("en-GB")}</span>
        {waiting > 0 && <span class="p0">{t("webhooks.waiting", waiting)}</span>}
      </td>
      <td class="n b2" title={last_answer_error ?? undefined}>
        {nameAnswer(endpoint.last_answer_status, last_answer_at !== null)}{" "}
        {last_answer_at && (
          <span class="dim">
            <When at={last_answer_at} />
          </span>
        )}
      </td>
      <td class="n p3 soft">
        {endpoint.previous_secret_expires_at ? (
          <When at={endpoint.previous_secret_expires_at} />
        ) : (
          <span class="dim">–</span>
        )}
      </td>
    </tr>
  );
}

const COLUMNS = [
  ["webhooks.column.state", ""],
  ["webhooks.column.endpoint", "w"],
  ["webhooks.column.account", "p2"],
  ["webhooks.column.events", "n p3"],
  ["webhooks.column.delivered", "n p2"],
  ["webhooks.column.failed", "n p2"],
  ["webhooks.column.waiting", "n"],
  ["webhooks.column.answer", "n"],
  ["webhooks.column.secret", "n p3"],
] as const;

function Table({ rows, chosen }: { rows: readonly ShownEndpoint[]; chosen: string | null }) {
  return (
    <table class="t full stack">
      <thead>
        <tr>
          {COLUMNS.map(([text, place]) => (
            <th class={place} key={text}>
              {t(text)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((endpoint) => (
          <Row key={endpoint.id} endpoint={endpoint} isChosen={endpoint.id === chosen} />
        ))}
      </tbody>
    </table>
  );
}

const NEEDS_FIRST: readonly Health[] = ["failing", "off", "on"];

export function Webhooks() {
  const { route } = useLocation();
  const [{ show = "", account = "" }, change] = useQuery();
  const list = useResource<ShownEndpoint[]>("/webhooks", ["webhooks"]);
  const { data } = list.value;
  const all = data ?? [];
  const rows = all
    .filter((one) => show === "" || readHealth(one) === show)
    .filter((one) => account === "" || one.account === account)
    .toSorted((a, b) => NEEDS_FIRST.indexOf(readHealth(a)) - NEEDS_FIRST.indexOf(readHealth(b)));
  const count = (health: Health) => all.filter((one) => readHealth(one) === health).length;
  useEffect(() => {
    if (data) setCount(PATH, { number: countFailing(data), hot: "failed" });
  }, [data]);
  const chosen = useRows(rows, {
    onOpen: (id) => route(`${PATH}/${id}`),
    onCopy: (id) => void copyText(id),
  });
  const command = account === "" ? "wadi webhooks list" : `wadi webhooks list --account ${account}`;
  return (
    <Page
      title="page.webhooks"
      says={data ? t("webhooks.count", all.length, count("failing"), count("off")) : undefined}
      command={command}
      hints={HINTS}
    >
      <Unready what={t("page.webhooks")} resource={list.value} />
      {data && all.length === 0 && (
        <div class="page">
          <Empty text={t("webhooks.empty")} command="wadi listen" />
        </div>
      )}
      {all.length > 0 && <Filters endpoints={all} />}
      {all.length > 0 && rows.length === 0 && (
        <div class="page row">
          <span>{t("webhooks.none", all.length)}</span>
          <button class="link" type="button" onClick={() => change({ show: "", account: "" })}>
            {t("filter.clear")}
          </button>
        </div>
      )}
      {rows.length > 0 && <Table rows={rows} chosen={chosen.value} />}
    </Page>
  );
}
