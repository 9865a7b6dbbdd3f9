// dialog.tsx: a modal dialog, and a button that asks for confirmation in one.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../hooks.ts";
import { QuietButton } from "./basics.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Open as long as it is rendered. Closed before it is removed (a layout effect), it gives the focus back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmButtonProps {
  readonly text: string;
  /** Where the text does not tell two buttons apart. */
  readonly label?: string;
  readonly class?: string;
  readonly question: readonly [title: string, text: string, action: string];
  readonly isDanger?: boolean;
  /** Its failure becomes a message. */
  readonly run: () => Promise<unknown>;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const { text, label, class: kind = "quiet", question, isDanger, run } = props;
  const [isOpen, setOpen] = useState(false);
  const [start, isBusy] = useAction();
  const [title, details, action] = question;
  const close = () => setOpen(false);
  const confirm = () => {
    close();
    start(run);
  };
  return (
    <>
      <button
        type="button"
        class={kind}
        aria-label={label}
        aria-busy={isBusy}
        onClick={() => setOpen(!isBusy)}
      >
        {text}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          <p>{details}</p>
          <p class="actions">
            <QuietButton text="Cancel" onClick={close} />
            <button type="button" class={isDanger ? "danger" : undefined} onClick={confirm}>
              {action}
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}
