// Acts on a run: cancel it, start it again, copy it.
import { useSignal } from "@preact/signals";
import { ApiFailure, post } from "../api.ts";
import { formatCurl, writeCommand } from "../curl.ts";
import { DialogButton } from "../dialog.tsx";
import { ChoiceMenu } from "../filters.tsx";
import { copyText, FailureNote, showToast } from "../parts.tsx";
import { route } from "../router.ts";
import { CancelDialog, isActive } from "../runs/selection.tsx";
import { t } from "../texts.ts";
import { type ShownRun, titleOf } from "./data.ts";

interface ActsProps {
  run: ShownRun;
  onChange(): void;
}

export function Acts({ run, onChange }: ActsProps) {
  const isStarting = useSignal(false);
  const failure = useSignal<ApiFailure | null>(null);
  const startAgain = async (how: { tools?: "recorded" }) => {
    isStarting.value = true;
    try {
      const { id } = await post<{ id: string }>(`/runs/${run.id}/again`, how);
      route(`/console/runs/${id}`);
      showToast({ text: t("run.again.done") });
    } catch (problem) {
      if (!(problem instanceof ApiFailure)) throw problem;
      failure.value = problem;
    } finally {
      isStarting.value = false;
    }
  };
  return (
    <>
      {isActive(run) && !run.cancel_requested && (
        <DialogButton verb={t("runs.cancel")} kind="b stop">
          {(close) => (
            <CancelDialog
              runs={[{ id: run.id, title: titleOf(run), status: run.status }]}
              onDone={onChange}
              onClose={close}
            />
          )}
        </DialogButton>
      )}
      <button class="b" type="button" disabled={isStarting.value} onClick={() => startAgain({})}>
        {t("run.again")}
      </button>
      {!isActive(run) && (
        <button
          class="b p2"
          type="button"
          title={t("run.repeat.says")}
          disabled={isStarting.value}
          onClick={() => startAgain({ tools: "recorded" })}
        >
          {t("run.repeat")}
        </button>
      )}
      <CopyMenu run={run} />
      {failure.value && (
        <div class="bar-note">
          <FailureNote what={t("run.again")} failure={failure.value} isFinal />
        </div>
      )}
    </>
  );
}

function CopyMenu({ run }: { run: ShownRun }) {
  return (
    <span class="p2">
      <ChoiceMenu
        label={t("run.copy")}
        value=""
        options={[
          { value: "", text: t("run.copy") },
          { value: "curl", text: t("run.copy.curl") },
          { value: "command", text: t("run.copy.command") },
        ]}
        onChange={(form) => copyText(form === "curl" ? writeCurl(run) : writeStart(run))}
      />
    </span>
  );
}

/** Writes the request that starts such a run; the shell puts the key in. */
const writeCurl = ({ agent_id, input }: ShownRun): string =>
  formatCurl(`/v1/agents/${agent_id}/runs`, { input: { message: input.message } });

const writeStart = ({ id, agent_id, input }: ShownRun): string =>
  "hook" in input
    ? writeCommand("runs", "again", id)
    : writeCommand("runs", "start", agent_id, input.message);
