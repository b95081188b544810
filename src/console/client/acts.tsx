// Acts of buttons: one at a time, and a refusal is shown where it happened.
import { useSignal } from "@preact/signals";
import { ApiFailure } from "./api.ts";
import { FailureNote } from "./parts.tsx";
import { t } from "./texts.ts";

export interface Acts {
  isBusy: boolean;
  /** Shows the refusal of the last act, if it was refused. */
  note: ReturnType<typeof FailureNote> | null;
  /** `verb` is that of the button. */
  act(verb: string, work: () => Promise<void>): Promise<void>;
}

export function useActs(): Acts {
  const isBusy = useSignal(false);
  const refused = useSignal<{ verb: string; failure: ApiFailure } | null>(null);
  const { value } = refused;
  return {
    isBusy: isBusy.value,
    note: value && (
      <FailureNote what={t("act.refused", value.verb)} failure={value.failure} isFinal />
    ),
    async act(verb, work) {
      if (isBusy.peek()) return;
      isBusy.value = true;
      refused.value = null;
      try {
        await work();
      } catch (failure) {
        if (!(failure instanceof ApiFailure)) throw failure;
        refused.value = { verb, failure };
      } finally {
        isBusy.value = false;
      }
    },
  };
}

interface ActButtonProps {
  verb: string;
  /** Accessible name, where the verb alone does not tell of what. */
  label?: string;
  /** Classes of the button. */
  kind?: string;
  acts: Acts;
  work(): Promise<void>;
}

export function ActButton({ verb, label, kind = "b", acts, work }: ActButtonProps) {
  return (
    <button
      class={kind}
      type="button"
      aria-label={label}
      disabled={acts.isBusy}
      onClick={() => acts.act(verb, work)}
    >
      {verb}
    </button>
  );
}
