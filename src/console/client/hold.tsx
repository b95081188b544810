// A hold of an agent or an account: no new run starts until it is released.
import { useSignal } from "@preact/signals";
import { useActs } from "./acts.tsx";
import { call } from "./api.ts";
import { writeCommand } from "./curl.ts";
import { Dialog } from "./dialog.tsx";
import { CommandLine, TextField } from "./keys/form.tsx";
import { showToast } from "./parts.tsx";
import { t } from "./texts.ts";

export interface HoldSubject {
  kind: "agent" | "account";
  /** Name that people read, and that of the command. */
  name: string;
  typed: string;
  /** Path of its hold in the operator API. */
  path: string;
  isHeld: boolean;
}

interface HoldProps {
  subject: HoldSubject;
  onDone(): void;
}

export function HoldButton({ subject, onDone }: HoldProps) {
  const { kind, name, path, isHeld } = subject;
  const isAsking = useSignal(false);
  const { act, isBusy, note } = useActs();
  const verb = t(isHeld ? "hold.release" : "hold.verb");
  const release = async () => {
    await call("DELETE", `/operator/v1${path}`);
    showToast({ text: t("hold.released") });
    onDone();
  };
  return (
    <>
      {note}
      <button
        class="b"
        type="button"
        disabled={isBusy}
        aria-label={kind === "account" ? t("hold.of", verb, name) : undefined}
        onClick={() => {
          if (isHeld) void act(verb, release);
          else isAsking.value = true;
        }}
      >
        {verb}
      </button>
      {isAsking.value && (
        <HoldDialog
          {...{ subject, onDone }}
          onClose={() => {
            isAsking.value = false;
          }}
        />
      )}
    </>
  );
}

function HoldDialog({ subject, onDone, onClose }: HoldProps & { onClose(): void }) {
  const { kind, name, typed, path } = subject;
  const reason = useSignal("");
  const text = reason.value.trim();
  return (
    <Dialog
      title={t("hold.title", name)}
      verb={t("hold.verb")}
      keep={t("hold.keep")}
      onConfirm={async () => {
        await call("PUT", `/operator/v1${path}`, text === "" ? {} : { reason: text });
        showToast({ text: t("hold.done") });
        onDone();
      }}
      onClose={onClose}
    >
      <p class="soft">{t(`hold.says.${kind}`)}</p>
      <TextField
        label={t("reason")}
        value={reason.value}
        rows={2}
        characters={1_000}
        onChange={(typed) => {
          reason.value = typed;
        }}
      />
      <CommandLine
        text={writeCommand(`${kind}s`, "hold", typed, ...(text === "" ? [] : ["--reason", text]))}
      />
    </Dialog>
  );
}
