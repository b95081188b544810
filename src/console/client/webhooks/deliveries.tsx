// The deliveries of an endpoint, newest first.
import { useActs } from "../acts.tsx";
import { post } from "../api.ts";
import { Chip, FilterBar, useQuery } from "../filters.tsx";
import type { Resource } from "../live.ts";
import { Empty, State, showToast } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { type ListedDelivery, nameAnswer, readDeliveryState } from "./data.ts";

export const SHOWN_AT_ONCE = 100;
const SHOWN_MAX = 1_000;
const STATUSES = ["pending", "failed", "delivered", "cancelled"] as const;

export async function replay(id: string, onDone: () => void): Promise<void> {
  await post(`/deliveries/${id}/replay`, {});
  showToast({ text: t("webhooks.replay.done") });
  onDone();
}

/** Keeps the other fields of the address. */
const pickedHref = (id: string): string => {
  const query = new URLSearchParams(location.search);
  query.set("delivery", id);
  return `?${query}`;
};

interface DeliveryRowProps {
  delivery: ListedDelivery;
  isPicked: boolean;
  isChosen: boolean;
  isBusy: boolean;
  onReplay(): void;
}

function Row({ delivery, isPicked, isChosen, isBusy, onReplay }: DeliveryRowProps) {
  const [, change] = useQuery();
  const { id, event_type, attempt_count, last_response_status, last_error } = delivery;
  const { word, ...look } = readDeliveryState(delivery);
  return (
    <tr
      data-row={id}
      aria-selected={isPicked}
      class={isChosen ? "opens on" : "opens"}
      onClick={() => change({ delivery: id })}
    >
      <td class="a2">
        <State {...look}>{word}</State>
      </td>
      <td class="w a1 cut">
        <a class="x" href={pickedHref(id)}>
          <code>{event_type}</code>
        </a>
      </td>
      <td class="n p2">{attempt_count}</td>
      <td class="n b2" title={last_error ?? undefined}>
        {nameAnswer(last_response_status, attempt_count > 0)}
      </td>
      <td class="n b1 soft">
        <When at={delivery.created_at} />
      </td>
      <td class="n p2 soft">
        {delivery.next_attempt_at ? (
          <When at={delivery.next_attempt_at} />
        ) : (
          <span class="dim">–</span>
        )}
      </td>
      <td class="n p2">
        <button
          class="b"
          type="button"
          disabled={isBusy}
          aria-label={t("webhooks.replay.one", event_type, id.slice(-8))}
          onClick={(event) => {
            event.stopPropagation();
            onReplay();
          }}
        >
          {t("webhooks.replay")}
        </button>
      </td>
    </tr>
  );
}

function Filters() {
  const [{ status = "" }, change] = useQuery();
  return (
    <FilterBar>
      <Chip isPressed={status === ""} onPress={() => change({ status: "" })}>
        {t("filter.all")}
      </Chip>
      {STATUSES.map((one) => (
        <Chip
          key={one}
          isPressed={status === one}
          onPress={() => change({ status: status === one ? "" : one })}
        >
          {t(`webhooks.delivery.${one}`)}
        </Chip>
      ))}
    </FilterBar>
  );
}

interface DeliveryTableProps {
  resource: Resource<ListedDelivery[]>;
  picked: string;
  chosen: string | null;
  onReplayed(): void;
}

export function DeliveryTable({ resource, picked, chosen, onReplayed }: DeliveryTableProps) {
  const [{ status = "", limit = String(SHOWN_AT_ONCE) }, change] = useQuery();
  const acts = useActs();
  const { data: rows } = resource;
  return (
    <section class="wfp" aria-label={t("webhooks.deliveries")}>
      <Filters />
      {acts.note && <div class="inset">{acts.note}</div>}
      <Unready what={t("webhooks.deliveries")} resource={resource} />
      {rows?.length === 0 && (
        <div class="page">
          {status === "" ? (
            <Empty text={t("webhooks.deliveries.empty")} />
          ) : (
            <p class="row">
              {t("webhooks.deliveries.none")}
              <button class="link" type="button" onClick={() => change({ status: "" })}>
                {t("filter.clear")}
              </button>
            </p>
          )}
        </div>
      )}
      {rows && rows.length > 0 && (
        <table class="t full stack">
          <thead>
            <tr>
              <th>{t("webhooks.column.state")}</th>
              <th class="w">{t("webhooks.column.event")}</th>
              <th class="n p2">{t("webhooks.column.attempts")}</th>
              <th class="n">{t("webhooks.column.answer")}</th>
              <th class="n p2">{t("webhooks.column.created")}</th>
              <th class="n p2">{t("webhooks.column.next")}</th>
              <th>
                <span class="vh">{t("column.action")}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((delivery) => (
              <Row
                key={delivery.id}
                delivery={delivery}
                isPicked={delivery.id === picked}
                isChosen={delivery.id === chosen}
                isBusy={acts.isBusy}
                onReplay={() =>
                  acts.act(t("webhooks.replay.failed"), () => replay(delivery.id, onReplayed))
                }
              />
            ))}
          </tbody>
        </table>
      )}
      {rows && rows.length >= Number(limit) && rows.length < SHOWN_MAX && (
        <p class="inset">
          <button class="link" type="button" onClick={() => change({ limit: String(SHOWN_MAX) })}>
            {t("webhooks.more", SHOWN_MAX)}
          </button>
        </p>
      )}
    </section>
  );
}
