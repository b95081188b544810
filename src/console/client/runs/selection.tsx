// Selected runs: how many they are, and the question before they end.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { showToast } from "../parts.tsx";
import { t } from "../texts.ts";

const ACTIVE: ReadonlySet<string> = new Set(["queued", "running", "waiting_approval"]);

export const isActive = ({ status }: { status: string }): boolean => ACTIVE.has(status);

interface NamedRun {
  id: string;
  title: string;
  status: string;
}

interface SelectionProps {
  runs: readonly NamedRun[];
  onClear(): void;
}

/** Stands above the list while runs are selected. */
export function Selection({ runs, onClear }: SelectionProps) {
  const isAsking = useSignal(false);
  const active = runs.filter(isActive);
  if (runs.length === 0) return null;
  return (
    <div class="filters chosen" role="status">
      {t("runs.selected", runs.length)}
      <button
        class="b stop"
        type="button"
        disabled={active.length === 0}
        onClick={() => {
          isAsking.value = true;
        }}
      >
        {t("runs.cancel")}
      </button>
      <button class="b quiet" type="button" onClick={onClear}>
        {t("runs.selected.none")}
      </button>
      {isAsking.value && (
        <CancelDialog
          runs={active}
          onDone={onClear}
          onClose={() => {
            isAsking.value = false;
          }}
        />
      )}
    </div>
  );
}

interface CancelDialogProps {
  runs: readonly NamedRun[];
  onDone(): void;
  onClose(): void;
}

const TITLE_CHARACTERS = 60;

export function CancelDialog({ runs, onDone, onClose }: CancelDialogProps) {
  const [only] = runs;
  const isOne = runs.length === 1 && only!.title !== "";
  return (
    <Dialog
      title={
        isOne
          ? t("runs.cancel.one", only!.title.slice(0, TITLE_CHARACTERS))
          : t("runs.cancel.title", runs.length)
      }
      verb={t("runs.cancel")}
      keep={t("runs.cancel.keep")}
      onClose={onClose}
      onConfirm={async () => {
        for (const { id } of runs) await post(`/runs/${id}/cancel`, {});
        showToast({ text: t("runs.cancel.done", runs.length) });
        onDone();
      }}
    >
      <p>{t("runs.cancel.says")}</p>
    </Dialog>
  );
}
