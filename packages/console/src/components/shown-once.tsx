// shown-once.tsx: a key, a secret or a token, which the server never shows again.

import type { ComponentChildren } from "preact";
import { CopyButton, Notice } from "./basics.tsx";

interface ShownOnceProps {
  readonly what: "key" | "secret" | "token";
  readonly text: string;
  /** A link to what it belongs to. */
  readonly children?: ComponentChildren;
}

export const ShownOnce = ({ what, text, children }: ShownOnceProps) => (
  <div aria-live="polite">
    <Notice kind="good">
      <p>
        <strong>Copy the {what} now: it is shown only once.</strong>
      </p>
      <p>
        <code class="token">{text}</code>
      </p>
      <p class="actions">
        <CopyButton text={text} label={`Copy ${what}`} />
        {children}
      </p>
    </Notice>
  </div>
);
