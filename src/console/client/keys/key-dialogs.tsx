// The dialogs that end a key, or give it another secret.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { Dialog } from "../dialog.tsx";
import { HOUR_MS, MINUTE_MS, shortenId, writeExact, writeSpan } from "../format.ts";
import { now, useResource } from "../live.ts";
import { showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import { type ListedKey, nameKey, requestSecret, type ShownKey } from "./data.ts";
import { ChoiceField, CommandLine } from "./form.tsx";
import { revealSecret } from "./secret.tsx";

interface KeyDialogProps {
  subject: ListedKey;
  onDone(): void;
  onClose(): void;
}

const DAY_HOURS = 24;

function writeLastUse(lastUsedAt: string | null): string {
  if (lastUsedAt === null) return t("revoke.unused");
  const span = now.value - Date.parse(lastUsedAt);
  return span < MINUTE_MS ? t("revoke.used.now") : t("revoke.used", writeSpan(span));
}

export function RevokeDialog({ subject, onDone, onClose }: KeyDialogProps) {
  const { id } = subject;
  const name = nameKey(subject);
  const { data } = useResource<ShownKey>(`/keys/${id}`, ["keys", "runs"]).value;
  const streams = data?.open_streams ?? 0;
  const runs = data?.active_runs ?? 0;
  return (
    <Dialog
      title={t("revoke.title", name)}
      verb={t("revoke.verb")}
      keep={t("revoke.keep")}
      onConfirm={async () => {
        await post(`/keys/${id}/revoke`, {});
        showToast({ text: t("revoke.done", name) });
        onDone();
      }}
      onClose={onClose}
    >
      <p class="soft">
        {streams > 0 ? t("revoke.ends", streams) : t("revoke.next")}{" "}
        {runs > 0 && `${t("revoke.runs", runs)} `}
        {writeLastUse((data ?? subject).last_used_at)} {t("revoke.final")}
      </p>
      <CommandLine text={writeCommand("keys", "revoke", shortenId(id))} />
    </Dialog>
  );
}

const OVERLAP_HOURS = [24, 1, 168, 0];

const nameOverlap = (hours: number): string => {
  if (hours === 0) return t("rotate.now");
  return hours < DAY_HOURS ? t("rotate.hours", hours) : t("rotate.days", hours / DAY_HOURS);
};

export function RotateDialog({ subject, onDone, onClose }: KeyDialogProps) {
  const { id } = subject;
  const name = nameKey(subject);
  const hours = useSignal(DAY_HOURS);
  const until = new Date(now.value + hours.value * HOUR_MS).toISOString();
  return (
    <Dialog
      title={t("rotate.title", name)}
      verb={t("rotate.verb")}
      keep={t("rotate.keep")}
      onConfirm={async () => {
        const overlap_ms = hours.peek() * HOUR_MS;
        revealSecret(await requestSecret(`/keys/${id}/rotate`, { overlap_ms }));
        onDone();
      }}
      onClose={onClose}
    >
      <p class="soft">{t("rotate.says")}</p>
      <ChoiceField
        label={t("rotate.overlap")}
        value={String(hours.value)}
        options={OVERLAP_HOURS.map((one) => ({ value: String(one), text: nameOverlap(one) }))}
        onChange={(chosen) => {
          hours.value = Number(chosen);
        }}
      />
      <p>{hours.value === 0 ? t("rotate.only") : t("rotate.until", writeExact(until))}</p>
      <CommandLine
        text={writeCommand("keys", "rotate", shortenId(id), "--overlap", `${hours.value}h`)}
      />
    </Dialog>
  );
}
