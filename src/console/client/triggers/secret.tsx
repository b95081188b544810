// A new secret of a trigger's requests, shown once, and the question before it is made.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { writeExact } from "../format.ts";
import { copyText, Icon } from "../parts.tsx";
import { t } from "../texts.ts";
import type { OpenedTriggerRow } from "./data.ts";

export interface RotatedSecret {
  name: string;
  secret: string;
  previous_secret_expires_at?: string | null;
}

const OVERLAPS = [
  { seconds: 86_400, text: "triggers.overlap.day" },
  { seconds: 3_600, text: "triggers.overlap.hour" },
  { seconds: 604_800, text: "triggers.overlap.week" },
  { seconds: 0, text: "triggers.overlap.none" },
] as const;

interface RotationDialogProps {
  trigger: OpenedTriggerRow;
  onRotated(rotated: RotatedSecret): void;
  onClose(): void;
}

export function RotationDialog({ trigger, onRotated, onClose }: RotationDialogProps) {
  const overlap = useSignal<number>(OVERLAPS[0].seconds);
  const rotate = async () => {
    const body = { overlap_seconds: overlap.peek() };
    onRotated(await post<RotatedSecret>(`/triggers/${trigger.id}/rotate`, body));
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

/** Done asks once where the secret was not copied: nothing can show it again. */
export function NewSecret({ rotated, onDone }: { rotated: RotatedSecret; onDone(): void }) {
  const isCopied = useSignal(false);
  const isAsking = useSignal(false);
  const { name, secret, previous_secret_expires_at: until } = rotated;
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (!isCopied.peek()) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, []);
  const copy = async () => {
    await copyText(secret);
    isCopied.value = true;
  };
  const leave = () => {
    if (isCopied.peek() || isAsking.peek()) onDone();
    else isAsking.value = true;
  };
  const old = until ? t("triggers.secret.until", writeExact(until)) : t("triggers.secret.over");
  return (
    <section class="reveal inset" role="status">
      <div class="row">
        <Icon id="s-ok" size={12} tone="ok" />
        <b>
          <bdi>{t("triggers.secret.ready", name)}</bdi>
        </b>
        <span class="soft">
          {isAsking.value ? t("triggers.secret.ask") : t("triggers.secret.once")} {old}
        </span>
      </div>
      <div class="secret">
        <output>{secret}</output>
        <button class="b go big" type="button" onClick={copy}>
          <Icon id="i-copy" size={14} />
          {t("triggers.secret.copy")}
        </button>
        <button class="b big" type="button" onClick={leave}>
          {isAsking.value ? t("triggers.secret.leave") : t("triggers.secret.done")}
        </button>
      </div>
    </section>
  );
}
