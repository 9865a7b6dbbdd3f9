// secrets.tsx: defines what keys and webhooks share: parts that show a token or secret once, rotate it, or permanently
// end its key or webhook.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Card, CopyButton, Notice } from "./basics.tsx";
import { ConfirmButton } from "./dialog.tsx";
import { Field, Select } from "./form.tsx";

interface SecretOnceProps {
  /** What it is: "key". */
  readonly what: string;
  readonly secret: string;
  /** Text that explains what to do next. */
  readonly children?: ComponentChildren;
}

/** Shows a token or secret that the server never shows again. The page scrolls to it and moves the focus there. */
export function SecretOnce({ what, secret, children }: SecretOnceProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: "nearest" });
    box.current?.focus({ preventScroll: true });
  }, [secret]);
  return (
    <div class="once" ref={box} tabIndex={-1} role="status">
      <Notice kind="good">
        <p>
          <strong>Copy the {what} now. It is shown only once.</strong>
        </p>
        <p class="actions">
          <code class="token">{secret}</code>
          <CopyButton text={secret} label={`Copy ${what}`} />
        </p>
        {children}
      </Notice>
    </div>
  );
}

const OVERLAPS = [
  ["86400", "for a day"],
  ["3600", "for an hour"],
  ["604800", "for a week"],
  ["0", "not at all"],
] as const;

interface RotateCardProps {
  /** What it is: "key". */
  readonly what: string;
  /** Label for the choice of how long the old token or secret remains valid. */
  readonly label: string;
  readonly note: string;
  readonly question: readonly [title: string, text: string, action: string];
  /** @returns the new token or secret */
  readonly rotate: (body: { readonly overlap_seconds: number }) => Promise<string>;
}

export function RotateCard({ what, label, note, question, rotate }: RotateCardProps) {
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState("");
  const run = async () => setSecret(await rotate({ overlap_seconds: Number(overlap) }));
  return (
    <Card title="Rotate">
      <Field label={label} note={note}>
        <Select options={OVERLAPS} value={overlap} onChoose={setOverlap} />
      </Field>
      <ConfirmButton class="" text="Rotate" question={question} run={run} />
      {secret && <SecretOnce what={what} secret={secret} />}
    </Card>
  );
}

interface EndCardProps {
  readonly title: string;
  readonly text: string;
  readonly button: string;
  readonly question: readonly [title: string, text: string, action: string];
  readonly run: () => Promise<unknown>;
}

/** A card that permanently ends the key or webhook on this page. */
export const EndCard = ({ title, text, button, question, run }: EndCardProps) => (
  <Card title={title}>
    <p>{text}</p>
    <ConfirmButton class="danger" text={button} question={question} isDanger run={run} />
  </Card>
);
