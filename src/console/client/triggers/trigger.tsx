// One trigger: when it fires and what it did, and the acts on it.

import { ActButton, type Acts, useActs } from "../acts.tsx";
import { ApiFailure, post } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { DialogButton } from "../dialog.tsx";
import { Facts } from "../facts.tsx";
import { shortenId } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { Secrets } from "../keys/secret.tsx";
import { useResource } from "../live.ts";
import { copyText, Icon, Outside, State, showToast } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import {
  type OpenedFire,
  type OpenedTriggerRow,
  readTriggerState,
  TRIGGER_STATES,
} from "./data.ts";
import { FireTable } from "./fires.tsx";
import { PATH } from "./list.tsx";
import { Schedule } from "./schedule.tsx";
import { RotationDialog } from "./secret.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["C"], text: "keys.copy_id" },
  { keys: ["Esc"], text: "keys.close" },
];

function About({ trigger }: { trigger: OpenedTriggerRow }) {
  const state = readTriggerState(trigger);
  const { agent_id, agent_name, key_id, key_name, paused_reason, last_fire_at } = trigger;
  const { previous_secret_expires_at: secret } = trigger;
  return (
    <Facts
      kind="strip sum"
      facts={[
        [
          t("column.state"),
          <span class="row">
            <State {...TRIGGER_STATES[state]}>{t(`triggers.is.${state}`)}</State>
            <span class="dim">{paused_reason && <When at={paused_reason.at} />}</span>
          </span>,
        ],
        [t("triggers.column.kind"), t(`triggers.kind.${trigger.kind}`)],
        [
          t("column.agent"),
          <a href={`/console/agents/${agent_id}`}>
            <Outside text={agent_name ?? shortenId(agent_id)} />
          </a>,
        ],
        [t("filter.account"), <bdi>{trigger.account}</bdi>],
        [
          t("triggers.fact.key"),
          <>
            {key_name && <Outside text={key_name} />} <code class="dim">{shortenId(key_id)}</code>
          </>,
        ],
        [
          t("triggers.column.last"),
          last_fire_at ? <When at={last_fire_at} /> : t("triggers.never"),
        ],
        [t("triggers.fact.overlap"), t(`triggers.overlap.${trigger.overlap}`)],
        [t("triggers.fact.secret"), secret && <When at={secret} />],
      ]}
    />
  );
}

/** Says why the system has paused it, which key is meant, and what helps. */
function Stopped({ trigger }: { trigger: OpenedTriggerRow }) {
  const { paused_reason: reason, key_id, key_name } = trigger;
  if (!reason || reason.type === "manual") return null;
  return (
    <div class="note inset" role="note">
      <Icon id="i-alert" />
      <p>
        <b>{t(`triggers.stopped.${reason.type}`)}</b>{" "}
        <span>
          <Outside text={reason.message} />
        </span>{" "}
        {reason.type === "key" && (
          <span class="soft">
            {t("triggers.stopped.which")} {key_name && <Outside text={key_name} />}{" "}
            <code>{shortenId(key_id)}</code>.
          </span>
        )}
      </p>
      {reason.type === "key" && <p class="soft next-act">{t("triggers.stopped.key_act")}</p>}
    </div>
  );
}

interface TriggerActsProps {
  trigger: OpenedTriggerRow;
  acts: Acts;
  onChanged(): void;
}

/** A fire that started no run is a refusal here, with the outcome's own sentence. */
async function fireNow(trigger: OpenedTriggerRow): Promise<void> {
  const { outcome, run_id, error } = await post<OpenedFire>(`/triggers/${trigger.id}/fire`, {});
  if (outcome === "skipped") return showToast({ text: t("triggers.fire.skipped") });
  if (outcome !== "started") {
    throw new ApiFailure(0, error?.code ?? outcome, error?.message ?? outcome, null);
  }
  showToast({
    text: t("triggers.fire.done"),
    ...{ href: `/console/runs/${run_id}`, link: t("triggers.open_run") },
  });
}

function Buttons({ trigger, acts, onChanged }: TriggerActsProps) {
  const isActive = trigger.status === "active";
  const verb = isActive ? "pause" : "resume";
  const fire = async () => {
    try {
      await fireNow(trigger);
    } finally {
      onChanged();
    }
  };
  const turn = async () => {
    await post(`/triggers/${trigger.id}/${verb}`, {});
    showToast({ text: t(`triggers.act.${verb}.done`) });
    onChanged();
  };
  return (
    <>
      {isActive && <ActButton verb={t("triggers.fire")} acts={acts} work={fire} />}
      <ActButton
        verb={t(`triggers.act.${verb}`)}
        kind={isActive ? "b" : "b go"}
        acts={acts}
        work={turn}
      />
      {trigger.kind === "webhook" && (
        <DialogButton verb={t("triggers.rotate")}>
          {(close) => <RotationDialog trigger={trigger} onRotated={onChanged} onClose={close} />}
        </DialogButton>
      )}
    </>
  );
}

export function OpenedTrigger() {
  const id = useLocation().id!;
  const path = `/triggers/${encodeURIComponent(id)}`;
  const opened = useResource<OpenedTriggerRow>(path, ["triggers"]);
  const fires = useResource<OpenedFire[]>(`${path}/fires?limit=100`, ["triggers"]);
  const acts = useActs();
  const { data: trigger } = opened.value;
  const short = shortenId(id);
  const reload = () => {
    opened.reload();
    fires.reload();
  };
  useKeys({ Escape: () => route(PATH), c: () => void copyText(id) });
  return (
    <Page
      title="page.triggers"
      opened={{ list: PATH, name: <Outside text={trigger?.name ?? short} cut /> }}
      command={writeCommand("triggers", "show", short)}
      hints={HINTS}
      isFixed
      end={trigger && <Buttons trigger={trigger} acts={acts} onChanged={reload} />}
    >
      <Unready
        what={t("triggers.this")}
        resource={opened.value}
        missing={{ says: t("triggers.missing", short), href: PATH, link: t("triggers.all") }}
      />
      {trigger && (
        <>
          <div class="inset">
            <Secrets />
            {acts.note}
          </div>
          <Stopped trigger={trigger} />
          <About trigger={trigger} />
          <div class="panes first">
            <FireTable resource={fires.value} />
            <Schedule trigger={trigger} />
          </div>
        </>
      )}
    </Page>
  );
}
