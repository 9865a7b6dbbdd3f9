// dialog.tsx: shows a modal dialog, and a button that asks for confirmation in a dialog.

import type { AdminRole } from "@inkling/contract";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Button, type ButtonProps } from "./basics.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * The dialog is open as long as it is rendered. A layout effect closes the dialog before the element is removed, so
 * that the browser restores the focus.
 */
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

interface ConfirmButtonProps extends Omit<ButtonProps, "isBusy" | "onClick" | "refusal"> {
  readonly question: readonly [title: string, details: ComponentChildren, action: string];
  readonly isDanger?: boolean;
  /** The dialog changes only this page and nothing on the server, so a read-only session may use it. */
  readonly isLocal?: boolean;
  /** The role that the action needs. */
  readonly needs?: AdminRole;
  /** If this function fails, the page shows a message. */
  readonly run: () => Promise<unknown>;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const { question, isDanger, isLocal, needs = "admin", run, ...button } = props;
  const [isOpen, setOpen] = useState(false);
  const [start, isBusy] = useAction();
  const readOnly = useRefusal(needs);
  const [title, details, action] = question;
  const close = () => setOpen(false);
  const confirm = () => {
    close();
    start(run);
  };
  return (
    <>
      <Button
        {...button}
        isBusy={isBusy}
        refusal={isLocal ? undefined : readOnly}
        onClick={() => setOpen(!isBusy)}
      />
      {isOpen && (
        <Dialog title={title} onClose={close}>
          {typeof details === "string" ? <p>{details}</p> : details}
          <p class="actions">
            <Button text="Cancel" onClick={close} />
            <Button text={action} class={isDanger ? "danger" : ""} onClick={confirm} />
          </p>
        </Dialog>
      )}
    </>
  );
}
