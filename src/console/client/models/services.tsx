// Embeddings and search: state, kind, load and times of each, and who may call it.

import { writeTook } from "../format.ts";
import { useResource } from "../live.ts";
import { State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { orDash, type RowColumn, RowTable } from "../row-table.tsx";
import { t } from "../texts.ts";
import type { ModelServer } from "./data.ts";

interface ServiceLine {
  id: "embeddings" | "search";
  model: string | null;
  kind: string;
  state: "on" | "down" | "off" | null;
  in_flight: number | null;
  in_flight_max: number;
  waiting: number | null;
  servers: readonly ModelServer[] | null;
  duration_p50_ms: number | null;
  duration_p95_ms: number | null;
}

const LOOKS = {
  on: { shape: "on", tone: "ok" },
  down: { shape: "down", tone: "bad" },
  off: { shape: "off", tone: "mute" },
} as const;

const writeTime = (ms: number | null) => orDash(ms === null ? null : writeTook(ms));

const COLUMNS: readonly RowColumn<ServiceLine>[] = [
  {
    ...{ head: "column.state", place: "a2" },
    cell({ state, servers }) {
      const up = servers?.filter(({ is_up }) => is_up).length ?? 0;
      if (state === "on" && servers && up < servers.length) {
        const says = t("models.state.degraded");
        return <State {...{ shape: "starting", tone: "warn" }}>{says}</State>;
      }
      return orDash(state && <State {...LOOKS[state]}>{t(`models.state.${state}`)}</State>);
    },
  },
  {
    ...{ head: "models.service", place: "a1" },
    cell: ({ id, model }) => (
      <>
        <b>{t(`models.service.${id}`)}</b> <span class="dim">{model}</span>
      </>
    ),
  },
  {
    ...{ head: "models.kind", place: "p2 soft" },
    cell: ({ kind, servers }) => (
      <span title={servers?.map(({ name }) => name).join(", ")}>{kind}</span>
    ),
  },
  {
    ...{ head: "models.in_flight", place: "b1" },
    cell: ({ in_flight, in_flight_max: most, waiting }) =>
      orDash(
        in_flight === null ? null : (
          <>
            {in_flight} <span class="dim">{t("models.of", most)}</span>{" "}
            {Boolean(waiting) && <span class="soft">{t("models.waiting", waiting!)}</span>}
          </>
        ),
      ),
  },
  {
    ...{ head: "models.took", place: "n b2" },
    cell: ({ duration_p50_ms: ms }) => writeTime(ms),
  },
  {
    ...{ head: "models.p95", place: "n p2" },
    cell: ({ duration_p95_ms: ms }) => writeTime(ms),
  },
  {
    ...{ head: "models.callers", place: "w p2 soft" },
    cell: ({ id }) => t("models.callers.scope", id),
  },
];

export function Services() {
  const { value } = useResource<ServiceLine[]>("/services", ["models", "requests"]);
  return (
    <section aria-label={t("models.services")}>
      <Unready what={t("models.services")} resource={value} />
      {value.data && <RowTable columns={COLUMNS} rows={value.data} />}
    </section>
  );
}
