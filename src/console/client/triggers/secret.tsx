// The question before a trigger's requests get a new secret.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { revealSecret } from "../keys/secret.tsx";
import { t } from "../texts.ts";
import type { OpenedTriggerRow } from "./data.ts";

const OVERLAPS = [
  { seconds: 86_400, text: "triggers.overlap.day" },
  { seconds: 3_600, text: "triggers.overlap.hour" },
  { seconds: 604_800, text: "triggers.overlap.week" },
  { seconds: 0, text: "triggers.overlap.none" },
] as const;

interface RotatedSecret {
  secret: string;
  previous_secret_expires_at?: string | null;
}

interface RotationDialogProps {
  trigger: OpenedTriggerRow;
  onRotated(): void;
  onClose(): void;
}

export function RotationDialog({ trigger, onRotated, onClose }: RotationDialogProps) {
  const overlap = useSignal<number>(OVERLAPS[0].seconds);
  const rotate = async () => {
    const body = { overlap_seconds: overlap.peek() };
    const { id, name } = trigger;
    const made = await post<RotatedSecret>(`/triggers/${id}/rotate`, body);
    const previousUntil = made.previous_secret_expires_at ?? null;
    revealSecret({ id, name, secret: made.secret, previousUntil, isCopied: false });
    onRotated();
  };
  return (
    <Dialog
      title={t("triggers.rotate.title", trigger.name)}
      verb={t("triggers.rotate")}
      keep={t("triggers.rotate.keep")}
      onConfirm={rotate}
      onClose={onClose}
    >
      <p class="soft">{t("triggers.rotate.says")}</p>
      <label class="field">
        {t("triggers.rotate.overlap")}
        <select
          class="in"
          value={overlap.value}
          onChange={({ currentTarget }) => {
            overlap.value = Number(currentTarget.value);
          }}
        >
          {OVERLAPS.map(({ seconds, text }) => (
            <option key={seconds} value={seconds}>
              {t(text)}
            </option>
          ))}
        </select>
      </label>
    </Dialog>
  );
}
