// Acts on an agent: a run is started, a hold is begun or ended.
import { useSignal } from "@preact/signals";
import { useActs } from "../acts.tsx";
import { call, post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import type { OpenedAgentRow } from "./data.ts";

interface AgentActsProps {
  agent: OpenedAgentRow;
  onChanged(): void;
}

interface AgentDialogProps extends AgentActsProps {
  onClose(): void;
}

function StartDialog({ agent, onChanged, onClose }: AgentDialogProps) {
  const message = useSignal("");
  const start = async () => {
    const { id } = await post<{ id: string }>(`/agents/${agent.id}/runs`, {
      message: message.peek(),
    });
    showToast({
      text: t("agents.start.done"),
      ...{ href: `/console/runs/${id}`, link: t("agents.start.open") },
    });
    onChanged();
  };
  return (
    <Dialog
      title={t("agents.start.title", agent.name)}
      verb={t("agents.start")}
      keep={t("agents.start.keep")}
      isReady={message.value !== ""}
      onConfirm={start}
      onClose={onClose}
    >
      <label class="field">
        {t("agents.start.message")}
        <textarea
          class="in"
          rows={5}
          dir="auto"
          value={message.value}
          onInput={({ currentTarget }) => {
            message.value = currentTarget.value;
          }}
        />
      </label>
      <p class="soft">{t("agents.start.says", agent.current_version)}</p>
    </Dialog>
  );
}

function HoldDialog({ agent, onChanged, onClose }: AgentDialogProps) {
  const reason = useSignal("");
  const hold = async () => {
    const text = reason.peek().trim();
    const body = text === "" ? {} : { reason: text };
    await call("PUT", `/operator/v1/agents/${agent.id}/hold`, body);
    showToast({ text: t("agents.hold.done") });
    onChanged();
  };
  return (
    <Dialog
      title={t("agents.hold.title", agent.name)}
      verb={t("agents.hold")}
      keep={t("agents.hold.keep")}
      onConfirm={hold}
      onClose={onClose}
    >
      <p class="soft">{t("agents.hold.says")}</p>
      <label class="field">
        {t("reason")}
        <textarea
          class="in"
          rows={2}
          dir="auto"
          maxLength={1_000}
          value={reason.value}
          onInput={({ currentTarget }) => {
            reason.value = currentTarget.value;
          }}
        />
      </label>
    </Dialog>
  );
}

export function AgentActs({ agent, onChanged }: AgentActsProps) {
  const opened = useSignal<"start" | "hold" | null>(null);
  const acts = useActs();
  const close = () => {
    opened.value = null;
  };
  const release = async () => {
    await call("DELETE", `/operator/v1/agents/${agent.id}/hold`);
    showToast({ text: t("agents.release.done") });
    onChanged();
  };
  return (
    <>
      {acts.note}
      {agent.held === "agent" ? (
        <button
          class="b"
          type="button"
          disabled={acts.isBusy}
          onClick={() => acts.act(t("agents.release"), release)}
        >
          {t("agents.release")}
        </button>
      ) : (
        <button
          class="b"
          type="button"
          onClick={() => {
            opened.value = "hold";
          }}
        >
          {t("agents.hold")}
        </button>
      )}
      {agent.status === "active" && (
        <button
          class="b go"
          type="button"
          disabled={agent.held !== null && agent.held !== undefined}
          onClick={() => {
            opened.value = "start";
          }}
        >
          {t("agents.start")}
        </button>
      )}
      {opened.value === "start" && (
        <StartDialog agent={agent} onChanged={onChanged} onClose={close} />
      )}
      {opened.value === "hold" && (
        <HoldDialog agent={agent} onChanged={onChanged} onClose={close} />
      )}
    </>
  );
}
