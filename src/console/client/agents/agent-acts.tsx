// Acts on an agent: a run is started, and its hold.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { shortenId } from "../format.ts";
import { HoldButton } from "../hold.tsx";
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

export function AgentActs({ agent, onChanged }: AgentActsProps) {
  const isStarting = useSignal(false);
  const { id, name } = agent;
  return (
    <>
      <HoldButton
        subject={{
          ...{ kind: "agent", name, typed: shortenId(id), path: `/agents/${id}/hold` },
          isHeld: agent.held === "agent",
        }}
        onDone={onChanged}
      />
      {agent.status === "active" && (
        <button
          class="b go"
          type="button"
          disabled={agent.held !== null && agent.held !== undefined}
          onClick={() => {
            isStarting.value = true;
          }}
        >
          {t("agents.start")}
        </button>
      )}
      {isStarting.value && (
        <StartDialog
          {...{ agent, onChanged }}
          onClose={() => {
            isStarting.value = false;
          }}
        />
      )}
    </>
  );
}
