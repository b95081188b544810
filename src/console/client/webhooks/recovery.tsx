// A recovery: lost deliveries since a time are counted, then sent again.

import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { DAY_MS } from "../format.ts";
import { useResource } from "../live.ts";
import { FailureNote, showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ShownEndpoint } from "./data.ts";

/** Writes a moment as fields of date and time take it: in the reader's zone. */
function writeField(ms: number): string {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Starts where trouble began, and a day ago without any. */
function findBegin({ failing_since }: ShownEndpoint): number {
  const dayAgo = Date.now() - DAY_MS;
  return failing_since ? Math.min(Date.parse(failing_since) - 60_000, dayAgo) : dayAgo;
}

interface RecoveryDialogProps {
  endpoint: ShownEndpoint;
  onDone(): void;
  onClose(): void;
}

export function RecoveryDialog({ endpoint, onDone, onClose }: RecoveryDialogProps) {
  const field = useSignal(writeField(findBegin(endpoint)));
  const sinceMs = Date.parse(field.value);
  const since = Number.isNaN(sinceMs) ? null : new Date(sinceMs).toISOString();
  const { value } = useResource<{ lost: number }>(
    since && `/webhooks/${endpoint.id}/lost?since=${since}`,
    ["webhooks"],
  );
  const lost = since === null ? undefined : value.data?.lost;
  const recover = async () => {
    const path = `/webhooks/${endpoint.id}/recover`;
    const { queued } = await post<{ queued: number }>(path, { since });
    showToast({ text: t("webhooks.recover.done", queued) });
    onDone();
  };
  return (
    <Dialog
      title={t("webhooks.recover.title", endpoint.url)}
      verb={t("webhooks.recover")}
      keep={t("webhooks.recover.keep")}
      isReady={lost !== undefined && lost > 0}
      onConfirm={recover}
      onClose={onClose}
    >
      <label class="field">
        {t("webhooks.recover.since")}
        <input
          class="in"
          type="datetime-local"
          value={field.value}
          onInput={({ currentTarget }) => {
            field.value = currentTarget.value;
          }}
        />
      </label>
      {value.failure && <FailureNote what={t("webhooks.deliveries")} failure={value.failure} />}
      <p role="status">{lost === undefined ? t("loading") : t("webhooks.recover.count", lost)}</p>
    </Dialog>
  );
}
