// A dialog asks before something ends: its title is a question, its button the verb.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { ApiFailure } from "./api.ts";
import { FailureNote, Tagged } from "./parts.tsx";

interface DialogProps {
  title: string;
  /** The verb on its button. */
  verb: string;
  /** The button that keeps things as they are. */
  keep: string;
  isReady?: boolean;
  /** The verb keeps something that is shown only now. */
  hasFocus?: boolean;
  /** Closes when it resolves; a failure is shown in the dialog. */
  onConfirm(): Promise<void>;
  onClose(): void;
  children: ComponentChildren;
}

export function Dialog({ title, verb, keep, isReady = true, hasFocus, ...given }: DialogProps) {
  const { onConfirm, onClose, children } = given;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isSending = useSignal(false);
  const failure = useSignal<ApiFailure | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const confirm = async (event: Event) => {
    event.preventDefault();
    if (isSending.peek() || !isReady) return;
    isSending.value = true;
    try {
      await onConfirm();
      onClose();
    } catch (problem) {
      if (!(problem instanceof ApiFailure)) throw problem;
      failure.value = problem;
    } finally {
      isSending.value = false;
    }
  };
  return (
    <dialog class="dialog" ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={confirm}>
        <h2 id={id}>
          <Tagged text={title} />
        </h2>
        {children}
        {failure.value && <FailureNote what={title} failure={failure.value} isFinal />}
        <p class="row">
          <button class="b" type="button" onClick={onClose}>
            {keep}
          </button>
          <button
            class="b go"
            type="submit"
            autofocus={hasFocus}
            disabled={!isReady || isSending.value}
          >
            {verb}
          </button>
        </p>
      </form>
    </dialog>
  );
}

interface DialogButtonProps {
  verb: string;
  /** Classes of the button. */
  kind?: string;
  isOff?: boolean;
  children(close: () => void): ComponentChildren;
}

/** A button that opens a dialog. */
export function DialogButton({ verb, kind = "b", isOff = false, children }: DialogButtonProps) {
  const isOpen = useSignal(false);
  const turn = () => {
    isOpen.value = !isOpen.peek();
  };
  return (
    <>
      <button class={kind} type="button" disabled={isOff} onClick={turn}>
        {verb}
      </button>
      {isOpen.value && children(turn)}
    </>
  );
}
