// secrets.tsx: shows a token or secret once.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CopyButton, Notice } from "./basics.tsx";

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

/** How long an old token or secret remains valid after a rotation. */
export const OVERLAPS = [
  ["86400", "for a day"],
  ["3600", "for an hour"],
  ["604800", "for a week"],
  ["0", "not at all"],
] as const;
