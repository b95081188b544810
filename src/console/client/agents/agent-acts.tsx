// Acts on an agent: a run is started, and its hold.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { Dialog, DialogButton } from "../dialog.tsx";
import { shortenId } from "../format.ts";
import { HoldButton } from "../hold.tsx";
import { TextField } from "../keys/form.tsx";
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
      <TextField
        label={t("agents.start.message")}
        value={message.value}
        rows={5}
        onChange={(typed) => {
          message.value = typed;
        }}
      />
      <p class="soft">{t("agents.start.says", agent.current_version)}</p>
    </Dialog>
  );
}

export function AgentActs({ agent, onChanged }: AgentActsProps) {
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
        <DialogButton
          verb={t("agents.start")}
          kind="b go"
          isOff={agent.held !== null && agent.held !== undefined}
        >
          {(close) => <StartDialog {...{ agent, onChanged }} onClose={close} />}
        </DialogButton>
      )}
    </>
  );
}
