// A dialog to look something up in: Escape and a press beside it close it.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Tagged } from "./parts.tsx";

interface ModalProps {
  title: string;
  /** The title is for those who hear it, where a field begins the dialog. */
  isTitleHidden?: boolean;
  onClose(): void;
  children: ComponentChildren;
}

export function Modal({ title, isTitleHidden = false, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      class={isTitleHidden ? "dialog finder" : "dialog"}
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      closedby="any"
    >
      <h2 id={id} class={isTitleHidden ? "vh" : ""}>
        <Tagged text={title} />
      </h2>
      {children}
    </dialog>
  );
}
