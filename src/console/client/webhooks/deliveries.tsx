// The deliveries of an endpoint, newest first.
import { useRef } from "preact/hooks";
import { useActs } from "../acts.tsx";
import { post } from "../api.ts";
import { Chip, FilterBar, useQuery } from "../filters.tsx";
import type { HeldRows, NewestRows } from "../newest-rows.ts";
import { Empty, State, showToast } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { ListEnd, WaitingRows } from "../row-pages.tsx";
import { orDash, type RowColumn, RowTable } from "../row-table.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { type ListedDelivery, nameAnswer, readDeliveryState } from "./data.ts";

/** Rows that the list holds at most; a filter finds older ones. */
export const ROWS_MAX = 10_000;
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

/** `onReplay` is what the button at the end of a row does. */
const listColumns = (
  isBusy: boolean,
  onReplay: (id: string) => void,
): readonly RowColumn<ListedDelivery>[] => [
  {
    ...{ head: "column.state", place: "a2" },
    cell(delivery) {
      const { word, ...state } = readDeliveryState(delivery);
      return <State {...state}>{word}</State>;
    },
  },
  {
    ...{ head: "webhooks.column.event", place: "w a1 cut" },
    cell: ({ id, event_type }) => (
      <a class="x" href={pickedHref(id)}>
        <code>{event_type}</code>
      </a>
    ),
  },
  {
    ...{ head: "webhooks.column.attempts", place: "n p2" },
    cell: ({ attempt_count }) => attempt_count,
  },
  {
    ...{ head: "webhooks.column.answer", place: "n b2" },
    cell: ({ last_response_status, last_error, attempt_count }) => (
      <span title={last_error ?? undefined}>
        {nameAnswer(last_response_status, attempt_count > 0)}
      </span>
    ),
  },
  {
    ...{ head: "webhooks.column.created", place: "n b1 soft" },
    cell: ({ created_at }) => <When at={created_at} />,
  },
  {
    ...{ head: "webhooks.column.next", place: "n p2 soft" },
    cell: ({ next_attempt_at: at }) => orDash(at && <When at={at} />),
  },
  {
    ...{ head: "column.action", place: "n p2" },
    cell: ({ id, event_type }) => (
      <button
        class="b"
        type="button"
        disabled={isBusy}
        aria-label={t("webhooks.replay.one", event_type, id.slice(-8))}
        onClick={(event) => {
          event.stopPropagation();
          onReplay(id);
        }}
      >
        {t("webhooks.replay")}
      </button>
    ),
  },
];

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
  listed: NewestRows<ListedDelivery>;
  held: HeldRows<ListedDelivery>;
  picked: string;
  chosen: string | null;
  onReplayed(): void;
}

export function DeliveryTable({ listed, held, picked, chosen, onReplayed }: DeliveryTableProps) {
  const [{ status = "" }, change] = useQuery();
  const acts = useActs();
  const part = useRef<HTMLElement>(null);
  const { loaded, failure } = listed;
  const { rows, waiting, letIn } = held;
  return (
    <section class="wfp" aria-label={t("webhooks.deliveries")} ref={part}>
      <Filters />
      {acts.note && <div class="inset">{acts.note}</div>}
      <Unready what={t("webhooks.deliveries")} resource={{ data: loaded, failure }} />
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
      <WaitingRows
        count={waiting}
        onLetIn={() => {
          part.current!.scrollTop = 0;
          letIn();
        }}
      />
      {rows && rows.length > 0 && (
        <RowTable
          columns={listColumns(acts.isBusy, (id) =>
            acts.act(t("webhooks.replay"), () => replay(id, onReplayed)),
          )}
          rows={rows}
          selected={picked}
          chosen={chosen}
          onOpen={({ id }) => change({ delivery: id })}
        />
      )}
      {rows && <ListEnd list={listed} rows={rows.length} rowsMax={ROWS_MAX} />}
    </section>
  );
}
