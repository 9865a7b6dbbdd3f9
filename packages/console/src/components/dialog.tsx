// dialog.tsx: a modal dialog, and a button that asks for confirmation in one.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../hooks.ts";

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
  readonly class?: string;
  /** Where the visible text does not tell two buttons apart. */
  readonly label?: string | undefined;
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly isDanger?: boolean;
  /** Its failure becomes a message. */
  readonly run: () => Promise<void>;
  readonly children: ComponentChildren;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [start, isBusy] = useAction();
  const close = () => setOpen(false);
  const confirmed = () => {
    close();
    start(props.run);
  };
  return (
    <>
      <button
        type="button"
        class={props.class ?? "quiet"}
        aria-label={props.label}
        aria-busy={isBusy}
        onClick={() => setOpen(!isBusy)}
      >
        {props.children}
      </button>
      {isOpen && (
        <Dialog title={props.title} onClose={close}>
          <p>{props.text}</p>
          <p class="actions">
            <button type="button" class="quiet" onClick={close}>
              Cancel
            </button>
            <button type="button" class={props.isDanger === false ? "" : "danger"} onClick={confirmed}>
              {props.confirm}
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}
