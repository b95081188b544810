// One webhook endpoint: its health, what can be done, its deliveries and the attempts at one.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ActButton, type Acts, useActs } from "../acts.tsx";
import { post } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { DialogButton } from "../dialog.tsx";
import { Facts } from "../facts.tsx";
import { useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { Secrets } from "../keys/secret.tsx";
import { useResource } from "../live.ts";
import { type NewestRows, useHeldRows, useNewestRows, useScrolled } from "../newest-rows.ts";
import { copyText, Icon, Outside, State, showToast } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { type ListedDelivery, readEndpointState, type ShownEndpoint } from "./data.ts";
import { DeliveryTable, ROWS_MAX } from "./deliveries.tsx";
import { DeliveryDetail } from "./delivery.tsx";
import { LastAnswer } from "./last-answer.tsx";
import { PATH } from "./list.tsx";
import { RecoveryDialog } from "./recovery.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open" },
  { keys: ["C"], text: "keys.copy_id" },
  { keys: ["Esc"], text: "keys.close" },
];

function Health({ endpoint }: { endpoint: ShownEndpoint }) {
  const { word, ...state } = readEndpointState(endpoint);
  const { last_success_at: success, previous_secret_expires_at: secret } = endpoint;
  const since = endpoint.disabled_at ?? endpoint.failing_since;
  return (
    <Facts
      kind="strip sum"
      facts={[
        [
          t("column.state"),
          <span class="row">
            <State {...state}>{word}</State>
            <span class="dim">{since && <When at={since} />}</span>
          </span>,
        ],
        [t("filter.account"), <bdi>{endpoint.account}</bdi>],
        [t("webhooks.fact.day"), t("webhooks.day", endpoint.delivered_24h, endpoint.failed_24h)],
        [t("webhooks.column.waiting"), writeCount(endpoint.pending_deliveries)],
        [t("webhooks.column.answer"), <LastAnswer endpoint={endpoint} />],
        [t("webhooks.fact.success"), success ? <When at={success} /> : t("webhooks.never")],
        [t("webhooks.column.secret"), secret && <When at={secret} />],
        [
          t("webhooks.column.events"),
          <span class="codes">
            {endpoint.events.map((event) => (
              <code key={event}>{event}</code>
            ))}
          </span>,
        ],
      ]}
    />
  );
}

/** Says why the system has disabled it, or how it fails, and what helps. */
function Trouble({ endpoint }: { endpoint: ShownEndpoint }) {
  const { disabled_reason: reason, last_answer_error: error, failing_since } = endpoint;
  const isOver = reason === "failing" || reason === "gone";
  if (!isOver && (endpoint.status === "disabled" || !failing_since)) return null;
  return (
    <div class="note inset" role="note">
      <Icon id="i-alert" />
      <p>
        {isOver ? t(`webhooks.over.${reason}`) : t("webhooks.fails")}{" "}
        {error && (
          <span class="soft">
            <Outside text={error} />
          </span>
        )}
      </p>
    </div>
  );
}

interface ButtonsProps {
  endpoint: ShownEndpoint;
  acts: Acts;
  onChanged(): void;
}

function Buttons({ endpoint, acts, onChanged }: ButtonsProps) {
  const [, change] = useQuery();
  const path = `/webhooks/${endpoint.id}`;
  const test = async () => {
    const made = await post<ListedDelivery>(`${path}/test`, {});
    showToast({ text: t("webhooks.test.done") });
    change({ delivery: made.id, status: "" });
    onChanged();
  };
  const enable = async () => {
    await post(`${path}/enable`, {});
    showToast({ text: t("webhooks.enable.done") });
    onChanged();
  };
  if (endpoint.status === "disabled") {
    return <ActButton verb={t("webhooks.enable")} kind="b go" acts={acts} work={enable} />;
  }
  return (
    <>
      <ActButton verb={t("webhooks.test")} acts={acts} work={test} />
      <DialogButton verb={t("webhooks.recover")}>
        {(close) => <RecoveryDialog endpoint={endpoint} onDone={onChanged} onClose={close} />}
      </DialogButton>
    </>
  );
}

/** The newest delivery when the page was opened: later ones must not move the detail. */
function usePicked(rows: readonly ListedDelivery[] | null, asked: string): string {
  const first = useSignal("");
  useEffect(() => {
    if (rows && first.peek() === "" && rows.length > 0) {
      const failed = rows.find((row) => row.status !== "delivered" && row.attempt_count > 0);
      first.value = (failed ?? rows[0]!).id;
    }
  }, [rows]);
  return asked === "" ? first.value : asked;
}

interface PanesProps {
  listed: NewestRows<ListedDelivery>;
  onChanged(): void;
}

/** The deliveries, and one of them at their side. */
function Panes({ listed, onChanged }: PanesProps) {
  const [{ delivery = "" }, change] = useQuery();
  const { path = "", rows = null } = listed.loaded ?? {};
  const held = useHeldRows(path, rows, useScrolled());
  const picked = usePicked(rows, delivery);
  const chosen = useRows(held.rows ?? [], {
    onOpen: (one) => change({ delivery: one }),
    onCopy: (one) => void copyText(one),
    onClose: () => (delivery === "" ? route(PATH) : change({ delivery: "" })),
  });
  return (
    <div class={delivery === "" ? "panes peek" : "panes peek picked"}>
      <DeliveryTable
        {...{ listed, held }}
        picked={picked}
        chosen={chosen.value}
        onReplayed={onChanged}
      />
      {picked !== "" && <DeliveryDetail key={picked} id={picked} onReplayed={onChanged} />}
    </div>
  );
}

export function OpenedWebhook() {
  const id = useLocation().id!;
  const [{ delivery = "", status = "" }] = useQuery();
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const opened = useResource<ShownEndpoint>(path, ["webhooks"]);
  const listPath = `${path}/deliveries?${status && `status=${encodeURIComponent(status)}&`}`;
  const listed = useNewestRows<ListedDelivery>(listPath, "webhooks", ROWS_MAX);
  const acts = useActs();
  const { data: endpoint } = opened.value;
  const short = shortenId(id);
  const reload = () => {
    opened.reload();
    listed.reload();
  };
  const command =
    delivery === ""
      ? writeCommand("webhooks", "deliveries", short)
      : writeCommand("webhooks", "attempts", shortenId(delivery));
  return (
    <Page
      title="page.webhooks"
      opened={{ list: PATH, name: <Outside text={endpoint?.url ?? short} cut /> }}
      command={command}
      hints={HINTS}
      isFixed
      end={endpoint && <Buttons endpoint={endpoint} acts={acts} onChanged={reload} />}
    >
      <Unready
        what={t("webhooks.this")}
        resource={opened.value}
        missing={{ says: t("webhooks.missing", short), href: PATH, link: t("webhooks.all") }}
      />
      {endpoint && (
        <>
          <div class="inset">
            <Secrets />
            {acts.note}
          </div>
          <Trouble endpoint={endpoint} />
          <Health endpoint={endpoint} />
          <Panes listed={listed} onChanged={reload} />
        </>
      )}
    </Page>
  );
}
