// The table of models: a line each, its servers below it, and what an opened one shows.

import { Facts } from "../facts.tsx";
import { writeMinute, writeSpan, writeTook } from "../format.ts";
import { now, useResource } from "../live.ts";
import { BudgetBar, Icon, Outside, State } from "../parts.tsx";
import { Sentence } from "../sentence.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { countInFlight, ModelActs } from "./acts.tsx";
import {
  describeCallers,
  type GrantedAccount,
  type ModelLine,
  type ModelServer,
  stateOfModel,
  stateOfServer,
  type TrafficLine,
  writePrice,
} from "./data.ts";
import { Sparkline } from "./sparkline.tsx";

const COLUMNS = 10;

interface ModelTableProps {
  models: readonly ModelLine[];
  traffic: readonly TrafficLine[];
  accounts: readonly GrantedAccount[];
  /** Requests of each of the last 24 hours, by model. */
  hours: ReadonlyMap<string, readonly number[]>;
  chosen: string | null;
  opened: string | null;
  onToggle(id: string): void;
  onDone(): void;
}

export function ModelTable(props: ModelTableProps) {
  return (
    <table class="t full plain models">
      <thead>
        <tr>
          <th>{t("column.state")}</th>
          <th>{t("models.model")}</th>
          <th class="p2">{t("models.in_flight")}</th>
          <th class="n p1">{t("models.p50")}</th>
          <th class="n p2">{t("models.p95")}</th>
          <th class="n p2">{t("models.speed")}</th>
          <th class="p3">{t("models.day")}</th>
          <th class="n p3">{t("models.price")}</th>
          <th class="p3">{t("models.callers")}</th>
          <th>
            <span class="vh">{t("models.action")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {props.models.map((model) => (
          <ModelRows key={model.id} model={model} {...props} />
        ))}
      </tbody>
    </table>
  );
}

function ModelRows({ model, ...props }: ModelTableProps & { model: ModelLine }) {
  const { traffic, accounts, opened, onDone } = props;
  const { id } = model;
  const rows = listRows(model);
  return (
    <>
      <ModelRow {...{ model }} {...props} isAlone={rows.length === 0} />
      {rows.map((row, at) => (
        <ServerRow
          key={row.name}
          {...row}
          isLast={at === rows.length - 1}
          traffic={traffic.find(({ model: name, replica }) => name === id && replica === row.name)}
        />
      ))}
      {opened === id && (
        <tr class="exp">
          <td colSpan={COLUMNS}>
            <Opened {...{ model, accounts, onDone }} />
          </td>
        </tr>
      )}
    </>
  );
}

type ModelRowProps = ModelTableProps & { model: ModelLine; isAlone: boolean };

function ModelRow({ model, isAlone, ...props }: ModelRowProps) {
  const { traffic, accounts, hours, chosen, opened, onToggle, onDone } = props;
  const { id } = model;
  const { text, ...state } = stateOfModel(model);
  const ofModel = traffic.find(({ model: name, replica }) => name === id && replica === null);
  return (
    <tr
      class={`opens top ${isAlone ? "alone" : ""} ${chosen === id ? "on" : ""}`}
      data-row={id}
      onClick={({ target }) => {
        if (!(target as Element).closest("a, button, dialog")) onToggle(id);
      }}
    >
      <td>
        <State {...state}>{t(text)}</State>
      </td>
      <td class="name">
        <b title={id}>
          <Outside text={id} />
        </b>{" "}
        {model.is_default && <span class="tag">{t("models.default")}</span>}
        {!model.self_hosted && <span class="tag">{t("models.external")}</span>}
      </td>
      <td class="nw p2">
        <InFlight model={model} />
      </td>
      <Times traffic={model.state === "on" ? ofModel : undefined} />
      <td class="p3">
        <Sparkline values={hours.get(id) ?? []} />
      </td>
      <td class={model.price ? "n p3 soft" : "n p3 dim"}>{writePrices(model)}</td>
      <td class="p3 soft w cut">
        <Outside text={describeCallers(model, accounts)} />
      </td>
      <td class="n act">
        <span class="p2">
          <ModelActs isMain {...{ model, onDone }} />
        </span>
        <button
          class="b quiet"
          type="button"
          aria-expanded={opened === id}
          aria-label={t("models.more", id)}
          onClick={() => onToggle(id)}
        >
          <Icon id="i-more" />
        </button>
      </td>
    </tr>
  );
}

const writePrices = ({ price }: ModelLine): string =>
  price ? `${writePrice(price.prompt)} · ${writePrice(price.completion)}` : t("models.no_price");

/** Requests under way, or who has switched the model off. */
function InFlight({ model }: { model: ModelLine }) {
  const { state, servers, in_flight_max: most, unit } = model;
  if (state !== "on") return <SwitchedBy model={model} />;
  if (!servers || servers.length === 0 || !["none", "up"].includes(unit)) return null;
  return (
    <>
      {countInFlight(model)}
      {most !== null && (
        <span class="dim">
          {" "}
          {t("models.of", most * servers.filter(({ is_up }) => is_up).length)}
        </span>
      )}
    </>
  );
}

interface AuditLine {
  at: string;
  actor: string;
  outcome: string;
}

function SwitchedBy({ model: { id, state } }: { model: ModelLine }) {
  const verb = state === "off" ? "off" : "block";
  const operation = encodeURIComponent(`models ${verb}`);
  const target = encodeURIComponent(id);
  const path = `/audit?operation=${operation}&target=${target}&limit=1`;
  const last = useResource<AuditLine[]>(path, ["models"]).value.data?.[0];
  if (!last) return null;
  const actor = <Outside key="actor" text={last.actor} />;
  return (
    <span class="dim">
      <Sentence text={t(`models.by.${verb}`, writeMinute(last.at))} parts={[actor]} />
    </span>
  );
}

function Times({ traffic }: { traffic: TrafficLine | undefined }) {
  const none = <span class="dim">–</span>;
  const write = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? none : writeTook(ms);
  return (
    <>
      <td class="n p1">{write(traffic?.first_token_p50_ms)}</td>
      <td class="n p2">{write(traffic?.first_token_p95_ms)}</td>
      <td class="n p2">{traffic ? writeCount(Math.round(traffic.tokens_per_second)) : none}</td>
    </>
  );
}

interface RowOfServer {
  name: string;
  state: ReturnType<typeof stateOfServer>;
  server: ModelServer | null;
  most: number | null;
  flight: string | null;
  says: string;
}

/** Servers of a model that is on; one that is started on demand has one row until it is up. */
function listRows(model: ModelLine): RowOfServer[] {
  const { state, unit, servers, in_flight_max: most, waiting } = model;
  if (state !== "on") return [];
  if (!["none", "up"].includes(unit)) {
    const name = servers?.[0]?.name ?? t("models.built_in");
    const says = describeUnit(model);
    const flight = waiting ? t("models.wait", waiting) : null;
    return [{ name, state: stateOfModel(model), server: null, most, flight, says }];
  }
  return (servers ?? []).map((server, at) => ({
    name: server.name,
    state: stateOfServer(server),
    ...{ server, most },
    flight: server.is_up ? null : t("models.no_requests"),
    says: describeServer(server, at === 0 ? (waiting ?? 0) : 0),
  }));
}

function describeServer({ is_up, is_passed_over }: ModelServer, waiting: number): string {
  if (!is_up) return t("models.server.down");
  if (is_passed_over) return t("models.server.passed");
  return waiting > 0 ? t("models.waiting", waiting) : "";
}

function describeUnit({ unit, unit_changed_at: since, start_ms }: ModelLine): string {
  if (unit === "failed") return t("models.unit.failed");
  const usual = start_ms === null ? null : writeTook(start_ms);
  if (unit === "starting") {
    return t("models.unit.starting", since && writeSpan(now.value - Date.parse(since)), usual);
  }
  return unit === "stopping" ? "" : t("models.unit.asleep", usual);
}

function ServerRow(row: RowOfServer & { isLast: boolean; traffic: TrafficLine | undefined }) {
  const { name, state, server, most, flight, says, isLast, traffic } = row;
  const { text, ...shape } = state;
  return (
    <tr class={isLast ? "sub last" : "sub"}>
      <td>
        <State {...shape}>{t(text)}</State>
      </td>
      <td class="nw">
        <span class="ltr server">{name}</span>
        {says !== "" && <span class="soft instead">{says}</span>}
      </td>
      <td class="nw p2">
        {flight !== null && <span class="dim">{flight}</span>}
        {flight === null && server && (
          <>
            {most !== null && (
              <span class="meter">
                <BudgetBar used={server.in_flight} limit={most} label={t("models.load", name)} />
              </span>
            )}
            {server.in_flight} {most !== null && <span class="dim">{t("models.of", most)}</span>}
          </>
        )}
      </td>
      {traffic ? (
        <Times traffic={traffic} />
      ) : (
        <>
          <td class="p1" />
          <td class="p2" />
          <td class="p2" />
        </>
      )}
      <td class="p3 soft" colSpan={3}>
        {says}
      </td>
      <td />
    </tr>
  );
}

interface OpenedProps {
  model: ModelLine;
  accounts: readonly GrantedAccount[];
  onDone(): void;
}

function Opened({ model, accounts, onDone }: OpenedProps) {
  const number = (count: number | null) =>
    count === null ? t("models.unknown") : writeCount(count);
  const facts = [
    [t("models.fact.window"), number(model.context_window)],
    [t("models.fact.output"), number(model.max_output_tokens)],
    [t("models.fact.capabilities"), model.capabilities.join(", ") || "–"],
    [t("models.fact.provider"), model.provider],
    [t("models.fact.visibility"), model.visibility],
    [t("models.callers"), describeCallers(model, accounts)],
    [t("models.price"), writePrices(model)],
  ] as const;
  return (
    <div>
      <h2 class="vh">{model.id}</h2>
      <Facts
        kind="strip"
        facts={facts.map(([title, value]) => [title, <Outside key={title} text={value} />])}
      />
      <p class="row acts">
        <ModelActs {...{ model, onDone }} />
        <a class="b" href={`/console/requests?model=${encodeURIComponent(model.id)}`}>
          {t("models.requests")}
        </a>
      </p>
    </div>
  );
}
